// The characters of IR text: words, strings, numbers, and errors with line and column. Internal to this folder.
#pragma once
#include <string>
#include <string_view>

#include "compiler/ir/sym/sym.h"

namespace wick::compiler {

/// Reads a text from front to back. White space and comments (# to the end of the line) may stand in front of anything
/// but the inside of a word. Unexpected text throws a Failure of code corrupt_file.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

 protected:
  /// Throws a Failure that says what was wanted at this position and what is there.
  [[noreturn]] void error(const std::string& wanted);
  void skip();
  bool at_end() const { return position_ == text_.size(); }
  /// Whether `wanted` follows at this position, without white space in between.
  bool at(std::string_view wanted) const { return text_.substr(position_, wanted.size()) == wanted; }
  bool at_letter() const;
  bool next_is(char c);
  bool accept(char c);
  void expect(char c);
  /// Letters, digits, '_' and '.'.
  std::string word();
  bool accept_word(std::string_view wanted);
  void expect_word(std::string_view wanted);
  /// "..." with escapes as printable() writes them.
  std::string string();
  /// Characters up to one of `stops` outside brackets: an integer expression or a number.
  std::string_view expression(std::string_view stops);
  Sym sym(std::string_view stops);
  double real(std::string_view text);

 private:
  void escaped(std::string& out);
  uint32_t hex_digits(size_t max_digits);

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace wick::compiler
