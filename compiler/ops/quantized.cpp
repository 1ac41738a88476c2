// Quantization and its inverse: PT2E (quantized_decomposed) and torchao affine.
#include <cmath>
#include <optional>
#include <tuple>

#include "compiler/ir/quantization.h"
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/least_scale.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

DType required_dtype(const Node& node, const char* name) {
  const auto dtype = node.dtype(name);
  if (!dtype) reject("a quantization operator needs a dtype");
  return *dtype;
}

// Kernels read scales as f32 or f64, and zero points in any dtype but bool.
void check_parameter_dtypes(const Node& node) {
  for (const char* name : {"scale", "scales"}) {
    const Value* scale = node.op->parsed->find(name) >= 0 ? tensor_or_null(node.arg(name)) : nullptr;
    require(!scale || scale->dtype() == DType::f32 || scale->dtype() == DType::f64, "scales must be f32 or f64");
  }
  for (const char* name : {"zero_point", "zero_points"}) {
    const Value* zero = node.op->parsed->find(name) >= 0 ? tensor_or_null(node.arg(name)) : nullptr;
    require(!zero || zero->dtype() != DType::boolean, "zero points are bool");
  }
}

void infer_quantize(Node& node) {
  const Value* x = node.tensor("input");
  require(is_floating(x->dtype()), "quantize of a tensor that is not floating");
  check_parameter_dtypes(node);
  set_result(node, required_dtype(node, "dtype"), x->sizes());
}
void infer_dequantize(Node& node) {
  const Value* x = node.tensor("input");
  require(is_integral(x->dtype()), "dequantize of a tensor that is not integral");
  // The group form ignores `dtype`.
  const bool group = node.is("quantized_decomposed.dequantize_per_channel_group.default");
  const std::optional<DType> named = group ? std::nullopt : node.dtype("dtype");
  require(!named || *named == x->dtype(), "dequantize: the tensor does not have the dtype that is named");
  if (!group) check_parameter_dtypes(node);
  DType dtype = DType::f32;
  for (const char* name : {"out_dtype", "output_dtype"}) {
    if (node.op->parsed->find(name) >= 0) dtype = node.dtype(name).value_or(DType::f32);
  }
  set_result(node, dtype, x->sizes());
}
const Sym& channels_along_axis(const Node& node) {
  const Value* x = node.tensor("input");
  return x->sizes()[static_cast<size_t>(wrap_dim(node.static_integer("axis"), x->rank()))];
}
// One scale for each channel, or one for all; as many zero points.
void check_axis(const Node& node) {
  const Value *scales = node.tensor("scales"), *zeros = node.optional_tensor("zero_points");
  require(node.tensor("input")->rank() > 0, "per-channel quantization of a scalar");
  const Sym& channels = channels_along_axis(node);
  require_rank(scales, 1, "scales");
  if (!scales->sizes()[0].is(1)) require_equal(scales->sizes()[0], channels, "number of scales");
  if (zeros) require_equal(numel(zeros->sizes()), scales->sizes()[0], "number of zero points");
}
void infer_quantize_channel(Node& node) {
  check_axis(node);
  infer_quantize(node);
}
void infer_dequantize_channel(Node& node) {
  check_axis(node);
  infer_dequantize(node);
}

// One scale for all channels becomes the scale of the tensor. Not for scales of f64, which the per-channel form
// multiplies in f64, and for invalid scales, which it does not refuse: these, and scales known only at run time, are
// repeated.
Results decompose_one_scale(Builder& b, Node& node) {
  Value *scales = node.tensor("scales"), *zeros = node.optional_tensor("zero_points");
  if (!scales->sizes()[0].is(1)) return {};
  const auto number_of = [](const Value& constant) { return NumberList{constant.dtype(), constant.data}[0]; };
  const double scale = scales->is_constant() && scales->dtype() == DType::f32 ? number_of(*scales) : 0;
  const bool known_zero = !zeros || (zeros->is_constant() && is_integral(zeros->dtype()));
  const double zero = known_zero && zeros ? number_of(*zeros) : 0;
  std::string name(node.op->name());
  Args args = node.args();
  if (scale > 0 && std::isfinite(scale) && known_zero && std::abs(zero) < 0x1p53) {
    args.erase(args.begin() + node.op->parsed->find("axis"));
    args[1] = scale;
    args[2] = static_cast<int64_t>(zero);
    return {b.call(name.replace(name.find("channel"), std::string_view("channel").size(), "tensor"), std::move(args))};
  }
  const Sym& channels = channels_along_axis(node);
  if (channels.is(1)) return {};
  const auto repeated = [&](Value* one) { return b.call("aten.expand", {b.reshape(one, {1}), Ints{channels}, false}); };
  args[1] = repeated(scales);
  if (zeros) args[2] = repeated(zeros);
  return {b.call(name, std::move(args))};
}

