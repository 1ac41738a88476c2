#include "compiler/analysis/evaluate.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>

#include "compiler/analysis/kernel_call.h"
#include "compiler/ir/builder.h"
#include "compiler/support/failure.h"
#include "wick/portable_kernels.h"

namespace wick::compiler {
namespace {

// Kernels compute with the stored integers, not with the numbers that they represent.
bool computes_on_quantized(const Node& node) {
  const auto is_quantized = [](const Value* value) { return value->type.tensor.quantization != nullptr; };
  const Values operands = node.operands();
  return !node.op->has(kElements) && (std::any_of(operands.begin(), operands.end(), is_quantized) ||
                                      std::any_of(node.results().begin(), node.results().end(), is_quantized));
}

const Kernel* find_kernel(const Node& node, const EvaluateOptions& options) {
  if (!node.op->kernel || computes_on_quantized(node)) return nullptr;
  const KernelTable table = options.kernels.empty() ? portable_kernels() : options.kernels;
  for (const Kernel& kernel : table) {
    if (strcmp(kernel.name, node.op->kernel) == 0) return &kernel;
  }
  return nullptr;
}

bool returns_number(const Node& node) { return node.results().size() == 1 && !node.result()->type.is_tensor(); }

const HostTensor* tensor_operand(const Node& node, const OperandFn& operand) {
  const Arg& arg = node.arg(size_t{0});
  const HostValue* host = arg.is<Value*>() ? operand(*arg.as<Value*>()) : nullptr;
  return host ? std::get_if<HostTensor>(host) : nullptr;
}

std::optional<int64_t> value_of(const Sym& sym, const EvaluateOptions& options) {
  if (sym.is_const()) return sym.value();
  return options.symbols ? evaluate(sym, *options.symbols) : std::nullopt;
}

// The byte offset of the result in its row-major operand; nullopt if the result is not one range of its bytes.
std::optional<int64_t> range_offset(const Node& node, const TensorType& source, const EvaluateOptions& options) {
  if (node.is(Movement::view)) return 0;
  const bool slice = node.is(Movement::slice);
  if (!slice && !node.is(Movement::select)) return std::nullopt;
  const auto dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), source.rank()));
  if (slice && !node.integer("step").is(1)) return std::nullopt;
  const bool from_start = slice && node.is_none("start");
  const auto first =
      from_start ? std::optional<int64_t>(0) : value_of(node.integer(slice ? "start" : "index"), options);
  if (!first) return std::nullopt;
  int64_t inner = static_cast<int64_t>(dtype_size_bytes(source.dtype));
  for (size_t i = 0; i < source.rank(); ++i) {
    if (i < dim && !source.sizes[i].is(1)) return std::nullopt;
    if (i > dim) inner *= source.sizes[i].value();
  }
  const int64_t size = source.sizes[dim].value();
  const int64_t index = *first < 0 ? *first + size : *first;
  if (index < 0 || index > size) return std::nullopt;
  return index * inner;
}

// The result of a view that is one range of its operand's bytes, which it shares; nullopt otherwise.
std::optional<HostTensor> shared_view(const Node& node, const OperandFn& operand, const EvaluateOptions& options) {
  if (!node.op->has(kView) || node.results().size() != 1) return std::nullopt;
  const HostTensor* source = tensor_operand(node, operand);
  if (!source || !source->type.dim_order.empty() || !is_static(source->type.sizes)) return std::nullopt;
  HostTensor out;
  out.type = node.result()->tensor();
  if (!out.type.dim_order.empty()) return std::nullopt;
  uint64_t bytes = dtype_size_bytes(out.type.dtype);
  for (Sym& size : out.type.sizes) {
    const auto known = value_of(size, options);
    if (!known || *known < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(*known), &bytes))
      return std::nullopt;
    size = *known;
  }
  const auto offset = range_offset(node, source->type, options);
  if (!offset) return std::nullopt;
  const uint64_t total = source->data.size_bytes(), start = static_cast<uint64_t>(*offset);
  if (start > total || bytes > total - start) return std::nullopt;
  out.data = source->data.part(start, bytes);
  return out;
}

template <typename T>
T load(const HostTensor& tensor) {
  T value;
  if (tensor.data.size_bytes() < sizeof value) fail(Code::execution, "item of an empty tensor");
  memcpy(&value, tensor.data.bytes().data(), sizeof value);
  return value;
}

