#include <algorithm>
#include <optional>

#include "compiler/ir/decompose.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::compiler {
namespace {

// --- looking through nodes ---

Value* tensor_operand(const Node& node, size_t index = 0) { return node.tensor_or_null(index); }

const Node* made_by(const Value* value, std::initializer_list<std::string_view> names) {
  const Node* node = value ? value->producer : nullptr;
  return node && is_one_of(*node, names) ? node : nullptr;
}
// The producer of `value` if it is a conversion of this kind that states its blocks; else null.
const Node* converted_by(const Value* value, Conversion wanted) {
  const Node* node = value ? value->producer : nullptr;
  const ConversionForm* form = node ? conversion_of(*node) : nullptr;
  const bool found = form && form->conversion == wanted && form->blocks == ConversionForm::Blocks::stated;
  return found ? node : nullptr;
}
const Node* cast_of(const Value* value) { return made_by(value, {"aten._to_copy.default", "aten.to.dtype"}); }

// The value behind all views of `value`.
Value* unviewed(Value* value) {
  while (const Node* view = made_by(value, {"aten.view.default", "aten.reshape.default"}))
    value = tensor_operand(*view);
  return value;
}
// The value behind the views of `value` that keep its sizes.
Value* same_sizes(Value* value) {
  for (const Node* view; (view = made_by(value, {"aten.view.default", "aten.reshape.default"}));) {
    if (!(tensor_operand(*view)->sizes() == value->sizes())) break;
    value = tensor_operand(*view);
  }
  return value;
}
// The value behind casts of `value` to its own dtype.
Value* plain(Value* value) {
  for (const Node* cast; (cast = cast_of(value)) && tensor_operand(*cast)->dtype() == value->dtype();)
    value = tensor_operand(*cast);
  return value;
}
// The int8 elements behind casts and views. The casts are to dtypes that hold int8 exactly. Null if there are none.
Value* int8_elements(Value* value) {
  for (;;) {
    value = unviewed(value);
    if (value && value->dtype() == DType::i8) return value;
    const Node* cast = cast_of(value);
    if (!cast || value->dtype() == DType::u8 || value->dtype() == DType::boolean) return nullptr;
    value = tensor_operand(*cast);
  }
}
bool is_number(const Arg& arg, double wanted) {
  const auto number = number_of(arg, DType::f64);
  return number && number->is(wanted);
}
bool is_integer_zero(const Arg& arg) {
  Value* value = tensor_or_null(arg);
  while (const Node* cast = cast_of(unviewed(value))) value = tensor_operand(*cast);
  value = unviewed(value);
  if (const Node* fill = made_by(value, {"aten.full_like.default"})) return is_number(fill->arg(1), 0);
  return is_number(value ? Arg(value) : arg, 0);
}
bool plain_alpha(const Node& node) { return is_number(node.arg(2), 1); }

// --- constants that are dequantized ---

bool is_constant(const Value* value, DType dtype) { return value && value->is_constant() && value->dtype() == dtype; }

// Whether `value` is a dequantized constant.
bool dequantizes_constant(Value* value) {
  const Node* node = converted_by(value, Conversion::dequantize);
  return node && tensor_operand(*node)->is_constant();
}

bool is_4_bit(const Value& elements) {
  const auto bytes = elements.data.bytes();
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) {
    const auto element = static_cast<int8_t>(byte);
    return element >= -8 && element <= 7;
  });
}

Value* dequantize(Builder& b, Value* elements, Ints blocks, Arg scale, Arg zero, DType dtype) {
  const bool narrow = elements->is_constant() && elements->rank() == 2 && is_4_bit(*elements);
  return b.call("torchao.dequantize_affine", {elements, std::move(blocks), std::move(scale), std::move(zero), DType::i8,
                                              narrow ? -8 : -128, narrow ? 7 : 127, dtype});
}

