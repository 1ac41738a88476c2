#include <fmt/format.h>
#include <string.h>

#include <cmath>

#include "common/float16.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/quantization.h"
#include "compiler/ir/text/text.h"

namespace wick::compiler {
namespace {

constexpr int64_t kMaxShownElements = 16;

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", printable(text, 400)); }

template <typename T, typename F>
std::string list_text(const T& items, F&& item_text) {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i) out += ", ";
    out += item_text(items[i]);
  }
  return out + "]";
}

template <typename T>
T load(const uint8_t* bytes) {
  T value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

std::string element_text(DType dtype, const uint8_t* p) {
  switch (dtype) {
    case DType::f32: return real_text(static_cast<double>(load<float>(p)));
    case DType::f64: return real_text(load<double>(p));
    case DType::f16: return real_text(static_cast<double>(Half::to_float(load<uint16_t>(p))));
    case DType::bf16:
      return real_text(static_cast<double>(float_from_bits(static_cast<uint32_t>(load<uint16_t>(p)) << 16)));
    case DType::i64: return std::to_string(load<int64_t>(p));
    case DType::i32: return std::to_string(load<int32_t>(p));
    case DType::i16: return std::to_string(load<int16_t>(p));
    case DType::i8: return std::to_string(load<int8_t>(p));
    case DType::u8: return std::to_string(load<uint8_t>(p));
    case DType::boolean: return *p ? "true" : "false";
    default: return "";
  }
}

std::string data_text(const Value& value) {
  const auto sizes = static_sizes(value.sizes());
  const size_t item = dtype_size_bytes(value.dtype());
  if (!sizes || value.data.empty() || item == 0 || value.data.size_bytes() / item > kMaxShownElements) return "...";
  if (element_text(value.dtype(), value.data.bytes().data()).empty()) return "...";
  std::string out = "[";
  for (size_t i = 0; i < value.data.size_bytes() / item; ++i) {
    if (i) out += ", ";
    out += element_text(value.dtype(), value.data.bytes().data() + i * item);
  }
  return out + "]";
}

void print_graph(std::string& out, const Graph& graph, std::string_view name, const PrintOptions& options,
                 const std::string& indent);

void print_node(std::string& out, const Node& node, const PrintOptions& options, const std::string& indent) {
  for (size_t i = 0; i < node.results().size(); ++i) {
    out += fmt::format("{}%{}: {}", i ? ", " : "", node.result(i)->name,
                       to_text(node.result(i)->type, options.max_numbers));
  }
  if (!node.results().empty()) out += " = ";
  std::string_view op_name = node.op->name();
  if (op_name.ends_with(".default")) op_name.remove_suffix(8);
  out += op_name;
  out += '(';
  const std::vector<ArgSpec>& specs = node.op->parsed->args;
  size_t count = node.args().size();
  while (count > 0 && (specs[count - 1].has_default || specs[count - 1].optional) &&
         node.arg(count - 1) == default_arg(specs[count - 1])) {
    --count;
  }
  for (size_t i = 0; i < count; ++i) {
    if (i) out += ", ";
    out += to_text(node.arg(i));
  }
  out += ')';
  for (const auto& graph : node.graphs) {
    out += ' ';
    print_graph(out, *graph, "", options, indent + "  ");
  }
  if (options.origins && node.origin && (!node.origin->module.empty() || !node.origin->source.empty())) {
    out += fmt::format("  @ {} {}", quoted(node.origin->module), quoted(node.origin->source));
  }
}

std::string output_text(const GraphOutput& output) {
  switch (output.kind) {
    case GraphOutput::Kind::value: return "%" + output.value->name;
    case GraphOutput::Kind::integer: return output.integer.text();
    case GraphOutput::Kind::real: return real_text(output.real);
    case GraphOutput::Kind::boolean:
      return output.integer.is_const() ? (output.integer.value() ? "true" : "false") : "bool " + output.integer.text();
    case GraphOutput::Kind::string: return quoted(output.string);
    case GraphOutput::Kind::none: return "none";
  }
  return "?";
}

std::string input_text(const GraphInput& input, size_t max_numbers) {
  switch (input.kind) {
    case GraphInput::Kind::value:
      return fmt::format("%{}: {}", input.value->name, to_text(input.value->type, max_numbers));
    case GraphInput::Kind::integer: return std::to_string(input.integer);
    case GraphInput::Kind::real: return real_text(input.real);
    case GraphInput::Kind::boolean: return input.integer ? "true" : "false";
    case GraphInput::Kind::string: return quoted(input.string);
    case GraphInput::Kind::none: return "none";
  }
  return "?";
}

void print_graph(std::string& out, const Graph& graph, std::string_view name, const PrintOptions& options,
                 const std::string& indent) {
  out += "graph ";
  out += name;
  out += list_text(graph.inputs, [&](const GraphInput& input) {
           return input_text(input, options.max_numbers);
         }).replace(0, 1, "(");
  out.back() = ')';
  out += " {\n";
  const std::string inner = indent + "  ";
  for (const auto& [symbol, range] : graph.ranges) {
    out +=
        fmt::format("{}range {}: {}..{}{}\n", inner, symbol, range.min,
                    range.max == kUnbounded ? "inf" : std::to_string(range.max), range.from_data ? " from_data" : "");
  }
  for (const Value* value : graph.constants()) {
    out += fmt::format("{}const %{}: {} {} = {}\n", inner, value->name, to_text(value->type, options.max_numbers),
                       quoted(value->fqn), data_text(*value));
  }
  for (const Value* value : graph.states()) {
    out += fmt::format("{}state %{}: {} {} = {}\n", inner, value->name, to_text(value->type, options.max_numbers),
                       quoted(value->fqn), data_text(*value));
  }
  for (const Value* value : graph.held_states()) {
    out += fmt::format("{}held %{}: {} {} = {}\n", inner, value->name, to_text(value->type, options.max_numbers),
                       quoted(value->fqn), data_text(*value));
  }
  for (const auto& delegate : graph.delegates)
    out += fmt::format("{}delegate {} {}\n", inner, quoted(delegate->id), delegate->payload.size());
  for (const auto& node : graph.nodes()) {
    out += inner;
    print_node(out, *node, options, inner);
    out += '\n';
  }
  for (const StateUpdate& update : graph.updates) {
    out += fmt::format("{}update %{} = %{}\n", inner, update.target->name, update.value->name);
  }
  out += inner + "return";
  for (size_t i = 0; i < graph.outputs.size(); ++i) out += (i ? ", " : " ") + output_text(graph.outputs[i]);
  out += "\n" + indent + "}";
}

}  // namespace