void infer_qparams(Node& node) {
  require(is_floating(node.tensor("input")->dtype()),
          "quantization parameters are chosen of a tensor that is not floating");
  set_result(node, 0, DType::f64, {1});
  set_result(node, 1, DType::i64, {1});
}
// scale = max(|x|) / half the range; the zero point is the middle of the dtype.
Results decompose_qparams_symmetric(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("input");
  Value* low = c.amin(x, all_dims(x->rank()));
  Value* high = c.amax(x, all_dims(x->rank()));
  Value* magnitude = c.maximum(c.neg(c.clamp(low, None{}, 0.0)), c.clamp(high, 0.0, None{}));
  const auto bound = [&](const char* name) { return static_cast<double>(node.static_integer(name)); };
  const double half = (bound("quant_max") - bound("quant_min")) / 2;
  Value* scale = c.clamp(c.div(magnitude, half), node.real("eps"), None{});
  const int64_t middle = node.dtype("dtype") == DType::u8 ? 128 : 0;
  return {b.reshape(b.cast(scale, DType::f64), {1}), b.full({1}, middle, DType::i64)};
}
void infer_qparams_per_token(Node& node) {
  require(is_floating(node.tensor("input")->dtype()), "quantization parameters come from a floating tensor");
  Sizes sizes = node.tensor("input")->sizes();
  require(!sizes.empty(), "per-token quantization of a scalar");
  sizes.back() = 1;
  set_result(node, 0, DType::f64, sizes);
  set_result(node, 1, DType::i64, sizes);
}
std::vector<Value*> decompose_qparams_per_token(Builder& b, Node& node) {
  return b.call_multi("quantized_decomposed.choose_qparams_per_token_asymmetric",
                      {node.arg("input"), node.arg("dtype")});
}

// A vector of channels, reshaped to broadcast along `axis`.
Value* along(Builder& b, Value* v, size_t rank, int64_t axis) {
  require(rank > 0 && v->rank() == 1, "quantization by channels needs channels and a vector of them");
  Sizes sizes(rank, Sym(1));
  sizes[static_cast<size_t>(axis)] = v->sizes()[0];
  return b.reshape(v, std::move(sizes));
}

// The signed dtype that holds the elements of the node's range; `offset` is subtracted from them to fit.
struct SignedRange {
  DType dtype = DType::i8;
  int64_t offset = 0;
};
std::optional<SignedRange> signed_range(const Node& node) {
  const int64_t low = node.static_integer("quant_min"), high = node.static_integer("quant_max");
  if (low < INT32_MIN || high > INT32_MAX) return std::nullopt;
  constexpr std::tuple<DType, int64_t, int64_t> kRanges[] = {{DType::i8, INT8_MIN, INT8_MAX},
                                                             {DType::i16, INT16_MIN, INT16_MAX}};
  for (const auto& [dtype, least, most] : kRanges) {
    if (low > high || high - low > most - least) continue;
    return SignedRange{dtype, low >= least && high <= most ? 0 : low - least};
  }
  return std::nullopt;
}

template <typename T>
double first_of(const Value& constant) {
  T first;
  constant.data.read(0, sizeof first, reinterpret_cast<uint8_t*>(&first));
  return static_cast<double>(first);
}

// A literal, or the only element of a constant.
std::optional<double> known_number(const Arg& arg) {
  const Value* value = tensor_or_null(arg);
  if (!value) return literal(arg);
  if (!value->is_constant() || !is_static(value->sizes()) || numel(value->sizes()).value() != 1) return std::nullopt;
  if (value->dtype() == DType::f32) return first_of<float>(*value);
  if (value->dtype() == DType::i32) return first_of<int32_t>(*value);
  return value->dtype() == DType::i64 ? std::optional(first_of<int64_t>(*value)) : std::nullopt;
}

bool is_per_channel(const Node& node) { return node.op->parsed->find("axis") >= 0; }

// The arguments of quantize and dequantize: scale, zero point and, per channel, the axis. Empty if they are computed,
// or if no elements can have them.
Args element_parameters(Builder& b, const Node& node, const Arg& scale, const Arg& zero, int64_t offset) {
  if (!is_per_channel(node)) {
    const auto step = known_number(scale), middle = known_number(zero);
    if (!step || !middle || !std::isfinite(*step) || !(static_cast<float>(*step) > 0)) return {};
    const auto low = static_cast<double>(node.static_integer("quant_min")),
               high = static_cast<double>(node.static_integer("quant_max"));
    if (*middle != std::floor(*middle) || *middle < low || *middle > high) return {};
    return {*step, static_cast<int64_t>(*middle) - offset};
  }
  Value *scales = tensor_or_null(scale), *zeros = tensor_or_null(zero);
  const bool known = scales->is_constant() && scales->dtype() == DType::f32 && zeros->is_constant();
  if (!known || !is_integral(zeros->dtype())) return {};
  zeros = b.cast(zeros, DType::i64);
  if (offset != 0) zeros = b.call("aten.sub.Scalar", {zeros, offset});
  return {scales, zeros, node.arg("axis")};
}

