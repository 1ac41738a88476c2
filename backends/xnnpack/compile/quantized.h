// Quantization as types state it, and which operators are computed on int8. C++20.
#pragma once
#include <optional>
#include <vector>

#include "backends/xnnpack/compile/ops/op_rules.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::xnnpack {

/// The parameters of int8 elements with one scale, known at compile time, that the library can compute on. Empty for
/// other values.
std::optional<Affine> affine_of(const compiler::Value& value);
/// Whether the elements are quantized with parameters chosen at run time.
bool is_chosen_at_run_time(const compiler::Value& value);

/// A constant of integers that stand for floats. Element i belongs to block number (i[0] / blocks[0], i[1] /
/// blocks[1], ..) in row-major order.
struct QuantizedConstant {
  const compiler::Value* elements = nullptr;  // i8
  std::vector<int64_t> sizes, blocks;
  compiler::NumberList scales, zero_points;  // by block
  int64_t quant_min = 0, quant_max = 0;

  bool is_symmetric() const;  // all zero points are 0
  /// Zero points lie in the range of the elements, which is so narrow that all differences are int8.
  bool has_small_differences() const;
  bool is_4_bit() const { return quant_min == -8 && quant_max == 7; }
  /// Each index of dimension `dim` has one scale.
  bool is_per_channel(size_t dim) const;
  bool is_per_tensor() const { return blocks == sizes; }
  /// Repeats a single scale for each index of dimension 0. The numbers stay the same.
  void repeat_by_channel();
  /// Each row of a matrix has one scale: the groups are whole rows, or those of a row have equal scales.
  bool has_scale_by_row() const;
  compiler::NumberList row_scales() const;  // requires has_scale_by_row
};
/// The constant that `value` is, or is converted from. Empty for other values, and for parameters that the library
/// cannot have or that are known only at run time.
std::optional<QuantizedConstant> quantized_constant(const compiler::Value& value);
/// A constant whose elements are the numbers.
inline bool is_plain_constant(const compiler::Value& value) { return value.is_constant() && !value.is_quantized(); }
/// Says, in a sentence, that option group-scales rounds scales of this node's weight; the node is a linear that is
/// taken. "" otherwise.
std::string rounding_of_scales(const compiler::Node& node, const compiler::TargetContext& context);
/// Says, in a sentence, that the weight of a node that is taken is quantized, but stored as floats. "" otherwise.
std::string widening_of_weight(const compiler::Node& node);
/// The dequantized elements, row-major.
std::vector<float> dequantized(const QuantizedConstant& constant);

/// Whether only int8 matmuls and convolutions read elements whose parameters are chosen at run time. The library has
/// parameters for each row, or for each image of a convolution. If the elements have one pair for the tensor, stock
/// ExecuTorch also computes it by rows. If they have no zero points, the library chooses its own.
compiler::Verdict read_on_int8(const compiler::Value& elements, const compiler::TargetContext& context);

/// Whether the pass fold_quantization may make a node that converts to or from int8, or chooses its parameters, part of
/// types, as far as this backend is concerned.
bool may_fold(const compiler::Node& node, const compiler::TargetContext& context);
/// Why a node that quantizes, dequantizes or chooses parameters has not become part of types. "" for other nodes.
std::string why_not_folded(const compiler::Node& node, const compiler::TargetContext& context);
std::string refuse_elements(const compiler::Value& value);
inline constexpr char kParameters[] =
    "its range is not -128 .. 127, its zero point lies outside, or its scale is not a normal number known at compile "
    "time";

/// Whether the node is a matmul or convolution whose input is quantized at run time.
bool is_dynamic_product(const compiler::Node& node);
/// Whether the node is a float linear whose weight is int8 with one scale per row. The library multiplies the integers
/// and scales the sums.
bool keeps_integer_weights(const compiler::Node& node);
/// The quantization of the result of a node that is computed on int8: result and operands have one, and the rule of its
/// operator fits them. Empty for other nodes.
std::optional<Affine> static_int8(const compiler::Node& node);
/// Why the library does not compute on the quantized operands and results of a node, or "". Not for conversions.
std::string refuse_quantized(const compiler::Node& node, const compiler::TargetContext& context);

// --- conditions of operators (OpRule::on_int8) ---

bool same_scales(const compiler::Node& node, const Int8Scales& scales);
bool fits_sum(const compiler::Node& node, const Int8Scales& scales);
bool fits_product(const compiler::Node& node, const Int8Scales& scales);
bool fits_mean(const compiler::Node& node, const Int8Scales& scales);
bool fits_slice(const compiler::Node& node, const Int8Scales& scales);
/// Weights of 8 bits, symmetric, with one scale or one for each output channel.
bool fits_weights(const compiler::Node& node, const Int8Scales& scales);

}  // namespace wick::xnnpack