// The block sizes of a tensor of `sizes` that is viewed as `split` and scaled by a tensor of sizes `scales`.
std::optional<Ints> blocks_of(const Sizes& sizes, const Sizes& split, const Sizes& scales) {
  if (split.size() != scales.size()) return {};
  Ints blocks;
  size_t at = 0;
  for (const Sym& size : sizes) {
    if (at == split.size()) return {};
    const bool whole = split[at] == size;
    if (whole && (scales[at] == size || scales[at].is(1))) {
      blocks.push_back(scales[at] == size ? Sym(1) : size);
      at += 1;
    } else if (at + 1 < split.size() && split[at] * split[at + 1] == size && scales[at] == split[at] &&
               scales[at + 1].is(1)) {
      blocks.push_back(split[at + 1]);
      at += 2;
    } else {
      return {};
    }
  }
  return at == split.size() ? std::optional(blocks) : std::nullopt;
}

// The constant scales behind views of `value`: of `dtype`, or of 16-bit floats that multiplication by f32 widens. Null
// if there are none.
Value* constant_scales(Value* value, DType dtype) {
  value = unviewed(value);
  const auto widens = [dtype](const Value& v) {
    return dtype == DType::f32 && (v.dtype() == DType::bf16 || v.dtype() == DType::f16);
  };
  if (const Node* cast = cast_of(value); cast && value->dtype() == dtype && widens(*tensor_operand(*cast)))
    value = unviewed(tensor_operand(*cast));
  return value->is_constant() && (value->dtype() == dtype || widens(*value)) ? value : nullptr;
}

// (q - z) * s and q * s of constants
Value* weight(Builder& b, Node& node) {
  if (!node.is("aten.mul.Tensor")) return nullptr;
  Value *left = tensor_operand(node), *scale = tensor_operand(node, 1);
  if (!left || !scale || !(left->sizes() == node.result()->sizes())) return nullptr;
  const DType dtype = node.result()->dtype();
  if ((dtype != DType::f32 && dtype != DType::f16) || left->dtype() != dtype) return nullptr;
  Value* scales = constant_scales(scale, dtype);
  if (!scales) return nullptr;
  Arg zero = None{};
  if (const Node* shifted = made_by(left, {"aten.sub.Tensor"})) {
    Value* zeros = plain_alpha(*shifted) ? tensor_operand(*shifted, 1) : nullptr;
    Value* stored = zeros && zeros->sizes() == scale->sizes() ? int8_elements(zeros) : nullptr;
    if (!is_constant(stored, DType::i8)) return nullptr;
    zero = stored;
    left = tensor_operand(*shifted);
  }
  Value* elements = cast_of(left) ? int8_elements(left) : nullptr;
  if (!is_constant(elements, DType::i8) || !elements->tensor().dim_order.empty()) return nullptr;
  const auto blocks = blocks_of(elements->sizes(), left->sizes(), scale->sizes());
  if (!blocks) return nullptr;
  return b.reshape(dequantize(b, elements, *blocks, scales, zero, dtype), node.result()->sizes());
}

// --- quantization at run time ---

// How the parameters of each row of x were chosen.
struct Chosen {
  Value* x = nullptr;
  Value *low = nullptr, *scale = nullptr;  // of the rows
  bool symmetric = false;
  double epsilon = 0;
};

// Returns x if `value` is min(x, 0) or max(x, 0) of each row; else null.
Value* reach_of(Value* value, std::string_view bound, std::string_view reduce) {
  const Node* zeroed = made_by(value, {bound});
  const Node* reduced =
      zeroed && is_integer_zero(zeroed->arg(1)) ? made_by(tensor_operand(*zeroed), {reduce}) : nullptr;
  if (!reduced) return nullptr;
  Value* x = tensor_operand(*reduced);
  const auto dims = reduced->static_ints("dim");
  if (dims.size() != 1 || x->rank() == 0 || static_cast<size_t>(wrap_dim(dims[0], x->rank())) + 1 != x->rank())
    return nullptr;
  return same_sizes(x);
}

