#include <string.h>

#include <cmath>

#include "common/float16.h"
#include "compiler/passes/constant_element.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

constexpr size_t kMaxCopiedBytes = size_t{1} << 20;

// --- floating constants as doubles ---

using Reals64 = std::vector<double>;

bool has_reals(const Value* value) {
  if (!value || !value->is_constant()) return false;
  const DType d = value->dtype();
  return d == DType::f32 || d == DType::f64 || d == DType::f16 || d == DType::bf16;
}

template <typename T>
T load(const uint8_t* bytes) {
  T value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

double load_real(DType dtype, const uint8_t* bytes) {
  switch (dtype) {
    case DType::f64: return load<double>(bytes);
    case DType::f16: return static_cast<double>(Half::to_float(load<uint16_t>(bytes)));
    case DType::bf16: return static_cast<double>(float_from_bits(static_cast<uint32_t>(load<uint16_t>(bytes)) << 16));
    default: return static_cast<double>(load<float>(bytes));
  }
}

// Rounds once for f32 and f64; f16 and bf16 go through float.
void store_real(DType dtype, double value, uint8_t* out) {
  const float narrow = static_cast<float>(value);
  const Half half(narrow);
  const BFloat16 brain(narrow);
  switch (dtype) {
    case DType::f64: memcpy(out, &value, sizeof value); break;
    case DType::f16: memcpy(out, &half.bits, sizeof half.bits); break;
    case DType::bf16: memcpy(out, &brain.bits, sizeof brain.bits); break;
    default: memcpy(out, &narrow, sizeof narrow); break;
  }
}

Reals64 reals_of(const Value& constant) {
  const size_t item = dtype_size_bytes(constant.dtype());
  Reals64 out(constant.data.bytes.size() / item);
  for (size_t i = 0; i < out.size(); ++i) out[i] = load_real(constant.dtype(), constant.data.bytes.data() + i * item);
  return out;
}

// --- the producer: y[.., c, ..] = sum of x * weight[.., c, ..] + bias[c] ---

struct Affine {
  Node* node = nullptr;
  size_t weight_index = 0, bias_index = 0;  // of the arguments
  size_t channels = 0;
  size_t channel_dim = 0;  // of the result
  size_t groups = 1;
  size_t outer = 1, inner = 1;  // weight is [outer, channels / groups, inner] with groups spread over outer
};

std::optional<size_t> known_size(const Value* value, size_t dim) {
  const Sym& size = value->sizes()[dim];
  if (!size.is_const() || size.value() <= 0) return std::nullopt;
  return static_cast<size_t>(size.value());
}

std::optional<Affine> match_convolution(Node& node) {
  if (!node.is("aten.convolution.default")) return std::nullopt;
  const Value* weight = node.tensor("weight");
  const bool transposed = node.boolean("transposed");
  const auto first = known_size(weight, 0), second = known_size(weight, 1);
  const Sym groups = node.integer("groups");
  if (!first || !second || !groups.is_const()) return std::nullopt;
  Affine out{&node, 1, 2, *first, 1, 1, 1, 1};
  for (size_t i = transposed ? 2 : 1; i < weight->rank(); ++i) {
    const auto size = known_size(weight, i);
    if (!size) return std::nullopt;
    out.inner *= *size;
  }
  if (transposed) {  // [in, out / groups, kernel]
    out.outer = *first;
    out.groups = static_cast<size_t>(groups.value());
    out.channels = *second * out.groups;
    if (out.outer % out.groups != 0) return std::nullopt;
  }
  return out;
}

std::optional<Affine> match_matrix_product(Node& node) {
  const bool linear = node.is("aten.linear.default"), addmm = node.is("aten.addmm.default");
  if (!linear && !addmm) return std::nullopt;
  const Value* weight = node.arg(linear ? 1 : 2).as<Value*>();
  const auto rows = known_size(weight, 0), columns = weight->rank() == 2 ? known_size(weight, 1) : std::nullopt;
  if (!rows || !columns || node.result()->rank() < 2) return std::nullopt;
  const size_t last = node.result()->rank() - 1;
  if (linear) return Affine{&node, 1, 2, *rows, last, 1, 1, *columns};
  if (node.arg("beta").is<Value*>() || node.arg("alpha").is<Value*>() || node.real("beta") != 1 ||
      node.real("alpha") != 1)
    return std::nullopt;
  return Affine{&node, 2, 0, *columns, last, 1, *rows, 1};
}

// A convolution, linear or addmm with constant weights whose result only one node reads.
std::optional<Affine> match_affine(const Arg& arg) {
  Value* value = arg.is<Value*>() ? arg.as<Value*>() : nullptr;
  if (!value || !value->producer || value->num_uses() != 1) return std::nullopt;
  Node& node = *value->producer;
  auto out = match_convolution(node);
  if (!out) out = match_matrix_product(node);
  if (!out) return std::nullopt;
  const Arg &weight = node.arg(out->weight_index), &bias = node.arg(out->bias_index);
  // Somebody else's large weight would have to stay beside the new one.
  const Value* w = weight.as<Value*>();
  if (w->num_uses() > 1 && w->data.bytes.size() > kMaxCopiedBytes) return std::nullopt;
  if (!has_reals(w) || !w->tensor().dim_order.empty()) return std::nullopt;
  if (bias.is<None>()) return out;
  // addmm takes any bias that broadcasts; here one number for each channel.
  const Value* b = bias.as<Value*>();
  const bool per_channel = has_reals(b) && b->rank() > 0 &&
                           b->sizes().back() == Sym(static_cast<int64_t>(out->channels)) &&
                           numel(b->sizes()) == b->sizes().back();
  return per_channel ? out : std::nullopt;
}

// --- the scale and shift that follow ---

struct ScaleShift {
  Reals64 scale, shift;  // one of each for a channel
};

std::optional<ScaleShift> match_batch_norm(const Node& node, const Affine& affine) {
  if (!node.is("aten._native_batch_norm_legit_no_training.default") || affine.channel_dim != 1) return std::nullopt;
  if (node.result(1)->num_uses() + node.result(2)->num_uses() != 0) return std::nullopt;
  const Value *gamma = node.optional_tensor("weight"), *beta = node.optional_tensor("bias");
  const Value *mean = node.tensor("running_mean"), *variance = node.tensor("running_var");
  for (const Value* parameter : {gamma, beta, mean, variance}) {
    if (parameter &&
        (!has_reals(parameter) || !(numel(parameter->sizes()) == Sym(static_cast<int64_t>(affine.channels)))))
      return std::nullopt;
  }
  const Reals64 means = reals_of(*mean), variances = reals_of(*variance);
  ScaleShift out{Reals64(affine.channels, 1), Reals64(affine.channels, 0)};
  if (gamma) out.scale = reals_of(*gamma);
  if (beta) out.shift = reals_of(*beta);
  const double epsilon = node.real("eps");
  for (size_t c = 0; c < affine.channels; ++c) {
    out.scale[c] /= std::sqrt(variances[c] + epsilon);
    out.shift[c] -= means[c] * out.scale[c];
  }
  return out;
}

// The other operand of `node`, one number for each channel of the result.
std::optional<Reals64> per_channel(const Node& node, const Arg& arg, const Affine& affine) {
  const Value* result = node.result();
  if (const auto element = number_of(arg, result->dtype())) return Reals64(affine.channels, element->real);
  const Value* value = arg.is<Value*>() ? arg.as<Value*>() : nullptr;
  if (!has_reals(value) || value->rank() > result->rank()) return std::nullopt;
  const size_t missing = result->rank() - value->rank();
  for (size_t i = 0; i < value->rank(); ++i) {
    const int64_t wanted = i + missing == affine.channel_dim ? static_cast<int64_t>(affine.channels) : 1;
    if (!value->sizes()[i].is(wanted)) return std::nullopt;
  }
  return value->rank() + affine.channel_dim >= result->rank() && !value->data.bytes.empty()
             ? std::optional(reals_of(*value))
             : std::nullopt;
}

// mul, div, add or sub with constants; `side` is where the product stands.
std::optional<ScaleShift> match_arithmetic(const Node& node, const Affine& affine, size_t side) {
  const bool add = node.is("aten.add.Tensor") || node.is("aten.add.Scalar"),
             sub = node.is("aten.sub.Tensor") || node.is("aten.sub.Scalar");
  const bool mul = node.is("aten.mul.Tensor") || node.is("aten.mul.Scalar"),
             div = node.is("aten.div.Tensor") || node.is("aten.div.Scalar");
  if ((!add && !sub && !mul && !div) || ((sub || div) && side != 0)) return std::nullopt;
  if ((add || sub) && (node.arg(2).is<Value*>() || node.real("alpha") != 1)) return std::nullopt;
  auto numbers = per_channel(node, node.arg(1 - side), affine);
  if (!numbers) return std::nullopt;
  if (div)
    for (double& number : *numbers) number = 1 / number;
  if (mul || div) return ScaleShift{std::move(*numbers), Reals64(affine.channels, 0)};
  if (sub)
    for (double& number : *numbers) number = -number;
  return ScaleShift{Reals64(affine.channels, 1), std::move(*numbers)};
}

// --- the fold ---

// Bytes of `values`, or nothing if one of them is not finite in that dtype.
std::optional<std::vector<uint8_t>> rounded(const Reals64& values, DType dtype) {
  const size_t item = dtype_size_bytes(dtype);
  std::vector<uint8_t> out(values.size() * item);
  for (size_t i = 0; i < values.size(); ++i) {
    store_real(dtype, values[i], out.data() + i * item);
    if (!std::isfinite(load_real(dtype, out.data() + i * item))) return std::nullopt;
  }
  return out;
}

// The weights, each times the scale of its channel; or nothing if one is not finite then.
std::optional<std::vector<uint8_t>> scaled_weight(const Affine& affine, const Value& weight, const Reals64& scale) {
  const DType dtype = weight.dtype();
  const size_t item = dtype_size_bytes(dtype);
  std::vector<uint8_t> out(weight.data.bytes.size());
  const size_t group_channels = affine.channels / affine.groups, group_rows = affine.outer / affine.groups;
  size_t at = 0;
  for (size_t row = 0; row < affine.outer; ++row) {
    const size_t first = row / group_rows * group_channels;
    for (size_t c = 0; c < group_channels; ++c) {
      for (size_t i = 0; i < affine.inner; ++i, at += item) {
        store_real(dtype, load_real(dtype, weight.data.bytes.data() + at) * scale[first + c], out.data() + at);
        if (!std::isfinite(load_real(dtype, out.data() + at))) return std::nullopt;
      }
    }
  }
  return out;
}

bool fold(Graph& graph, Node& node, const Affine& affine, const ScaleShift& change, const ReleaseFn& release) {
  Node& product = *affine.node;
  const Value& weight = *product.arg(affine.weight_index).as<Value*>();
  const Value* bias = product.arg(affine.bias_index).is<None>() ? nullptr : product.arg(affine.bias_index).as<Value*>();
  Value* result = node.result();
  if (weight.data.bytes.size() / dtype_size_bytes(weight.dtype()) !=
      affine.outer * (affine.channels / affine.groups) * affine.inner)
    return false;
  if (result->type != product.result()->type) return false;
  const Reals64 old_bias = bias ? reals_of(*bias) : Reals64(affine.channels, 0);
  Reals64 new_bias = change.shift;
  for (size_t c = 0; c < affine.channels; ++c) new_bias[c] += old_bias[c] * change.scale[c];
  auto weight_bytes = scaled_weight(affine, weight, change.scale);
  auto bias_bytes = rounded(new_bias, weight.dtype());
  if (!weight_bytes || !bias_bytes) return false;
  Builder b(graph, &product);
  const TensorType bias_type =
      bias ? bias->tensor() : TensorType{weight.dtype(), {Sym(static_cast<int64_t>(affine.channels))}, {}};
  graph.set_arg(&product, affine.weight_index, b.constant(weight.tensor(), std::move(*weight_bytes), weight.name));
  graph.set_arg(&product, affine.bias_index, b.constant(bias_type, std::move(*bias_bytes), bias ? bias->name : "bias"));
  if (release) release(weight.data.bytes);
  add_origins(product, node);
  graph.replace(result, product.result());
  graph.erase(&node);
  return true;
}

bool fold_into_producer(Graph& graph, Node& node, const ReleaseFn& release) {
  const bool norm = node.is("aten._native_batch_norm_legit_no_training.default");
  if (!norm && node.results().size() != 1) return false;
  for (size_t side = 0; side < (norm ? 1u : 2u) && side < node.args().size(); ++side) {
    const auto affine = match_affine(node.arg(side));
    if (!affine) continue;
    const auto change = norm ? match_batch_norm(node, *affine) : match_arithmetic(node, *affine, side);
    if (change && fold(graph, node, *affine, *change, release)) return true;
  }
  return false;
}

}  // namespace

// Folds batch norm, and multiplication or addition by one constant for each channel, into the weights in front of it.
//   before: c = convolution(x, w, b); y = batch_norm(c, gamma, beta, mean, var, eps)
//   after:  y = convolution(x, w * s, (b - mean) * s + beta),  s = gamma / sqrt(var + eps), in double, rounded once
// Requires: constants folded (weights behind a permute are constants). Matches convolution, linear and addmm whose
// result has one reader. Keeps: values up to rounding. Left alone: parameters that are no constants, results of the
// norm beside the first that are read, and weights that would not be finite.
Result<Changed> fold_batch_norm(Graph& graph, const ReleaseFn& release) {
  return for_each_graph(graph, [&](Graph& g) {
    Changed changed = Changed::no;
    for (auto it = g.nodes().begin(); it != g.nodes().end();) {
      Node& node = **it++;
      if (fold_into_producer(g, node, release)) changed = Changed::yes;
    }
    return changed;
  });
}

}  // namespace wick::compiler