std::string to_text(const Type& type, size_t max_numbers) {
  switch (type.kind) {
    case TypeKind::integer: return fmt::format("int({})", type.expr.text());
    case TypeKind::real: return "float";
    case TypeKind::boolean: return "bool";
    case TypeKind::tensor: break;
  }
  std::string out = dtype_name(type.tensor.dtype) + list_text(type.tensor.sizes, [](const Sym& s) { return s.text(); });
  if (!type.tensor.dim_order.empty()) {
    out += '{';
    for (size_t i = 0; i < type.tensor.dim_order.size(); ++i)
      out += fmt::format("{}{}", i ? "," : "", type.tensor.dim_order[i]);
    out += '}';
  }
  if (type.tensor.quantization) out += to_text(type.tensor, *type.tensor.quantization, max_numbers);
  return out;
}

std::string to_text(const Arg& arg) {
  struct Printer {
    std::string operator()(None) { return "none"; }
    std::string operator()(Value* v) { return "%" + v->name; }
    std::string operator()(const Values& v) {
      return list_text(v, [](Value* x) { return x ? "%" + x->name : std::string("none"); });
    }
    std::string operator()(const Sym& v) { return v.text(); }
    std::string operator()(const Ints& v) {
      return list_text(v, [](const Sym& s) { return s.text(); });
    }
    std::string operator()(double v) { return real_text(v); }
    std::string operator()(const Reals& v) { return list_text(v, real_text); }
    std::string operator()(bool v) { return v ? "true" : "false"; }
    std::string operator()(const Bools& v) {
      return list_text(v, [](bool b) { return std::string(b ? "true" : "false"); });
    }
    std::string operator()(const std::string& v) { return quoted(v); }
    std::string operator()(DType v) { return dtype_name(v); }
  };
  return std::visit(
      Printer{},
      static_cast<const std::variant<None, Value*, Values, Sym, Ints, double, Reals, bool, Bools, std::string, DType>&>(
          arg));
}

std::string to_text(const Node& node, const PrintOptions& options) {
  std::string out;
  print_node(out, node, options, "");
  return out;
}

std::string to_text(const Graph& graph, std::string_view name, const PrintOptions& options) {
  std::string out;
  print_graph(out, graph, name, options, "");
  return out + "\n";
}

}  // namespace wick::compiler