// Whether `value` has one number for each row of `sizes`: the same sizes, but 1 along the last dimension.
bool by_rows(const Value* value, const Sizes& sizes) {
  Sizes wanted = sizes;
  if (wanted.empty()) return false;
  wanted.back() = 1;
  return value && value->sizes() == wanted;
}

std::optional<Chosen> chosen_scale(Value* scale) {
  Chosen out;
  out.scale = unviewed(scale);
  const Node* clamp = made_by(out.scale, {"aten.clamp.default"});
  const auto epsilon = clamp && !clamp->is_none("min") ? number_of(clamp->arg("min"), DType::f64) : std::nullopt;
  const Node* quotient =
      epsilon && clamp->is_none("max") ? made_by(tensor_operand(*clamp), {"aten.div.Tensor"}) : nullptr;
  if (!quotient) return {};
  out.epsilon = epsilon->real;
  const Node* span = made_by(tensor_operand(*quotient), {"aten.sub.Tensor", "aten.maximum.default"});
  if (!span) return {};
  out.symmetric = span->is("aten.maximum.default");
  if (!is_number(quotient->arg(1), out.symmetric ? 127.5 : 255) || (!out.symmetric && !plain_alpha(*span))) return {};
  Value *high = tensor_operand(*span, out.symmetric ? 1 : 0), *low = tensor_operand(*span, out.symmetric ? 0 : 1);
  if (out.symmetric) {
    const Node* negated = made_by(low, {"aten.neg.default"});
    if (!negated) return {};
    low = tensor_operand(*negated);
  }
  out.low = low;
  out.x = reach_of(low, "aten.minimum.default", "aten.amin.default");
  if (!out.x || out.x->dtype() != scale->dtype() || !(low->sizes() == high->sizes()) ||
      out.x != reach_of(high, "aten.maximum.default", "aten.amax.default"))
    return {};
  return out;
}

bool is_clamp(const Node* node, double low, double high) {
  return node && !node->is_none("min") && !node->is_none("max") && is_number(node->arg("min"), low) &&
         is_number(node->arg("max"), high);
}

// Whether `zero` is clamp(-128 - round(low / scale)) as int8, or zeros if the quantization is symmetric.
bool is_chosen_zero(Value* zero, const Chosen& chosen) {
  zero = unviewed(zero);
  if (chosen.symmetric) return is_integer_zero(zero);
  const Node* cast = zero && zero->dtype() == DType::i8 ? cast_of(zero) : nullptr;
  const Node* clamp = cast ? made_by(unviewed(tensor_operand(*cast)), {"aten.clamp.default"}) : nullptr;
  const Node* shifted = is_clamp(clamp, -128, 127) ? made_by(tensor_operand(*clamp), {"aten.sub.Tensor"}) : nullptr;
  const Node* rounded = shifted && plain_alpha(*shifted) && is_number(shifted->arg(0), -128)
                            ? made_by(tensor_operand(*shifted, 1), {"aten.round.default"})
                            : nullptr;
  const Node* quotient = rounded ? made_by(tensor_operand(*rounded), {"aten.div.Tensor"}) : nullptr;
  return quotient && tensor_operand(*quotient) == chosen.low && tensor_operand(*quotient, 1) == chosen.scale;
}

Ints row_blocks(const Value& x) {
  Ints blocks(x.rank(), Sym(1));
  blocks.back() = x.sizes().back();
  return blocks;
}

