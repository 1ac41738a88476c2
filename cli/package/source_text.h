// Reads C++ sources as words: comments are removed, the file's own macros are expanded, and included lists are
// inserted.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wick::cli {

/// Paths relative to the top of the project -> contents.
using SourceTree = std::map<std::string, std::string, std::less<>>;

/// An identifier, a literal (its text is "") or one other character; "::", "->" and "##" are one word.
struct Word {
  enum Kind : uint8_t { identifier, literal, symbol };
  Kind kind = symbol;
  std::string text;
};

struct SourceText {
  std::vector<Word> words;
  std::vector<std::string> includes;  // files of the tree, in order; lists (.inc, .inl) are in `words` as well
};

/// The file that an include directive in `from` names, or "": searched beside `from`, then below the folders of the
/// tree that compilers are given.
std::string find_include(const SourceTree& tree, std::string_view from, std::string_view name);

/// The words of `path`. Branches of #ifdef for names that begin with WICK_ are taken if the file defines the name;
/// of all other conditions both branches count. Requires: the tree has `path`.
SourceText read_source(const SourceTree& tree, const std::string& path);

}  // namespace wick::cli
