#include "compiler/ir/op_def.h"

#include <fmt/format.h>

#include <cctype>

#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at commas outside brackets and quotes.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      std::string_view part = trim(text.substr(start, i - start));
      if (!part.empty()) parts.push_back(part);
      start = i + 1;
    } else if (text[i] == '(' || text[i] == '[') {
      ++depth;
    } else if (text[i] == ')' || text[i] == ']') {
      --depth;
    }
  }
  return parts;
}

struct TypeRow {
  std::string_view name;
  ArgType single, list;
};
constexpr TypeRow kTypes[] = {
    {"Tensor", ArgType::tensor, ArgType::tensor_list},
    {"int", ArgType::integer, ArgType::int_list},
    {"SymInt", ArgType::integer, ArgType::int_list},
    {"float", ArgType::real, ArgType::real_list},
    {"bool", ArgType::boolean, ArgType::bool_list},
    {"Scalar", ArgType::scalar, ArgType::real_list},
    {"str", ArgType::string, ArgType::string},
    {"ScalarType", ArgType::dtype, ArgType::dtype},
    {"Layout", ArgType::layout, ArgType::layout},
    {"Device", ArgType::device, ArgType::device},
    {"MemoryFormat", ArgType::memory_format, ArgType::memory_format},
    {"Generator", ArgType::generator, ArgType::generator},
};

ArgSpec parse_arg(std::string_view text) {
  ArgSpec spec;
  if (size_t equals = text.find('='); equals != std::string_view::npos) {
    spec.has_default = true;
    spec.default_text = trim(text.substr(equals + 1));
    text = trim(text.substr(0, equals));
  }
  const size_t blank = text.rfind(' ');
  if (blank == std::string_view::npos) fail(Code::internal, fmt::format("schema argument '{}' has no name", text));
  spec.name = text.substr(blank + 1);
  std::string_view type = trim(text.substr(0, blank));
  size_t name_end = 0;
  while (name_end < type.size() && std::isalnum(static_cast<unsigned char>(type[name_end]))) ++name_end;
  std::string_view base = type.substr(0, name_end), rest = type.substr(name_end);
  if (!rest.empty() && rest[0] == '(') {  // alias annotation
    const size_t close = rest.find(')');
    spec.mutated = rest.substr(0, close).find('!') != std::string_view::npos;
    spec.aliased = !spec.mutated;
    rest = rest.substr(close + 1);
  }
  bool element_optional = false, list = false;
  if (!rest.empty() && rest[0] == '?') {
    element_optional = true;
    rest.remove_prefix(1);
  }
  if (!rest.empty() && rest[0] == '[') {
    list = true;
    const size_t close = rest.find(']');
    for (char c : rest.substr(1, close - 1)) spec.list_size = spec.list_size * 10 + (c - '0');
    rest = rest.substr(close + 1);
    spec.optional = !rest.empty() && rest[0] == '?';
  } else {
    spec.optional = element_optional;
  }
  for (const TypeRow& row : kTypes) {
    if (row.name != base) continue;
    spec.type = list ? row.list : row.single;
    if (list && element_optional && base == "Tensor") spec.type = ArgType::optional_tensor_list;
    return spec;
  }
  fail(Code::internal, fmt::format("schema argument '{}' has an unknown type", text));
}

ReturnType parse_return(std::string_view text) {
  if (text.starts_with("Tensor"))
    return text.find("[]") != std::string_view::npos ? ReturnType::tensor_list : ReturnType::tensor;
  if (text.starts_with("SymInt") || text.starts_with("int")) return ReturnType::integer;
  if (text.starts_with("float")) return ReturnType::real;
  if (text.starts_with("bool")) return ReturnType::boolean;
  if (text.starts_with("Scalar")) return ReturnType::scalar;
  fail(Code::internal, fmt::format("schema return '{}' is unknown", text));
}

}  // namespace

int Schema::find(std::string_view arg_name) const {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].name == arg_name) return static_cast<int>(i);
  }
  return -1;
}

Schema parse_schema(std::string_view text) {
  const size_t open = text.find('('), arrow = text.rfind("->");
  const size_t close = arrow == std::string_view::npos ? std::string_view::npos : text.rfind(')', arrow);
  const size_t colons = text.find("::");
  if (open == std::string_view::npos || close == std::string_view::npos || colons == std::string_view::npos) {
    fail(Code::internal, fmt::format("schema '{}' is malformed", text));
  }
  Schema schema;
  std::string_view base = text.substr(colons + 2, open - colons - 2);
  schema.name = fmt::format("{}.{}", text.substr(0, colons), base);
  if (base.find('.') == std::string_view::npos) schema.name += ".default";
  bool keyword_only = false;
  for (std::string_view part : split_list(text.substr(open + 1, close - open - 1))) {
    if (part == "*") {
      keyword_only = true;
      continue;
    }
    schema.args.push_back(parse_arg(part));
    schema.args.back().keyword_only = keyword_only;
  }
  std::string_view returns = trim(text.substr(arrow + 2));
  if (returns.starts_with("(") && returns.ends_with(")")) returns = returns.substr(1, returns.size() - 2);
  for (std::string_view part : split_list(returns)) schema.returns.push_back(parse_return(part));
  return schema;
}

}  // namespace wick::compiler