// clamp(round(x * (1 / s)) + z, -128, 127) as int8
Value* quantized_rows(Builder& b, Node& node) {
  if (!cast_of(node.result()) || node.result()->dtype() != DType::i8) return nullptr;
  const Node* clamp = made_by(unviewed(tensor_operand(node)), {"aten.clamp.default"});
  const Node* sum = is_clamp(clamp, -128, 127) ? made_by(tensor_operand(*clamp), {"aten.add.Tensor"}) : nullptr;
  const Node* rounded = sum && plain_alpha(*sum) ? made_by(tensor_operand(*sum), {"aten.round.default"}) : nullptr;
  const Node* scaled = rounded ? made_by(tensor_operand(*rounded), {"aten.mul.Tensor"}) : nullptr;
  if (!scaled || !tensor_operand(*sum, 1) || !tensor_operand(*scaled, 1)) return nullptr;
  Value* inverse = tensor_operand(*scaled, 1);
  if (!by_rows(inverse, scaled->result()->sizes()) || !by_rows(tensor_operand(*sum, 1), sum->result()->sizes()))
    return nullptr;
  if (const Node* once = made_by(inverse, {"aten.mul.Tensor"}); once && is_number(once->arg(1), 1))
    inverse = tensor_operand(*once);
  const Node* reciprocal = made_by(inverse, {"aten.reciprocal.default"});
  const auto chosen = reciprocal ? chosen_scale(tensor_operand(*reciprocal)) : std::nullopt;
  if (!chosen || same_sizes(tensor_operand(*scaled)) != chosen->x || !is_chosen_zero(tensor_operand(*sum, 1), *chosen))
    return nullptr;
  Value* x = chosen->x;
  if (!(node.result()->sizes() == x->sizes()) || !x->sizes().back().is_const()) return nullptr;
  const auto parameters =
      b.call_multi("torchao.choose_qparams_affine", {x, chosen->symmetric ? "SYMMETRIC" : "ASYMMETRIC", row_blocks(*x),
                                                     DType::i8, -128, 127, chosen->epsilon, None{}, DType::i8, true});
  return b.call("torchao.quantize_affine", {x, row_blocks(*x), parameters[0], parameters[1], DType::i8, -128, 127});
}

// The nodes that quantized `elements` by rows to all of int8.
struct QuantizedRows {
  Node *choose = nullptr, *quantize = nullptr;
  Value* x = nullptr;
  bool symmetric = false;
};
std::optional<QuantizedRows> quantized_rows_of(Value* elements) {
  QuantizedRows out;
  out.quantize = elements ? elements->producer : nullptr;
  if (!converted_by(elements, Conversion::quantize)) return {};
  out.x = tensor_operand(*out.quantize);
  Value* scale = out.quantize->tensor("scale");
  if (!converted_by(scale, Conversion::choose)) return {};
  out.choose = scale->producer;
  out.symmetric = out.choose->string("mapping_type") == "SYMMETRIC";
  const bool known = out.symmetric || out.choose->string("mapping_type") == "ASYMMETRIC";
  for (const Node* node : {out.choose, out.quantize}) {
    if (!known || !(node->ints("block_size") == row_blocks(*out.x)) || !is_number(node->arg("quant_min"), -128) ||
        !is_number(node->arg("quant_max"), 127))
      return {};
  }
  const bool reads = out.choose->tensor("input") == out.x && scale == out.choose->result(0) &&
                     out.quantize->optional_tensor("zero_point") == out.choose->result(1);
  return reads && elements->dtype() == DType::i8 ? std::optional(out) : std::nullopt;
}
bool is_scale_of(Value* value, const QuantizedRows& rows) {
  value = unviewed(plain(unviewed(value)));
  if (value == rows.choose->result(0)) return true;
  const auto chosen = value ? chosen_scale(value) : std::nullopt;
  return chosen && chosen->x == same_sizes(rows.x) && chosen->symmetric == rows.symmetric;
}
bool is_zero_of(Value* value, const QuantizedRows& rows) {
  value = int8_elements(value);
  if (value == rows.choose->result(1)) return true;
  const Node* cast = cast_of(value);
  const Node* clamp = cast ? made_by(unviewed(tensor_operand(*cast)), {"aten.clamp.default"}) : nullptr;
  const Node* shifted = clamp ? made_by(tensor_operand(*clamp), {"aten.sub.Tensor"}) : nullptr;
  const Node* rounded = shifted ? made_by(tensor_operand(*shifted, 1), {"aten.round.default"}) : nullptr;
  const Node* quotient = rounded ? made_by(tensor_operand(*rounded), {"aten.div.Tensor"}) : nullptr;
  const auto chosen = quotient ? chosen_scale(tensor_operand(*quotient, 1)) : std::nullopt;
  return chosen && chosen->x == same_sizes(rows.x) && !rows.symmetric && is_chosen_zero(value, *chosen);
}
Value* dequantized_rows(Builder& b, const QuantizedRows& rows) {
  return dequantize(b, rows.quantize->result(), row_blocks(*rows.x), rows.choose->result(0), rows.choose->result(1),
                    rows.x->dtype());
}

