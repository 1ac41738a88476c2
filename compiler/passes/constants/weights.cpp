#include "compiler/passes/constants/weights.h"

#include "compiler/ir/builder.h"
#include "compiler/ops/arguments.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/constants/constant_element.h"

namespace wick::compiler {
namespace {

constexpr size_t kMaxCopiedBytes = size_t{1} << 20;

std::optional<size_t> known_size(const Value* value, size_t dim) {
  const Sym& size = value->sizes()[dim];
  if (!size.is_const() || size.value() <= 0) return std::nullopt;
  return static_cast<size_t>(size.value());
}

}  // namespace

std::optional<Reals64> per_channel(const Arg& arg, DType dtype, size_t rank, size_t dim, size_t channels) {
  if (const auto element = factor_of(arg, dtype)) return Reals64(channels, element->real);
  const Value* value = arg.is<Value*>() ? arg.as<Value*>() : nullptr;
  if (!value || !has_reals(value) || value->rank() > rank) return std::nullopt;
  const size_t missing = rank - value->rank();
  if (dim < missing) return std::nullopt;
  for (size_t i = 0; i < value->rank(); ++i) {
    if (!value->sizes()[i].is(i + missing == dim ? static_cast<int64_t>(channels) : 1)) return std::nullopt;
  }
  return reals_of(*value);
}

NewWeights::NewWeights() = default;
NewWeights::NewWeights(NewWeights&& other) noexcept = default;
NewWeights& NewWeights::operator=(NewWeights&& other) noexcept = default;
NewWeights::~NewWeights() = default;

Value* LinearLayer::bias() const {
  return bias_index && node->arg(*bias_index).is<Value*>() ? node->arg(*bias_index).as<Value*>() : nullptr;
}

namespace {

std::optional<LinearLayer> match_convolution(Node& node) {
  const Value* weight = node.tensor("weight");
  const auto first = known_size(weight, 0), second = known_size(weight, 1);
  const Sym groups = node.integer("groups");
  if (!first || !second || !groups.is_const() || groups.value() <= 0) return std::nullopt;
  if (node.result()->rank() != weight->rank()) return std::nullopt;  // there is no batch dimension
  LinearLayer out;
  out.node = &node;
  out.input_index = 0;
  out.weight_index = 1;
  out.bias_index = 2;
  out.input_dim = out.output_dim = 1;
  out.groups = static_cast<size_t>(groups.value());
  out.input_first = node.boolean("transposed");
  (out.input_first ? out.inputs : out.outputs) = *first;
  (out.input_first ? out.outputs : out.inputs) = *second * out.groups;
  if (*first % out.groups != 0) return std::nullopt;
  for (size_t i = 2; i < weight->rank(); ++i) {
    const auto size = known_size(weight, i);
    if (!size) return std::nullopt;
    out.kernel *= *size;
  }
  out.padded = out.input_first;  // at its border, a transposed convolution uses only part of the kernel
  for (const Sym& pad : node.ints("padding")) out.padded = out.padded || !pad.is(0);
  return out;
}

std::optional<LinearLayer> match_matmul(Node& node) {
  const Gemm& gemm = node.op->facts.gemm;
  LinearLayer out;
  out.node = &node;
  out.input_index = gemm.left;
  out.weight_index = gemm.right;
  if (gemm.term >= 0) out.bias_index = static_cast<size_t>(gemm.term);
  out.input_first = !gemm.turns;
  const Value *x = node.arg(out.input_index).as<Value*>(), *weight = node.arg(out.weight_index).as<Value*>();
  if (weight->rank() != 2 || x->rank() == 0) return std::nullopt;
  const auto rows = known_size(weight, 0), columns = known_size(weight, 1);
  if (!rows || !columns) return std::nullopt;
  out.inputs = gemm.turns ? *columns : *rows;
  out.outputs = gemm.turns ? *rows : *columns;
  out.input_dim = out.output_dim = x->rank() - 1;
  const bool has_factors = has_argument(node, "beta");
  if (has_factors && (literal(node.arg("beta")) != 1.0 || literal(node.arg("alpha")) != 1.0)) return std::nullopt;
  return out;
}

}  // namespace

std::optional<LinearLayer> match_linear_layer(Node& node) {
  std::optional<LinearLayer> out;
  if (node.is("aten.convolution.default")) out = match_convolution(node);
  if (node.op->facts.gemm && node.op->facts.gemm.rank == 2) out = match_matmul(node);
  if (!out) return std::nullopt;
  const Value* w = out->weight();
  if (!has_reals(w) || (w->num_uses() > 1 && w->data.size_bytes() > kMaxCopiedBytes)) return std::nullopt;
  if (w->data.size_bytes() / dtype_size_bytes(w->dtype()) != out->outputs * (out->inputs / out->groups) * out->kernel)
    return std::nullopt;
  if (!out->bias_index || node.arg(*out->bias_index).is<None>()) return out;
  // addmm takes any bias that broadcasts; here it must be one number per channel.
  const Value* b = out->bias();
  const bool channels = has_reals(b) && b->dtype() == w->dtype() && b->rank() > 0 &&
                        b->sizes().back().is(static_cast<int64_t>(out->outputs)) &&
                        numel(b->sizes()) == b->sizes().back();
  return channels ? out : std::nullopt;
}

namespace {

Args layer_args(Builder& b, const LinearLayer& p, NewWeights weights, std::string_view* name) {
  Args args = p.node->args();
  *name = p.node->op->name();
  const Value *weight = p.weight(), *bias = p.bias();
  Value* new_weight = b.constant(std::move(weights.weight_type), std::move(weights.weight), weight->name);
  args[p.weight_index] = new_weight;
  if (!weights.has_bias) return args;
  Value* new_bias = b.constant(std::move(weights.bias_type), std::move(weights.bias), bias ? bias->name : "bias");
  if (p.bias_index) {
    args[*p.bias_index] = new_bias;
    return args;
  }
  *name = "aten.addmm.default";
  return {new_bias, args[p.input_index], new_weight, Sym(1), Sym(1)};
}

}  // namespace

void set_weights(Graph& graph, const LinearLayer& layer, NewWeights weights) {
  Builder b(graph, layer.node);
  Value* old = layer.weight();
  const bool changes_result = weights.changes_result;
  std::string_view name;
  Args args = layer_args(b, layer, std::move(weights), &name);
  graph.rewrite(layer.node, op(name), std::move(args));
  if (changes_result) layer.node->result()->forget();
  if (old->num_uses() == 0) old->data = {};
}

Value* layer_like(Graph& graph, const LinearLayer& layer, NewWeights weights) {
  Builder b(graph, layer.node);
  std::string_view name;
  Args args = layer_args(b, layer, std::move(weights), &name);
  Value* out = b.call(name, std::move(args));
  out->producer->more_origins = layer.node->more_origins;
  return out;
}

}  // namespace wick::compiler
