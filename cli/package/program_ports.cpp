// Describes inputs and outputs of a method, as a firmware sees them.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "cli/package/package_plan.h"

namespace wick::cli {
namespace {

std::string unique(std::string name, std::set<std::string>* taken) {
  if (!taken->insert(name).second) {
    int number = 2;
    while (!taken->insert(fmt::format("{}_{}", name, number)).second) ++number;
    name += fmt::format("_{}", number);
  }
  return name;
}

bool is_call_of(const MethodMeta& meta, const InstructionMeta& instruction, std::string_view op) {
  return instruction.kind == InstructionKind::kernel && operator_text(meta.op(instruction.target)).ends_with(op);
}

// The grid of a quantize or dequantize call. Its arguments are: x, scale, zero point, range, dtypes, out, out.
std::optional<Port::Grid> grid_of(const MethodMeta& meta, const InstructionMeta& call) {
  if (call.args.size() < 4) return std::nullopt;
  const ValueMeta scale = meta.value(static_cast<size_t>(call.args[1]));
  const ValueMeta zero = meta.value(static_cast<size_t>(call.args[2]));
  if (scale.tag != Tag::real || zero.tag != Tag::integer) return std::nullopt;
  return Port::Grid{scale.real, zero.integer};
}

// The grid of the quantize or dequantize call that reads the value (`input`) or writes it.
std::optional<Port::Grid> find_grid(const MethodMeta& meta, uint32_t value, bool input) {
  for (size_t chain = 0; chain < meta.num_chains(); ++chain) {
    for (size_t i = 0; i < meta.num_instructions(chain); ++i) {
      const InstructionMeta call = meta.instruction(chain, i);
      const bool converts =
          is_call_of(meta, call, "::quantize_per_tensor.out") || is_call_of(meta, call, "::dequantize_per_tensor.out");
      if (!converts || call.args.empty()) continue;
      if (static_cast<uint32_t>(input ? call.args[0] : call.args[call.args.size() - 1]) == value)
        return grid_of(meta, call);
    }
  }
  return std::nullopt;
}

Port describe_port(const MethodMeta& meta, uint32_t value_index, bool input) {
  const ValueMeta value = meta.value(value_index);
  Port port;
  port.type = value_text(value);
  port.is_tensor = value.tag == Tag::tensor;
  if (!port.is_tensor) {
    port.dtype = value.tag == Tag::real ? DType::f64 : value.tag == Tag::boolean ? DType::boolean : DType::i64;
    port.size_bytes = dtype_size_bytes(port.dtype);
    return port;
  }
  port.dtype = value.tensor.dtype;
  port.is_dynamic = value.tensor.dynamism == ShapeDynamism::upper_bound;
  port.sizes.assign(value.tensor.sizes.begin(), value.tensor.sizes.end());
  for (size_t i = 0; i < value.tensor.dim_order.size(); ++i) {
    if (value.tensor.dim_order[i] != i)
      port.dim_order.assign(value.tensor.dim_order.begin(), value.tensor.dim_order.end());
  }
  port.size_bytes = value.tensor.nbytes;
  port.grid = find_grid(meta, value_index, input);
  return port;
}

}  // namespace

std::string c_identifier(std::string_view text) {
  static const std::set<std::string_view> kKeywords = {
      "alignas",     "alignof",   "and",       "and_eq",     "asm",      "auto",         "bitand",
      "bitor",       "bool",      "break",     "case",       "catch",    "char",         "class",
      "compl",       "concept",   "const",     "continue",   "co_await", "co_return",    "co_yield",
      "consteval",   "constexpr", "constinit", "const_cast", "char8_t",  "char16_t",     "char32_t",
      "decltype",    "default",   "delete",    "do",         "double",   "dynamic_cast", "else",
      "enum",        "explicit",  "export",    "extern",     "false",    "float",        "for",
      "friend",      "goto",      "if",        "inline",     "int",      "long",         "mutable",
      "namespace",   "new",       "noexcept",  "not",        "not_eq",   "nullptr",      "operator",
      "or",          "or_eq",     "private",   "protected",  "public",   "register",     "reinterpret_cast",
      "requires",    "return",    "short",     "signed",     "sizeof",   "static",       "static_assert",
      "static_cast", "struct",    "switch",    "template",   "this",     "thread_local", "throw",
      "true",        "try",       "typedef",   "typeid",     "typename", "union",        "unsigned",
      "using",       "virtual",   "void",      "volatile",   "wchar_t",  "while",        "xor",
      "xor_eq"};
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "m_" + name;
  return kKeywords.count(name) != 0 ? name + "_" : name;
}

std::string upper_case(std::string_view text) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
  return name;
}

void describe_ports(const MethodMeta& meta, const MethodFacts& facts, MethodPlan* plan) {
  std::set<std::string> taken;
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    Port port = describe_port(meta, meta.input(i), true);
    port.name = unique(c_identifier(facts.inputs[i].name), &taken);
    if (const auto& grid = facts.inputs[i].grid; port.is_tensor && grid) port.grid = {grid->scale, grid->zero_point};
    plan->inputs.push_back(std::move(port));
  }
  taken.clear();
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    Port port = describe_port(meta, meta.output(i), false);
    port.name = unique(c_identifier(output_name(facts, i)), &taken);
    const size_t leaf = i - facts.mutated_inputs.size();  // past the end for a mutated input
    if (port.is_tensor && leaf < facts.output_grids.size() && facts.output_grids[leaf])
      port.grid = {facts.output_grids[leaf]->scale, facts.output_grids[leaf]->zero_point};
    plan->outputs.push_back(std::move(port));
  }
}

}  // namespace wick::cli