// (q - z) * s of rows quantized at run time
Value* rows_again(Builder& b, Node& node) {
  if (!node.is("aten.mul.Tensor")) return nullptr;
  const Node* shifted = made_by(tensor_operand(node), {"aten.sub.Tensor"});
  if (!shifted || !plain_alpha(*shifted) || !tensor_operand(*shifted, 1) || !tensor_operand(node, 1)) return nullptr;
  const auto rows = quantized_rows_of(int8_elements(tensor_operand(*shifted)));
  if (!rows || node.result()->dtype() != rows->x->dtype() || !(node.result()->sizes() == rows->x->sizes()))
    return nullptr;
  if (!by_rows(tensor_operand(*shifted, 1), rows->x->sizes()) || !by_rows(tensor_operand(node, 1), rows->x->sizes()))
    return nullptr;
  if (!is_zero_of(tensor_operand(*shifted, 1), *rows) || !is_scale_of(tensor_operand(node, 1), *rows)) return nullptr;
  return dequantized_rows(b, *rows);
}

// --- matmuls ---

// The constant [n, k] of which `value` is the transpose.
Value* transposed(Value* value) {
  const Node* node = value->producer;
  if (!node || !node->op->has(kPermutes) || value->rank() != 2 || !tensor_operand(*node)) return nullptr;
  if (node->is(Movement::permute) && node->static_ints("dims")[0] % 2 == 0) return nullptr;
  return tensor_operand(*node);
}

struct Int8Gemm {
  Value *rows = nullptr, *weight = nullptr;  // int8; the weight a constant [n, k]
};

// The int8 elements behind uint8 elements that are int8 plus 128; else null.
Value* shifted_rows(Value* value) {
  const Node* cast = value && value->dtype() == DType::u8 ? cast_of(value) : nullptr;
  const Node* sum = cast ? made_by(tensor_operand(*cast), {"aten.add.Tensor", "aten.add.Scalar"}) : nullptr;
  return sum && is_number(sum->arg(1), 128) && plain_alpha(*sum) ? int8_elements(tensor_operand(*sum)) : nullptr;
}

// Matches rows x weight^T in int32. torchao's form for CPUs multiplies unsigned rows and subtracts 128 times the sums
// of the weight's rows.
std::optional<Int8Gemm> int8_gemm(Value* value) {
  const Node* difference = made_by(value, {"aten.sub.Tensor"});
  const Node* mm = made_by(difference ? tensor_operand(*difference) : value, {"aten._int_mm.default"});
  if (!mm) return {};
  Int8Gemm out{nullptr, transposed(tensor_operand(*mm, 1))};
  if (!is_constant(out.weight, DType::i8)) return {};
  if (!difference) {
    out.rows = unviewed(tensor_operand(*mm));
    return out.rows->dtype() == DType::i8 ? std::optional(out) : std::nullopt;
  }
  out.rows = shifted_rows(tensor_operand(*mm));
  const Node* times = made_by(tensor_operand(*difference, 1), {"aten.mul.Tensor", "aten.mul.Scalar"});
  const Node* sum =
      times && is_number(times->arg(1), 128) ? made_by(tensor_operand(*times), {"aten.sum.dim_IntList"}) : nullptr;
  if (!out.rows || !sum || !plain_alpha(*difference) || transposed(tensor_operand(*sum)) != out.weight) return {};
  const auto dims = sum->static_ints("dim");
  return dims.size() == 1 && wrap_dim(dims[0], 2) == 0 && sum->boolean("keepdim") ? std::optional(out) : std::nullopt;
}