// x quantized to elements of at most 16 bits and dequantized. Null if the parameters are not known or x is not f32.
Value* quantized_and_back(Builder& b, const Node& node, const Arg& scale, const Arg& zero) {
  const auto range = signed_range(node);
  if (!range || node.operands()[0]->dtype() != DType::f32) return nullptr;
  Args args = element_parameters(b, node, scale, zero, range->offset);
  if (args.empty()) return nullptr;
  const char* form = args.size() > 2 ? "per_channel" : "per_tensor";
  args.insert(args.begin(), node.arg(0));
  for (const char* bound : {"quant_min", "quant_max"}) args.push_back(node.static_integer(bound) - range->offset);
  args.push_back(range->dtype);
  args[0] = b.call(std::string("quantized_decomposed.quantize_") + form, args);
  return b.call(std::string("quantized_decomposed.dequantize_") + form, std::move(args));
}

// (clamp(round(x / scale) + zero_point) - zero_point) * scale
Results decompose_fake_quant_channel(Builder& b, Node& node) {
  if (Value* y = quantized_and_back(b, node, node.arg("scales"), node.arg("zero_points"))) return {y};
  Compose c(b);
  Value* x = node.tensor("input");
  const int64_t axis = wrap_dim(node.static_integer("axis"), x->rank());
  Value* scale = along(b, node.tensor("scales"), x->rank(), axis);
  Value* zero = along(b, node.tensor("zero_points"), x->rank(), axis);
  Value* q = c.add(c.unary("aten.round", c.mul(x, c.unary("aten.reciprocal", scale))), b.cast(zero, x->dtype()));
  q = c.clamp(q, node.arg("quant_min"), node.arg("quant_max"));
  return {c.mul(c.sub(q, b.cast(zero, x->dtype())), scale)};
}

// round(x / scale) + zero_point, per tensor or per channel. As in eager, the scale and its inverse are f32, and the sum
// is f64 if x is f64, else f32.
struct FakeElements {
  Value* q = nullptr;  // not clamped
  Arg scale, zero;     // scale: f32; zero: the dtype of q
};
FakeElements fake_elements(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const DType wide = x->dtype() == DType::f64 ? DType::f64 : DType::f32;
  const auto parameter = [&](Value* value, DType dtype) -> Value* {
    value = b.cast(value, dtype);
    if (!is_per_channel(node)) return value->rank() ? b.reshape(value, {}) : value;
    return along(b, value, x->rank(), wrap_dim(node.static_integer("axis"), x->rank()));
  };
  Arg scale, inverse;
  if (Value* given = tensor_or_null(node.arg("scale"))) {
    Value* single = parameter(given, DType::f32);
    scale = single;
    inverse = b.cast(c.unary("aten.reciprocal", single), wide);
  } else {
    const auto single = static_cast<float>(node.real("scale"));
    scale = static_cast<double>(single);
    inverse = static_cast<double>(1.0f / single);
  }
  Value* given_zero = tensor_or_null(node.arg("zero_point"));
  const Arg zero = given_zero ? Arg(parameter(given_zero, wide)) : Arg(node.real("zero_point"));
  return {c.add(c.unary("aten.round", c.mul(b.cast(x, wide), inverse)), zero), scale, zero};
}

// (clamp(round(x / scale) + zero_point) - zero_point) * scale
Value* fake_quantized(Builder& b, Node& node) {
  if (Value* y = quantized_and_back(b, node, node.arg("scale"), node.arg("zero_point"))) return y;
  Compose c(b);
  const FakeElements fake = fake_elements(b, node);
  Value* q = c.clamp(fake.q, node.arg("quant_min"), node.arg("quant_max"));
  // Eager multiplies in f32, except that it multiplies f64 by per-channel scales in f64.
  const DType product = is_per_channel(node) ? q->dtype() : DType::f32;
  Value* scale = tensor_or_null(fake.scale);
  const Arg factor = scale ? Arg(b.cast(scale, product)) : fake.scale;
  return b.cast(c.mul(b.cast(c.sub(q, fake.zero), product), factor), node.result(0)->dtype());
}
Results decompose_fake_quantize(Builder& b, Node& node) { return {fake_quantized(b, node)}; }

