// Finds the names that a C++ source declares, defines and uses at the scope of namespaces and classes.
#pragma once
#include <string>
#include <vector>

#include "cli/package/source_text.h"

namespace wick::cli {

/// A function or variable. `scope`: the namespaces and classes around it, "a::b"; "" is the global one.
struct SourceName {
  std::string scope, name;
  bool of_class = false;  // a member: the last part of `scope` is the class
  std::string qualified() const { return scope.empty() ? name : scope + "::" + name; }
};

/// A name in code that is executed or that initialises something. `qualifier`: the part before the last "::". `within`:
/// the function whose code this is; "" if it runs without being named (constructors, operators, initialisers).
struct SourceUse {
  std::string scope, qualifier, name, within;
  bool operator==(const SourceUse&) const = default;
  auto operator<=>(const SourceUse&) const = default;
};

struct SourceNames {
  std::vector<SourceName> declared;  // with or without a body
  // With a body, and with external linkage: not inline, static, constexpr, a template; templates where they are
  // instantiated.
  std::vector<SourceName> defined;
  std::vector<std::string> classes;  // qualified
  std::vector<SourceUse> uses;       // sorted, each once
};

SourceNames names_of(const std::vector<Word>& words);

}  // namespace wick::cli