// A number computed from sizes, or read from a tensor of one element.
HostValue evaluate_number(const Node& node, const OperandFn& operand, const EvaluateOptions& options) {
  const Type& type = node.result()->type;
  if (node.is("aten._local_scalar_dense.default")) {
    const HostTensor* x = tensor_operand(node, operand);
    switch (x ? x->type.dtype : DType::bits16) {
      case DType::f32: return static_cast<double>(load<float>(*x));
      case DType::f64: return load<double>(*x);
      case DType::i64: return load<int64_t>(*x);
      case DType::i32: return int64_t{load<int32_t>(*x)};
      case DType::i16: return int64_t{load<int16_t>(*x)};
      case DType::i8: return int64_t{load<int8_t>(*x)};
      case DType::u8: return int64_t{load<uint8_t>(*x)};
      case DType::boolean: return load<uint8_t>(*x) != 0;
      default: break;
    }
  } else if (type.kind != TypeKind::real) {
    if (const auto value = value_of(type.expr, options)) {
      if (type.kind == TypeKind::boolean) return *value != 0;
      return *value;
    }
  }
  fail(Diag(Code::unsupported_op, fmt::format("{} cannot be computed", node.op->name())).in(where_of(node)));
}

std::vector<HostValue> evaluate_or_throw(const Node& node, const OperandFn& operand, const EvaluateOptions& options) {
  if (returns_number(node)) return {evaluate_number(node, operand, options)};
  if (auto shared = shared_view(node, operand, options)) return {std::move(*shared)};
  const Kernel* kernel = find_kernel(node, options);
  if (!kernel || !node.graphs.empty()) {
    fail(Diag(Code::unsupported_op, fmt::format("there is no kernel to compute {}", node.op->name()))
             .in(where_of(node)));
  }
  if (node.op->has(kRandom) && !options.random) {
    fail(Diag(Code::unsupported_op, fmt::format("{} draws random numbers", node.op->name())).in(where_of(node)));
  }
  KernelCall call(node, operand, options);
  call.build();
  call.run(*kernel);
  return call.take_results();
}

// A declared size that is a lone symbol defines that symbol by the actual size.
void define_symbols(const Sizes& declared, const Sizes& actual, SymValues& symbols) {
  for (size_t i = 0; i < declared.size() && i < actual.size(); ++i) {
    const std::string_view name = declared[i].symbol_name();
    if (!name.empty() && actual[i].is_const()) symbols.emplace(std::string(name), actual[i].value());
  }
}

void define_symbols(const Value& value, const HostValue& host, SymValues& symbols) {
  if (const auto* tensor = std::get_if<HostTensor>(&host)) {
    define_symbols(value.sizes(), tensor->type.sizes, symbols);
  } else if (const auto* integer = std::get_if<int64_t>(&host)) {
    const std::string_view name = value.type.expr.symbol_name();
    if (!name.empty()) symbols.emplace(std::string(name), *integer);
  }
}

}  // namespace

HostTensor host_tensor(const Value& constant) { return {constant.tensor(), constant.data}; }

HostTensor host_tensor(TensorType type, std::vector<uint8_t> bytes) {
  auto owned = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  return {std::move(type), {Span<const uint8_t>(owned->data(), owned->size()), owned}};
}

bool can_evaluate(const Node& node, const EvaluateOptions& options) {
  if (!node.graphs.empty() || node.results().empty()) return false;
  if (node.op->has(kRandom) && !options.random) return false;
  if (returns_number(node)) return node.op->has(kComputed) || node.is("aten._local_scalar_dense.default");
  return find_kernel(node, options) != nullptr;
}

Result<std::vector<HostValue>> evaluate_node(const Node& node, const OperandFn& operand,
                                             const EvaluateOptions& options) {
  std::vector<HostValue> values;
  RETURN_IF_ERROR(catch_failure([&] { values = evaluate_or_throw(node, operand, options); }));
  return values;
}

Status evaluate_graph(const Graph& graph, HostValues& values, EvaluateOptions options) {
  SymValues symbols = options.symbols ? *options.symbols : SymValues{};
  for (const auto& [value, host] : values) define_symbols(*value, host, symbols);
  options.symbols = &symbols;
  if (!options.ranges) options.ranges = &graph.ranges;
  for (const auto& value : graph.values()) {
    const bool stored = value->kind == ValueKind::constant || (value->kind == ValueKind::state && !value->data.empty());
    if (stored) values.try_emplace(value.get(), host_tensor(*value));
  }
  const OperandFn operand = [&](const Value& value) -> const HostValue* {
    const auto it = values.find(&value);
    return it == values.end() ? nullptr : &it->second;
  };
  for (const auto& node : graph.nodes()) {
    if (node->results().empty()) continue;  // a check, not a value
    ASSIGN_OR_RETURN(std::vector<HostValue> results, evaluate_node(*node, operand, options));
    for (size_t i = 0; i < results.size(); ++i) {
      define_symbols(*node->result(i), results[i], symbols);
      values.insert_or_assign(node->result(i), std::move(results[i]));
    }
  }
  return {};
}

}  // namespace wick::compiler