void require_fake_quantizable(const Node& node) {
  require(!is_complex(node.tensor("self")->dtype()), "complex numbers are not quantized");
  require(!is_per_channel(node) || node.tensor("scale")->dtype() == DType::f32, "the scales of channels must be f32");
}
void infer_fake_quantize(Node& node) {
  require_fake_quantizable(node);
  infer_same(node);
}
void infer_cachemask(Node& node) {
  require_fake_quantizable(node);
  const Value* x = node.tensor("self");
  set_result(node, 0, x->dtype(), x->sizes());
  set_result(node, 1, DType::boolean, x->sizes());
}
// The same, and a mask of the elements that are not clamped.
Results decompose_cachemask(Builder& b, Node& node) {
  Value *y = fake_quantized(b, node), *q = fake_elements(b, node).q;
  Value* inside = b.call("aten.logical_and", {b.call("aten.ge.Scalar", {q, node.arg("quant_min")}),
                                              b.call("aten.le.Scalar", {q, node.arg("quant_max")})});
  if (node.op->parsed->find("fake_quant_enabled") < 0) return {y, inside};
  Value* off = b.call("aten.lt.Scalar", {b.reshape(node.tensor("fake_quant_enabled"), {}), int64_t{1}});
  return {b.call("aten.where.self", {off, node.tensor("self"), y}), b.call("aten.logical_or", {inside, off})};
}

// Groups of `group_size` along the last dimension.
Results decompose_quantize_group(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("input"), *scales = node.tensor("scales"), *zeros = node.optional_tensor("zero_points");
  require_rank(x, 2, "per-group quantization");
  require_rank(scales, 2, "per-group quantization: scales");
  const int64_t group = node.static_integer("group_size");
  require(group > 0, "group_size must be positive");
  const Sym rows = x->sizes()[0], count = scales->sizes()[1];
  auto column = [&](Value* v) { return b.reshape(v, {rows, count, 1}); };
  Value* grouped = b.reshape(x, {rows, count, group});
  if (node.op->name().find("dequantize") != std::string_view::npos) {
    const DType dtype = node.result()->dtype();
    Value* value = b.cast(grouped, dtype);
    if (zeros) value = c.sub(value, b.cast(column(zeros), dtype));
    return {b.reshape(c.mul(value, b.cast(column(scales), dtype)), x->sizes())};
  }
  Value* q = c.div(grouped, column(scales));
  if (zeros) q = c.add(q, b.cast(column(zeros), x->dtype()));
  q = c.clamp(c.unary("aten.round", q), node.arg("quant_min"), node.arg("quant_max"));
  return {b.cast(b.reshape(q, x->sizes()), node.result()->dtype())};
}

// --- torchao ---

// The tensor with each blocked dimension split in (blocks, block), and the sizes of one parameter per block.
struct Blocks {
  Sizes split;      // sizes of the tensor
  Sizes parameter;  // sizes of scale and zero point, 1 for the block dimensions
  std::vector<int64_t> reduced;
};
Blocks blocks_of(const Value* x, const Ints& block) {
  require(block.size() == x->rank(), "block_size has a different length than the rank");
  Blocks out;
  for (size_t i = 0; i < block.size(); ++i) {
    const Sym& size = x->sizes()[i];
    if (block[i].is_const() && size.is_const() && block[i].value() > 1 && !(block[i] == size)) {
      if (size.value() % block[i].value() != 0) reject("block_size does not divide the size");
      out.split.push_back(size.value() / block[i].value());
      out.parameter.push_back(out.split.back());
      out.reduced.push_back(static_cast<int64_t>(out.split.size()));
      out.split.push_back(block[i]);
      out.parameter.push_back(1);
      continue;
    }
    out.split.push_back(size);
    const bool single = block[i].is(1);  // torchao keeps such a dimension, of size 1 too
    out.parameter.push_back(single ? size : Sym(1));
    if (!single) out.reduced.push_back(static_cast<int64_t>(out.split.size()) - 1);
  }
  return out;
}

double bound(const Node& node, const char* name, DType dtype, bool low) {
  if (!node.is_none(name)) return node.real(name);
  switch (dtype) {
    case DType::i8: return low ? -128 : 127;
    case DType::u8: return low ? 0 : 255;
    case DType::i16: return low ? -32768 : 32767;
    case DType::i32: return low ? -2147483648.0 : 2147483647.0;
    default: reject("affine quantization to this dtype needs quant_min and quant_max");
  }
}
Arg number(double v) { return v == std::floor(v) ? Arg(static_cast<int64_t>(v)) : Arg(v); }

void infer_quantize_affine(Node& node) {
  set_result(node, required_dtype(node, "output_dtype"), node.tensor("input")->sizes());
}
void infer_dequantize_affine(Node& node) {
  set_result(node, node.dtype("output_dtype").value_or(DType::f32), node.tensor("input")->sizes());
}

// clamp(round(x * (1 / scale)) + zero_point, quant_min, quant_max)
Results decompose_quantize_affine(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("input"), *scale = node.tensor("scale"), *zero = node.optional_tensor("zero_point");
  const DType dtype = node.result()->dtype();
  const Blocks blocks = blocks_of(x, node.ints("block_size"));
  Value* value = b.reshape(x, blocks.split);
  Value* inverse = c.unary("aten.reciprocal", b.reshape(scale, blocks.parameter));
  Value* q = c.unary("aten.round", c.mul(value, inverse));
  if (zero) q = c.add(q, b.cast(b.reshape(zero, blocks.parameter), q->dtype()));
  q = c.clamp(q, number(bound(node, "quant_min", dtype, true)), number(bound(node, "quant_max", dtype, false)));
  return {b.cast(b.reshape(q, x->sizes()), dtype)};
}