// Whether `value` is zero * scale * (sums of the weight's rows), which the zero points of the rows add to a matmul.
bool is_correction(Value* value, const Int8Gemm& gemm, const QuantizedRows& rows) {
  const Node* times = made_by(plain(value), {"aten.mul.Tensor"});
  const Node* zeros = times ? made_by(tensor_operand(*times), {"aten.mul.Tensor"}) : nullptr;
  if (!zeros || !by_rows(tensor_operand(*zeros), tensor_operand(*zeros)->sizes()) ||
      !by_rows(tensor_operand(*zeros, 1), tensor_operand(*zeros)->sizes()))
    return false;
  if (!is_zero_of(tensor_operand(*zeros), rows) || !is_scale_of(tensor_operand(*zeros, 1), rows)) return false;
  const Node* cast = cast_of(tensor_operand(*times, 1));
  const Node* sum = cast ? made_by(tensor_operand(*cast), {"aten.sum.dim_IntList"}) : nullptr;
  if (!sum || tensor_operand(*sum) != gemm.weight) return false;
  const auto dims = sum->static_ints("dim");
  return dims.size() == 1 && wrap_dim(dims[0], 2) == 1;
}

Value* scales_of(const Value& shown) { return unviewed(plain(const_cast<Value*>(&shown))); }

// The blocks of the weight's scales: one scale for each of its rows, which are the columns of the result, or one for
// all.
std::optional<Ints> row_scales(const Value& shown, const Value& weight) {
  Value* scale = scales_of(shown);
  if (!is_constant(scale, DType::f32)) return {};
  const size_t count = scale->data.size_bytes() / sizeof(float);
  const Sizes& sizes = weight.sizes();
  const bool by_columns = shown.rank() > 0 && shown.sizes().back() == sizes[0];
  if (by_columns && sizes[0].is(static_cast<int64_t>(count))) return Ints{1, sizes[1]};
  return count == 1 ? std::optional(Ints(sizes)) : std::nullopt;
}

// A linear layer as the [m, n] result of `node`. Its input may have more dimensions.
Value* linear(Builder& b, const Node& node, Value* x, Value* weight, Arg bias) {
  return b.reshape(b.call("aten.linear", {x, weight, std::move(bias)}), node.result()->sizes());
}

// (acc * s) * scales
Value* quantized_matmul(Builder& b, Node& node) {
  if (!node.is("aten.mul.Tensor") || node.result()->dtype() != DType::f32 || !tensor_operand(node, 1)) return nullptr;
  Value* rest = plain(tensor_operand(node));
  const Node* difference = made_by(rest, {"aten.sub.Tensor"});
  const Node* scaled = made_by(difference ? plain(tensor_operand(*difference)) : rest, {"aten.mul.Tensor"});
  const Node* cast = scaled ? cast_of(tensor_operand(*scaled)) : nullptr;
  const auto gemm = cast && tensor_operand(*scaled, 1) ? int8_gemm(tensor_operand(*cast)) : std::nullopt;
  const auto rows = gemm ? quantized_rows_of(gemm->rows) : std::nullopt;
  if (!rows || !by_rows(tensor_operand(*scaled, 1), scaled->result()->sizes()) ||
      !is_scale_of(tensor_operand(*scaled, 1), *rows) || rows->x->dtype() != DType::f32)
    return nullptr;
  if (rows->symmetric == (difference != nullptr)) return nullptr;
  if (difference && (!plain_alpha(*difference) || !is_correction(tensor_operand(*difference, 1), *gemm, *rows)))
    return nullptr;
  const auto blocks = row_scales(*tensor_operand(node, 1), *gemm->weight);
  if (!blocks) return nullptr;
  Value* weight = dequantize(b, gemm->weight, *blocks, scales_of(*tensor_operand(node, 1)), None{}, DType::f32);
  return linear(b, node, dequantized_rows(b, *rows), weight, None{});
}

