// Quantization as nodes of the graph state it, and which operators are computed on int8. C++20.
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

/// What a node that quantizes to (dequantizes) int8 with one scale, known at compile time, does; nothing for other
/// nodes.
std::optional<Affine> static_quantize(const compiler::Node& node);
std::optional<Affine> static_dequantize(const compiler::Node& node);

/// A constant of integers that a node turns into floats. Element i belongs to the block with the number
/// (i[0] / blocks[0], i[1] / blocks[1], ..) in row-major order.
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
  /// Says one scale for all once for each index of dimension 0: the same numbers.
  void repeat_by_channel();
  /// Each row of a matrix has one scale: the groups are whole rows, or those of a row have equal scales.
  bool has_scale_by_row() const;
  std::vector<double> row_scales() const;  // requires has_scale_by_row
};
/// True for nodes that dequantize a constant.
bool dequantizes_constant(const compiler::Node& node);
/// Nothing for other nodes, and for those with parameters that make no sense or are known only at run time.
std::optional<QuantizedConstant> quantized_constant(const compiler::Node& node);
/// Scales of groups as the payload has them: bf16, positive and normal. Each f32 scale is exactly the sum of its
/// elements in all parts, of which there are as few as possible: one to three. Requires: scales of 2^-100 and more, or
/// that bf16 can hold.
std::vector<std::vector<uint16_t>> group_scales(const std::vector<double>& scales);
/// In one part, each to the nearest bf16.
std::vector<std::vector<uint16_t>> rounded_group_scales(const std::vector<double>& scales);
/// Does option group-scales round scales of the weight of this node, a linear that is taken? A sentence, or "".
std::string rounding_of_scales(const compiler::Node& node, const compiler::TargetOptions& options);
/// What the node gives, row-major.
std::vector<float> dequantized(const QuantizedConstant& constant);

using DynamicChain = compiler::QuantizationChain;
/// The chain a node is part of, where it covers -128 .. 127. The library has parameters for each row, or each image of
/// a convolution; where the chain has one pair for the tensor, stock ExecuTorch computes so too. Zero points are its
/// own where the chain has none.
std::optional<DynamicChain> dynamic_chain(const compiler::Node& node);
/// Whether nothing but products on int8 reads what the chain computes.
compiler::Verdict whole_chain(const DynamicChain& chain, const compiler::TargetOptions& options);

/// Is the node a product whose input is quantized at run time?
bool is_dynamic_product(const compiler::Node& node);
/// Is the node a linear of floats whose weight is int8 with a scale for each row? The library multiplies the integers
/// and scales the sums.
bool keeps_integer_weights(const compiler::Node& node);
/// The quantization of the result of a node that is computed on int8: each operand comes from a static_dequantize, the
/// result goes to a static_quantize only, at most through a clamp that the operator does itself. Nothing for others.
std::optional<Affine> static_int8(const compiler::Node& node);

}  // namespace wick::xnnpack