// (x - zero_point) * scale
Results decompose_dequantize_affine(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("input"), *scale = node.tensor("scale"), *zero = node.optional_tensor("zero_point");
  const DType dtype = node.result()->dtype();
  const Blocks blocks = blocks_of(x, node.ints("block_size"));
  Value* value = b.cast(b.cast(b.reshape(x, blocks.split), DType::i32), dtype);
  if (zero) value = c.sub(value, b.cast(b.reshape(zero, blocks.parameter), dtype));
  return {b.reshape(b.cast(c.mul(value, b.reshape(scale, blocks.parameter)), dtype), x->sizes())};
}

Sizes parameter_sizes(const Node& node) {
  const Value* x = node.tensor("input");
  const Blocks blocks = blocks_of(x, node.ints("block_size"));
  return reduce_sizes(blocks.split, blocks.reduced, node.op->parsed->find("keepdim") >= 0 && node.boolean("keepdim"));
}
void infer_choose_affine(Node& node) {
  const Value* x = node.tensor("input");
  const Sizes sizes = parameter_sizes(node);
  set_result(node, 0, node.dtype("scale_dtype").value_or(x->dtype()), sizes);
  set_result(node, 1, node.dtype("zero_point_dtype").value_or(DType::i32), sizes);
}
// Parameters from the range of each block, widened to include 0; symmetric or asymmetric mapping. The scale is at least
// eps, by default the smallest normal number of the input's dtype.
Results decompose_choose_affine(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("input");
  const Blocks blocks = blocks_of(x, node.ints("block_size"));
  const DType target = required_dtype(node, "target_dtype");
  const double low = bound(node, "quant_min", target, true), high = bound(node, "quant_max", target, false);
  const double epsilon = least_scale(node);
  const std::string mapping = node.string("mapping_type");
  Value* value = b.reshape(x, blocks.split);
  const bool keep = node.op->parsed->find("keepdim") >= 0 && node.boolean("keepdim");
  Value* smallest = c.amin(value, blocks.reduced, keep);
  Value* largest = c.amax(value, blocks.reduced, keep);
  Value* negative = c.minimum(smallest, 0);
  Value* positive = c.maximum(largest, 0);
  const DType scale_dtype = node.result(0)->dtype(), zero_dtype = node.result(1)->dtype();
  if (mapping == "SYMMETRIC") {
    Value* reach = b.call("aten.maximum", {c.neg(negative), positive});
    Value* scale = c.clamp(c.div(reach, (high - low) / 2), epsilon, None{});
    const auto middle = static_cast<int64_t>((high + low + 1) / 2);
    return {b.cast(scale, scale_dtype), b.full(scale->sizes(), middle, zero_dtype)};
  }
  require(mapping == "ASYMMETRIC", "this mapping type of affine quantization is not supported");
  Value* scale = c.clamp(c.div(c.sub(positive, negative), high - low), epsilon, None{});
  Value* zero = c.clamp(c.sub(low, c.unary("aten.round", c.div(negative, scale))), number(low), number(high));
  return {b.cast(scale, scale_dtype), b.cast(zero, zero_dtype)};
}

// The operators of the namespace `quant`, in older files, have an argument for the kind of zero point.
void require_plain_zero(const Node& node) {
  const bool integral = node.is_none("zero_point_domain") || node.string("zero_point_domain") == "INT" ||
                        (node.string("zero_point_domain") == "NONE" && node.is_none("zero_point"));
  require(integral, "zero points of affine quantization that are not integers are not supported");
}
// Arguments 5 and 6 are the range; by default that of the dtype.
Args with_range(const Node& node, DType dtype) {
  Args args;
  for (size_t i = 0; i < 7; ++i) args.push_back(node.arg(i));
  if (node.is_none("quant_min")) args[5] = number(bound(node, "quant_min", dtype, true));
  if (node.is_none("quant_max")) args[6] = number(bound(node, "quant_max", dtype, false));
  return args;
}
Results decompose_old_quantize(Builder& b, Node& node) {
  require_plain_zero(node);
  return {b.call("torchao.quantize_affine", with_range(node, node.result()->dtype()))};
}
Results decompose_old_dequantize(Builder& b, Node& node) {
  require_plain_zero(node);
  Args args = with_range(node, node.tensor("input")->dtype());
  args.push_back(node.arg("output_dtype"));
  return {b.call("torchao.dequantize_affine", std::move(args))};
}
void infer_old_choose(Node& node) {
  const Sizes sizes = parameter_sizes(node);
  const DType dtype = node.tensor("input")->dtype();
  set_result(node, 0, node.dtype("scale_dtype").value_or(dtype), sizes);
  set_result(node, 1, node.dtype("zero_point_dtype").value_or(dtype), sizes);
}
// The least scale of this older form is the distance from 1 to the next number of the dtype.
Results decompose_old_choose(Builder& b, Node& node) {
  require(node.boolean("preserve_zero"), "affine quantization without an exact zero is not supported");
  require(node.is_none("zero_point_domain") || node.string("zero_point_domain") == "INT",
          "zero points of affine quantization that are not integers are not supported");
  const DType dtype = node.tensor("input")->dtype();
  const double distance = dtype == DType::f16    ? 0x1p-10
                          : dtype == DType::bf16 ? 0x1p-7
                          : dtype == DType::f64  ? 0x1p-52
                                                 : 0x1p-23;
  const DType target = required_dtype(node, "target_dtype");
  Args args;
  for (size_t i = 0; i < 8; ++i) args.push_back(node.arg(i));
  if (node.is_none("quant_min")) args[4] = number(bound(node, "quant_min", target, true));
  if (node.is_none("quant_max")) args[5] = number(bound(node, "quant_max", target, false));
  if (node.is_none("eps")) args[6] = distance;
  args.push_back(node.result(1)->dtype());
  return b.call_multi("torchao.choose_qparams_affine", std::move(args));
}