// (x W^T) * scales with W as integers
Value* scaled_matmul(Builder& b, Node& node) {
  if (!node.is("aten.mul.Tensor") || node.result()->dtype() != DType::f32 || !tensor_operand(node, 1)) return nullptr;
  const Node* mm = made_by(plain(tensor_operand(node)), {"aten.mm.default"});
  const Node* cast = mm ? cast_of(tensor_operand(*mm, 1)) : nullptr;
  Value* weight = cast ? transposed(tensor_operand(*cast)) : nullptr;
  if (!is_constant(weight, DType::i8) || tensor_operand(*mm)->dtype() != DType::f32) return nullptr;
  const auto blocks = row_scales(*tensor_operand(node, 1), *weight);
  if (!blocks || !(node.result()->sizes() == mm->result()->sizes())) return nullptr;
  Value* scales = scales_of(*tensor_operand(node, 1));
  return linear(b, node, tensor_operand(*mm), dequantize(b, weight, *blocks, scales, None{}, DType::f32), None{});
}

// mm and addmm whose weight is a dequantized constant
Value* matmul_as_linear(Builder& b, Node& node) {
  const bool summed = node.is("aten.addmm.default");
  if (!summed && !node.is("aten.mm.default")) return nullptr;
  if (summed && (!is_number(node.arg("beta"), 1) || !is_number(node.arg("alpha"), 1))) return nullptr;
  Value *x = tensor_operand(node, summed ? 1 : 0), *weight = transposed(tensor_operand(node, summed ? 2 : 1));
  if (weight && !dequantizes_constant(weight)) weight = unviewed(weight);
  if (!weight || !dequantizes_constant(weight) || weight->rank() != 2 || !(weight->sizes()[1] == x->sizes()[1]))
    return nullptr;
  Value* bias = summed ? tensor_operand(node) : nullptr;
  if (bias && (bias->rank() != 1 || !(bias->sizes()[0] == weight->sizes()[0]))) return nullptr;
  Value* rows = unviewed(x);
  const bool quantized =
      converted_by(rows, Conversion::dequantize) && rows->rank() > 0 && rows->sizes().back() == x->sizes().back();
  return linear(b, node, quantized ? rows : x, weight, bias ? Arg(bias) : Arg(None{}));
}

// linear(x, W) + bias
Value* bias_of_matmul(Builder& b, Node& node) {
  if (!node.is("aten.add.Tensor") || !plain_alpha(node)) return nullptr;
  Value *sum = tensor_operand(node), *bias = plain(tensor_operand(node, 1));
  const Node* layer = made_by(unviewed(sum), {"aten.linear.default"});
  if (!layer || !bias || !bias->is_constant() || bias->rank() != 1 || layer->optional_tensor("bias")) return nullptr;
  const Value* result = layer->result();
  Value* weight = layer->tensor("weight");
  const bool fits = dequantizes_constant(weight) && bias->sizes()[0] == weight->sizes()[0] &&
                    sum->sizes().back() == bias->sizes()[0] && bias->dtype() == result->dtype() &&
                    node.result()->sizes() == sum->sizes() && result->num_uses() == 1 && sum->num_uses() == 1;
  return fits ? linear(b, node, tensor_operand(*layer), weight, bias) : nullptr;
}

// Replaces operators by their current names, and erases nodes that only assert dtypes, which are known.
Changed tidy(Graph& graph) {
  std::vector<Node*> old;
  for (const auto& node : graph.nodes()) {
    const bool asserts = node->is("aten._assert_tensor_metadata.default") && node->is_none("size");
    if (asserts || node->op->name().starts_with("quant.")) old.push_back(node.get());
  }
  for (Node* node : old) {
    if (node->results().empty())
      graph.erase(node);
    else
      decompose_node(graph, node, [](const Node&) { return true; });
  }
  return Changed(!old.empty());
}

// --- numbers that are only rounded to elements ---

