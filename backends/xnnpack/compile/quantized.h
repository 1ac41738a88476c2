// Quantization as the graph's nodes state it, and which operators are computed on int8. C++20.
#pragma once
#include <optional>
#include <vector>

#include "backends/xnnpack/compile/ops/op_rules.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::xnnpack {

/// real = (element - zero_point) * scale, int8.
struct Affine {
  double scale = 1;
  int32_t zero_point = 0;
  friend bool operator==(const Affine&, const Affine&) = default;
};

/// The parameters of a node that quantizes to, or dequantizes from, int8 with one scale, if they are known at compile
/// time. Empty for other nodes.
std::optional<Affine> static_quantize(const compiler::Node& node);
std::optional<Affine> static_dequantize(const compiler::Node& node);

/// A constant of integers that a node converts to floats. Element i belongs to block number (i[0] / blocks[0], i[1] /
/// blocks[1], ..) in row-major order.
struct QuantizedConstant {
  const compiler::Value* elements = nullptr;  // i8
  std::vector<int64_t> sizes, blocks;
  std::vector<double> scales;       // by block
  std::vector<double> zero_points;  // by block
  int64_t quant_min = 0, quant_max = 0;

  bool is_symmetric() const;  // all zero points are 0
  bool is_4_bit() const { return quant_min == -8 && quant_max == 7; }
  /// Each index of dimension `dim` has one scale.
  bool is_per_channel(size_t dim) const;
  bool is_per_tensor() const { return blocks == sizes; }
  /// Repeats a single scale for each index of dimension 0. The numbers stay the same.
  void repeat_by_channel();
  /// Each row of a matrix has one scale: the groups are whole rows, or those of a row have equal scales.
  bool has_scale_by_row() const;
  std::vector<double> row_scales() const;  // requires has_scale_by_row
};
/// True for nodes that dequantize a constant.
bool dequantizes_constant(const compiler::Node& node);
/// Empty for other nodes, and for parameters that are invalid or known only at run time.
std::optional<QuantizedConstant> quantized_constant(const compiler::Node& node);
/// Group scales as the payload holds them: bf16, positive and normal. Each f32 scale is exactly the sum of its elements
/// in all parts. There are as few parts as possible: one to three. Requires: scales of at least 2^-100, or that bf16
/// can hold.
std::vector<std::vector<uint16_t>> group_scales(const std::vector<double>& scales);
/// As group_scales, in one part, each scale rounded to the nearest bf16.
std::vector<std::vector<uint16_t>> rounded_group_scales(const std::vector<double>& scales);
/// Says, in a sentence, that option group-scales rounds scales of this node's weight; the node is a linear that is
/// taken. "" otherwise.
std::string rounding_of_scales(const compiler::Node& node, const compiler::TargetOptions& options);
/// What the node gives, row-major.
std::vector<float> dequantized(const QuantizedConstant& constant);

using DynamicChain = compiler::QuantizationChain;
/// The chain that a node is part of, if it covers -128 .. 127. The library has parameters for each row, or for each
/// image of a convolution. If the chain has one pair for the tensor, stock ExecuTorch also computes it by rows. If the
/// chain has no zero points, the library chooses its own.
std::optional<DynamicChain> dynamic_chain(const compiler::Node& node);
/// Whether only int8 matmuls and convolutions read what the chain computes.
compiler::Verdict whole_chain(const DynamicChain& chain, const compiler::TargetOptions& options);

/// Whether the node is a matmul or convolution whose input is quantized at run time.
bool is_dynamic_product(const compiler::Node& node);
/// Whether the node is a float linear whose weight is int8 with one scale per row. The library multiplies the integers
/// and scales the sums.
bool keeps_integer_weights(const compiler::Node& node);
/// The quantization of the result of a node that is computed on int8: each operand comes from a static_dequantize, and
/// only one static_quantize reads the result, at most through a clamp that the operator does itself. Empty for other
/// nodes.
std::optional<Affine> static_int8(const compiler::Node& node);

}  // namespace wick::xnnpack