// --- 8-bit, 4-bit and 2-bit tables ---

void infer_packed_embedding(Node& node, int64_t per_byte) {
  const Value *weight = node.tensor("weight"), *indices = node.tensor("indices"),
              *scales = node.tensor("weight_scales");
  require_rank(weight, 2, "quantized embedding: weight");
  Sizes sizes = indices->sizes();
  sizes.push_back(weight->sizes()[1] * per_byte);
  DType dtype = scales->dtype();
  if (node.op->parsed->find("dtype") >= 0) dtype = node.dtype("dtype").value_or(dtype);
  set_result(node, dtype, std::move(sizes));
}
// --- tables of 256 elements ---

void infer_lookup(Node& node) {
  const Value *x = node.tensor("self"), *table = node.tensor("table");
  require(x->dtype() == DType::i8 && table->dtype() == DType::i8, "lookup takes int8 elements and a table of int8");
  require_rank(table, 1, "the table");
  require_equal(table->sizes()[0], 256, "elements of the table");
  set_result(node, DType::i8, x->sizes());
}
Results decompose_lookup(Builder& b, Node& node) {
  Compose c(b);
  Value* index = c.add(b.cast(node.tensor("self"), DType::i64), int64_t{128});
  return {b.call("aten.index.Tensor", {node.tensor("table"), Values{index}})};
}

void infer_embedding_byte(Node& node) { infer_packed_embedding(node, 1); }
void infer_embedding_4bit(Node& node) { infer_packed_embedding(node, 2); }
void infer_embedding_2bit(Node& node) { infer_packed_embedding(node, 4); }

}  // namespace

double least_scale(const Node& choose) {
  const bool stated = choose.op->parsed->find("eps") >= 0;
  if (stated && !choose.is_none("eps")) return choose.real("eps");
  if (!stated) return 0x1p-23;
  // torchao's default is the smallest normal number.
  const DType dtype = choose.tensor("input")->dtype();
  return dtype == DType::f16 ? 0x1p-14 : dtype == DType::f64 ? 0x1p-1022 : 0x1p-126;
}