// Whether `quantize` stays: the target takes the conversion to its elements, or floats would not keep NaN as required.
bool takes_elements(Graph& graph, Node& quantize, const PipelineOptions& options) {
  const auto stated = stated_quantization(quantize);
  if (options.strict_nan || !options.takes || !stated || options.takes(quantize)) return true;
  Node* convert = graph.add_node(op("wick.convert.default"), {quantize.arg(0)}, 1, &quantize, "probe");
  convert->result()->type = quantize.result()->type;
  convert->result()->type.tensor.quantization = stated;
  const bool takes = options.takes(*convert);
  graph.erase(convert);
  return takes;
}

// (clamp(round(x / scale) + zero, low, high) - zero) * scale in floats
Value* rounded_floats(Builder& b, Node& quantize) {
  const auto stated = stated_quantization(quantize);
  const double scale = stated->scales[0], zero = stated->zero_points[0];
  const double inverse = static_cast<double>(1.0f / static_cast<float>(scale));
  Value* steps = b.call("aten.round", {b.call("aten.mul.Scalar", {quantize.arg(0), inverse})});
  steps = b.call("aten.clamp", {b.call("aten.add.Scalar", {steps, zero}), static_cast<double>(stated->quant_min),
                                static_cast<double>(stated->quant_max)});
  return b.call("aten.mul.Scalar", {b.call("aten.sub.Scalar", {steps, zero}), scale});
}

// The quantize node behind `y`, which is dequantized or a select with such a value. Null: there is none.
Node* quantize_behind(const Value& y) {
  const Node* node = y.producer;
  if (node && node->is("aten.where.self")) node = node->tensor("other")->producer;
  const bool back = node && node->is("quantized_decomposed.dequantize_per_tensor.default");
  return back ? tensor_operand(*node)->producer : nullptr;
}

// Decomposes fake_quantize to quantize and dequantize, or to floats if the target does not take such elements.
Changed fake_elements(Graph& graph, const PipelineOptions& options) {
  bool changed = false;
  for (Node* node : graph.node_list()) {
    if (!node->op->has(kFakeQuantizes)) continue;
    changed = true;
    const auto keep = [](const Node& part) { return part.op->has(kQuantizes | kDequantizes); };
    Node* quantize = quantize_behind(*decompose_node(graph, node, keep)[0]);
    if (!quantize || tensor_operand(*quantize)->is_constant() || takes_elements(graph, *quantize, options)) continue;
    Node* back = quantize->result()->users().front();
    Builder b(graph, quantize, back->origin);
    graph.replace(back->result(), rounded_floats(b, *quantize));
    erase_unread(graph, {back});
  }
  return Changed(changed);
}

constexpr Rule kQuantizationRules[] = {weight,        quantized_rows,   rows_again,    quantized_matmul,
                                       scaled_matmul, matmul_as_linear, bias_of_matmul};

}  // namespace

// Recognises quantized weights, rows quantized at run time and matmuls of both, where the file holds them decomposed:
// torchao's operators after run_decompositions(), and its int8 matmuls.
//   before: w = (q - z) * s of constants                     after: w = dequantize_affine(q, s, z)
//           q = clamp(round(x / s) + z, -128, 127), s and z from the rows of x
//                                                            after: q = quantize_affine(x, choose_qparams_affine(x))
//           y = _int_mm(q, w^T) * s * scales + bias          after: y = linear(dequantize(q), dequantize(w), bias)
//           y = mm(x, w^T) * scales, w of int8               after: y = linear(x, dequantize(w))
// Runs for backends that take these operators whole.
//           y = fake_quantize(x, s, z, low, high)            after: y = dequantize(quantize(x, s, z), s, z)
// The last is computed in floats if the backend does not take the conversion of computed numbers to its elements.
// Keeps: every finite value, up to the rounding of a matmul: where no backend takes them, sums of int8 products are
// computed in float.
Result<Changed> recognize_quantization(Graph& graph, const PipelineOptions& options) {
  return for_each_graph(graph, [&](Graph& g) {
    return tidy(g) | fake_elements(g, options) | rewrite_nodes(g, Span<const Rule>(kQuantizationRules));
  });
}

}  // namespace wick::compiler
