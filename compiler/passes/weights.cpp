#include "compiler/passes/weights.h"

#include <string.h>

#include <cmath>

#include "common/float16.h"
#include "compiler/ir/builder.h"
#include "compiler/passes/constant_element.h"

namespace wick::compiler {
namespace {

constexpr size_t kMaxCopiedBytes = size_t{1} << 20;

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

std::optional<size_t> known_size(const Value* value, size_t dim) {
  const Sym& size = value->sizes()[dim];
  if (!size.is_const() || size.value() <= 0) return std::nullopt;
  return static_cast<size_t>(size.value());
}

}  // namespace

bool has_reals(const Value* value) {
  if (!value || !value->is_constant() || !value->tensor().dim_order.empty()) return false;
  const DType d = value->dtype();
  return d == DType::f32 || d == DType::f64 || d == DType::f16 || d == DType::bf16;
}

Reals64 reals_of(const Value& constant) {
  const size_t item = dtype_size_bytes(constant.dtype());
  Reals64 out(constant.data.bytes.size() / item);
  for (size_t i = 0; i < out.size(); ++i) out[i] = load_real(constant.dtype(), constant.data.bytes.data() + i * item);
  return out;
}

std::optional<std::vector<uint8_t>> rounded(const Reals64& values, DType dtype) {
  const size_t item = dtype_size_bytes(dtype);
  std::vector<uint8_t> out(values.size() * item);
  for (size_t i = 0; i < values.size(); ++i) {
    store_real(dtype, values[i], out.data() + i * item);
    if (!std::isfinite(load_real(dtype, out.data() + i * item))) return std::nullopt;
  }
  return out;
}

std::optional<Reals64> per_channel(const Arg& arg, DType dtype, size_t rank, size_t dim, size_t channels) {
  if (const auto element = number_of(arg, dtype)) return Reals64(channels, element->real);
  const Value* value = arg.is<Value*>() ? arg.as<Value*>() : nullptr;
  if (!has_reals(value) || value->rank() > rank) return std::nullopt;
  const size_t missing = rank - value->rank();
  if (dim < missing) return std::nullopt;
  for (size_t i = 0; i < value->rank(); ++i) {
    if (!value->sizes()[i].is(i + missing == dim ? static_cast<int64_t>(channels) : 1)) return std::nullopt;
  }
  return reals_of(*value);
}

Value* Product::bias() const {
  return bias_index && node->arg(*bias_index).is<Value*>() ? node->arg(*bias_index).as<Value*>() : nullptr;
}

namespace {

bool is_number(const Arg& arg, double wanted) {
  if (arg.is<double>()) return arg.as<double>() == wanted;
  return arg.is<Sym>() && arg.as<Sym>().is(static_cast<int64_t>(wanted));
}

std::optional<Product> match_convolution(Node& node) {
  const Value* weight = node.tensor("weight");
  const auto first = known_size(weight, 0), second = known_size(weight, 1);
  const Sym groups = node.integer("groups");
  if (!first || !second || !groups.is_const() || groups.value() <= 0) return std::nullopt;
  if (node.result()->rank() != weight->rank()) return std::nullopt;  // a batch dimension is there
  Product out;
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
  out.padded = out.input_first;  // the border of a transposed convolution sees part of the kernel
  for (const Sym& pad : node.ints("padding")) out.padded = out.padded || !pad.is(0);
  return out;
}

std::optional<Product> match_matrix_product(Node& node) {
  const bool linear = node.is("aten.linear.default"), addmm = node.is("aten.addmm.default");
  Product out;
  out.node = &node;
  out.input_index = addmm ? 1 : 0;
  out.weight_index = addmm ? 2 : 1;
  if (addmm) out.bias_index = 0;
  if (linear) out.bias_index = 2;
  out.input_first = !linear;
  const Value *x = node.arg(out.input_index).as<Value*>(), *weight = node.arg(out.weight_index).as<Value*>();
  if (weight->rank() != 2 || x->rank() == 0) return std::nullopt;
  const auto rows = known_size(weight, 0), columns = known_size(weight, 1);
  if (!rows || !columns) return std::nullopt;
  out.inputs = linear ? *columns : *rows;
  out.outputs = linear ? *rows : *columns;
  out.input_dim = out.output_dim = x->rank() - 1;
  if (addmm && (!is_number(node.arg("beta"), 1) || !is_number(node.arg("alpha"), 1))) return std::nullopt;
  return out;
}

// fn(place in the weight, output, input)
template <typename F>
void for_each_weight(const Product& p, F&& fn) {
  const size_t outputs = p.outputs / p.groups, inputs = p.inputs / p.groups;
  const size_t columns = p.input_first ? outputs : inputs;
  size_t at = 0;
  for (size_t row = 0; row < (p.input_first ? p.inputs : p.outputs); ++row) {
    const size_t group = row / (p.input_first ? inputs : outputs);
    for (size_t c = 0; c < columns; ++c) {
      const size_t column = group * columns + c;
      for (size_t k = 0; k < p.kernel; ++k, ++at) p.input_first ? fn(at, column, row) : fn(at, row, column);
    }
  }
}

// Both less their means over the outputs.
void centre(const Product& p, Reals64& weight, Reals64& bias) {
  // Without groups each input and place of the kernel meets all outputs.
  Reals64 means(p.inputs * p.kernel);
  for_each_weight(p, [&](size_t at, size_t, size_t input) { means[input * p.kernel + at % p.kernel] += weight[at]; });
  for (double& mean : means) mean /= static_cast<double>(p.outputs);
  for_each_weight(p, [&](size_t at, size_t, size_t input) { weight[at] -= means[input * p.kernel + at % p.kernel]; });
  double mean = 0;
  for (double value : bias) mean += value;
  for (double& value : bias) value -= mean / static_cast<double>(p.outputs);
}

// The outputs [first, first + count) of a matrix product.
void cut(const Product& p, const ProductChange& change, NewWeights& out) {
  const size_t item = dtype_size_bytes(out.weight_type.dtype);
  std::vector<uint8_t> weight;
  const size_t rows = p.input_first ? p.inputs : 1,
               row_bytes = (p.input_first ? p.outputs : p.inputs * p.outputs) * item;
  const size_t unit = (p.input_first ? 1 : p.inputs) * item;
  for (size_t row = 0; row < rows; ++row) {
    const auto from = out.weight.begin() + static_cast<ptrdiff_t>(row * row_bytes + change.first * unit);
    weight.insert(weight.end(), from, from + static_cast<ptrdiff_t>(change.count * unit));
  }
  out.weight = std::move(weight);
  out.weight_type.sizes[p.input_first ? 1 : 0] = Sym(static_cast<int64_t>(change.count));
  if (!out.has_bias) return;
  const auto from = out.bias.begin() + static_cast<ptrdiff_t>(change.first * item);
  out.bias = std::vector<uint8_t>(from, from + static_cast<ptrdiff_t>(change.count * item));
  out.bias_type.sizes = {Sym(static_cast<int64_t>(change.count))};
}

double at_or(const Reals64& values, size_t index, double otherwise) {
  return values.empty() ? otherwise : values[index];
}

}  // namespace

std::optional<Product> match_product(Node& node) {
  std::optional<Product> out;
  if (node.is("aten.convolution.default")) out = match_convolution(node);
  if (node.is("aten.linear.default") || node.is("aten.addmm.default") || node.is("aten.mm.default"))
    out = match_matrix_product(node);
  if (!out) return std::nullopt;
  const Value* w = out->weight();
  if (!has_reals(w) || (w->num_uses() > 1 && w->data.bytes.size() > kMaxCopiedBytes)) return std::nullopt;
  if (w->data.bytes.size() / dtype_size_bytes(w->dtype()) != out->outputs * (out->inputs / out->groups) * out->kernel)
    return std::nullopt;
  if (!out->bias_index || node.arg(*out->bias_index).is<None>()) return out;
  // addmm takes any bias that broadcasts; here one number for each channel.
  const Value* b = out->bias();
  const bool channels = has_reals(b) && b->dtype() == w->dtype() && b->rank() > 0 &&
                        b->sizes().back().is(static_cast<int64_t>(out->outputs)) &&
                        numel(b->sizes()) == b->sizes().back();
  return channels ? out : std::nullopt;
}

std::optional<NewWeights> changed_weights(const Product& p, const ProductChange& change) {
  if (change.centred && p.groups != 1) return std::nullopt;
  if (!change.input_shift.empty() && p.padded) return std::nullopt;
  const Value &weight = *p.weight(), *bias = p.bias();
  Reals64 w = reals_of(weight), b = bias ? reals_of(*bias) : Reals64(p.outputs, 0);
  for_each_weight(p, [&](size_t at, size_t output, size_t input) {
    if (!change.input_shift.empty()) b[output] += w[at] * change.input_shift[input];
    w[at] *= at_or(change.input_scale, input, 1) * at_or(change.output_scale, output, 1);
  });
  for (size_t o = 0; o < p.outputs; ++o)
    b[o] = b[o] * at_or(change.output_scale, o, 1) + at_or(change.output_shift, o, 0);
  if (change.centred) centre(p, w, b);
  NewWeights out;
  auto weight_bytes = rounded(w, weight.dtype()), bias_bytes = rounded(b, weight.dtype());
  if (!weight_bytes || !bias_bytes) return std::nullopt;
  out.weight_type = weight.tensor();
  out.weight = std::move(*weight_bytes);
  out.has_bias = bias || !change.input_shift.empty() || !change.output_shift.empty();
  out.bias_type = bias ? bias->tensor() : TensorType{weight.dtype(), {Sym(static_cast<int64_t>(p.outputs))}, {}};
  if (out.has_bias) out.bias = std::move(*bias_bytes);
  if (change.count != 0) cut(p, change, out);
  return out;
}

namespace {

std::vector<Arg> product_args(Builder& b, const Product& p, NewWeights weights, std::string_view* name) {
  std::vector<Arg> args = p.node->args();
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

void set_weights(Graph& graph, const Product& product, NewWeights weights, const ReleaseFn& release) {
  Builder b(graph, product.node);
  Value* old = product.weight();
  std::string_view name;
  std::vector<Arg> args = product_args(b, product, std::move(weights), &name);
  graph.rewrite(product.node, op(name), std::move(args));
  if (old->num_uses() != 0) return;
  if (release) release(old->data.bytes);
  old->data = {};
}

Value* product_like(Graph& graph, const Product& product, NewWeights weights) {
  Builder b(graph, product.node);
  std::string_view name;
  std::vector<Arg> args = product_args(b, product, std::move(weights), &name);
  Value* out = b.call(name, std::move(args));
  out->producer->more_origins = product.node->more_origins;
  return out;
}

Value* centred_constant(Graph& graph, Node* before, const Value& constant, size_t dim) {
  const auto sizes = static_sizes(constant.sizes());
  if (!sizes || !has_reals(&constant)) return nullptr;
  size_t inner = 1, outer = 1;
  const auto channels = static_cast<size_t>((*sizes)[dim]);
  for (size_t i = 0; i < sizes->size(); ++i)
    (i < dim ? outer : i > dim ? inner : outer) *= i == dim ? 1 : static_cast<size_t>((*sizes)[i]);
  Reals64 values = reals_of(constant);
  if (channels == 0 || values.size() != outer * channels * inner) return nullptr;
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < inner; ++i) {
      double mean = 0;
      for (size_t c = 0; c < channels; ++c) mean += values[(o * channels + c) * inner + i];
      mean /= static_cast<double>(channels);
      for (size_t c = 0; c < channels; ++c) values[(o * channels + c) * inner + i] -= mean;
    }
  }
  auto bytes = rounded(values, constant.dtype());
  return bytes ? Builder(graph, before).constant(constant.tensor(), std::move(*bytes), constant.name) : nullptr;
}

}  // namespace wick::compiler