#define QD "quantized_decomposed::"
const OpDef kQuantizedRows[] = {
    {"quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int "
     "quant_max, ScalarType dtype) -> Tensor",
     infer_quantize, nullptr, QD "quantize_per_tensor.out", kElements | kQuantizes,
     Cases("f32[3, 5], 0.1, 0, 0, 255, u8", "f32[4]{special}, 0.1, 0, -128, 127, i8",
           "f32[2, 0], 0.1, 0, -128, 127, i8")},
    {"quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, "
     "int quant_max, ScalarType dtype) -> Tensor",
     infer_quantize, nullptr, QD "quantize_per_tensor.Tensor_out", kElements | kQuantizes,
     Cases("f32[3, 5], f32[]{=0.1}, i64[]{=0}, 0, 255, u8", "f32[3, 5], f32[]{=2}, i64[]{=-1}, -128, 127, i8",
           "f32[3, 5], f32[]{=2}, i64[]{=-1}, -32768, 32767, i16")},
    {"quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int "
     "quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     infer_dequantize, nullptr, QD "dequantize_per_tensor.out", kElements | kDequantizes,
     Cases("u8[3, 5]{index<252}, 0.1, 0, 0, 255, u8", "i8[4]{=-6, 5, 4, 0}, 0.1, 0, -128, 127, i8, out_dtype=f16",
           "i16[3, 5]{range=-834..883}, 0.1, 0, -32768, 32767, i16")},
    {"quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, "
     "int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     infer_dequantize, nullptr, QD "dequantize_per_tensor.Tensor_out", kElements | kDequantizes,
     Cases("u8[3, 5]{index<252}, f32[]{=0.1}, i64[]{=0}, 0, 255, u8",
           "i8[3, 5]{range=-102..123}, f32[]{=2}, i64[]{=-1}, -128, 127, i8",
           "i16[3, 5]{range=-888..882}, f32[]{=2}, i64[]{=-1}, -32768, 32767, i16")},
    {"quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int "
     "quant_min, int quant_max, ScalarType dtype) -> Tensor",
     infer_quantize_channel, decompose_one_scale, QD "quantize_per_channel.out", kElements | kQuantizes,
     Cases("f32[3, 4, 2], f32[3]{range=0.077..0.2}, i64[3]{=1, 4, 3}, 0, 0, 255, u8",
           "f32[3, 4, 2], f32[3]{range=0.017..0.2}, i64[3]{=4, 7, 7}, 0, -128, 127, i8",
           "f32[3, 4, 2], f32[1]{=0.05}, i64[1]{=3}, 1, -128, 127, i8")},
    {"quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int "
     "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     infer_dequantize_channel, decompose_one_scale, QD "dequantize_per_channel.out", kElements | kDequantizes,
     Cases("i8[3, 4], f32[3]{range=0.016..0.2}, None, 0, -127, 127, i8",
           "u8[3, 4, 2]{index<98}, f32[3]{range=0.077..0.2}, i64[3]{=1, 4, 3}, 0, 0, 255, u8",
           "i8[3, 4, 2]{range=-96..96}, f32[3]{range=0.017..0.2}, i64[3]{=4, 7, 7}, 0, -128, 127, i8",
           "i8[3, 4, 2]{range=-96..96}, f32[1]{=0.05}, i64[1]{=3}, -1, -128, 127, i8",
           "i32[3, 4]{range=-96..96}, f64[1]{=0.05}, None, 0, -2147483648, 2147483647, i32")},
    {"quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int "
     "quant_max, ScalarType dtype) -> Tensor",
     infer_quantize, nullptr, QD "quantize_per_token.out", kElements | kQuantizes,
     Cases("f32[3, 8], f32[3, 1]{range=0.023..0.1}, i64[3, 1]{=-3, 1, 3}, -128, 127, i8")},
    {"quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int "
     "quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor",
     infer_dequantize, nullptr, QD "dequantize_per_token.out", kElements | kDequantizes,
     Cases("i8[3, 8], f32[3, 1]{range=0.023..0.1}, i64[3, 1]{=-3, 1, 3}, -128, 127, i8, f32")},
    {"quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType "
     "dtype) -> (Tensor, Tensor)",
     infer_qparams, nullptr, QD "choose_qparams.Tensor_out", kElements,
     Cases("f32[4], 0, 255, 1.1920928955078125e-07, u8", "f32[3, 5], -128, 127, 1.1920928955078125e-07, i8")},
    {"quantized_decomposed::choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, "
     "ScalarType dtype) -> (Tensor, Tensor)",
     infer_qparams, decompose_qparams_symmetric, nullptr, kElements,
     Cases("f32[4], 0, 255, 1.1920928955078125e-07, u8", "f32[3, 5], -128, 127, 1.1920928955078125e-07, i8")},
    {"quantized_decomposed::choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
     infer_qparams_per_token, nullptr, QD "choose_qparams_per_token_asymmetric.out", kElements, Cases("f32[3, 8], i8")},
    {"quantized_decomposed::_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, "
     "Tensor)",
     infer_qparams_per_token, decompose_qparams_per_token, nullptr, kElements, Cases("f32[3, 4], i8")},
    {"aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> "
     "Tensor",
     infer_fake_quantize, decompose_fake_quantize, nullptr, kPointwise | kFakeQuantizes,
     Cases("f32[3, 4], 0.1, 3, 0, 255")},
    {"aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int "
     "quant_min, int quant_max) -> Tensor",
     infer_fake_quantize, decompose_fake_quantize, nullptr, kPointwise | kFakeQuantizes,
     Cases("f32[3, 4], f32[]{=0.1}, i32[]{=3}, 0, 255")},
    {"aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, "
     "int quant_max) -> Tensor",
     infer_fake_quantize, decompose_fake_quantize, nullptr, kFakeQuantizes,
     Cases("f32[3, 4], f32[3]{range=0.1..0.3}, i32[3]{=0, 3, -2}, 0, -128, 127")},
    {"aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int "
     "quant_max) -> (Tensor, Tensor)",
     infer_cachemask, decompose_cachemask, nullptr, kFakeQuantizes, Cases("f32[3, 4], 0.01, 3, 0, 255")},
    {"aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
     "Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor, Tensor)",
     infer_cachemask, decompose_cachemask, nullptr, kFakeQuantizes,
     Cases("f32[3, 4], f32[1]{=0.01}, i32[1]{=3}, i64[1]{=1}, 0, 255",
           "f32[3, 4], f32[1]{=0.01}, i32[1]{=3}, i64[1]{=0}, 0, 255")},
    {"aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int "
     "quant_min, int quant_max) -> (Tensor, Tensor)",
     infer_cachemask, decompose_cachemask, nullptr, kFakeQuantizes,
     Cases("f32[3, 4], f32[3]{range=0.01..0.03}, i32[3]{=0, 3, -2}, 0, -128, 127")},
    {"quantized_decomposed::fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int "
     "quant_min, int quant_max) -> Tensor",
     nullptr, decompose_fake_quant_channel, nullptr, kFakeQuantizes,
     Cases("f32[3, 4], f32[3]{range=0.1..0.3}, i32[3]{=0, 3, -2}, 0, -128, 127")},
    {"quantized_decomposed::quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, "
     "int quant_max, ScalarType dtype, int group_size) -> Tensor",
     infer_quantize, decompose_quantize_group, nullptr, kElements | kQuantizes,
     Cases("f32[2, 8], f32[2, 2]{range=0.1..0.3}, f32[2, 2]{=0}, -8, 7, i8, 4")},
    {"quantized_decomposed::dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int "
     "quant_min, int quant_max, ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor",
     infer_dequantize, decompose_quantize_group, nullptr, kElements | kDequantizes,
     Cases("i8[2, 8], f32[2, 2]{range=0.1..0.3}, i8[2, 2]{=0}, -8, 7, i8, 4, f32")},
    {"quantized_decomposed::embedding_byte(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, "
     "int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
     infer_embedding_byte, nullptr, QD "embedding_byte.out", kElements, Cases()},
    {"quantized_decomposed::embedding_byte.dtype(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, "
     "int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype) -> Tensor",
     infer_embedding_byte, nullptr, QD "embedding_byte.dtype_out", kElements, Cases()},
    {"quantized_decomposed::embedding_4bit(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, "
     "int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
     infer_embedding_4bit, nullptr, QD "embedding_4bit.out", kElements, Cases()},
    {"quantized_decomposed::embedding_4bit.dtype(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, "
     "int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype) -> Tensor",
     infer_embedding_4bit, nullptr, QD "embedding_4bit.dtype_out", kElements, Cases()},
    {"quantized_decomposed::embedding_2bit(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, "
     "int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
     infer_embedding_2bit, nullptr, QD "embedding_2bit.out", kElements, Cases()},
    {"quantized_decomposed::embedding_2bit.dtype(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, "
     "int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype) -> Tensor",
     infer_embedding_2bit, nullptr, QD "embedding_2bit.dtype_out", kElements, Cases()},
    {"torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType "
     "output_dtype, "
     "Scalar? quant_min=None, Scalar? quant_max=None) -> Tensor",
     infer_quantize_affine, decompose_quantize_affine, nullptr, kElements | kQuantizes},
    {"torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType "
     "input_dtype, "
     "Scalar? quant_min=None, Scalar? quant_max=None, ScalarType output_dtype=6) -> Tensor",
     infer_dequantize_affine, decompose_dequantize_affine, nullptr, kElements | kDequantizes},
    {"torchao::choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, "
     "Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, ScalarType? scale_dtype=None, "
     "ScalarType? zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)",
     infer_choose_affine, decompose_choose_affine, nullptr, kElements},
    {"quant::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType "
     "output_dtype, Scalar? quant_min=None, Scalar? quant_max=None, str? zero_point_domain=\"INT\") -> Tensor",
     infer_quantize_affine, decompose_old_quantize, nullptr, kElements | kQuantizes},
    {"quant::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType "
     "input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, str? zero_point_domain=\"INT\", ScalarType "
     "output_dtype=6) -> Tensor",
     infer_dequantize_affine, decompose_old_dequantize, nullptr, kElements | kDequantizes},
    {"quant::choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, "
     "Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, ScalarType? scale_dtype=None, "
     "ScalarType? zero_point_dtype=None, bool preserve_zero=True, str? zero_point_domain=\"INT\", Tensor? "
     "min_val=None, Tensor? max_val=None) -> (Tensor, Tensor)",
     infer_old_choose, decompose_old_choose, nullptr, kElements},
    // Keeps the numbers, but stores them in the quantization of the result's type.
    {"wick::convert(Tensor self) -> Tensor", infer_same, nullptr, nullptr, kNoKernel | ranges::operands},
    // table[element + 128] for each stored int8 element.
    {"wick::lookup(Tensor self, Tensor table) -> Tensor", infer_lookup, decompose_lookup, nullptr, kElements},
};
const size_t kQuantizedCount = std::size(kQuantizedRows);

}  // namespace wick::compiler
