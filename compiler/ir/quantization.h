// Quantization: how the integer elements of a tensor represent real numbers. C++20.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/constant_data.h"
#include "compiler/ir/type.h"

namespace wick::compiler {

/// A list of numbers in the dtype in which the model states them. Its bytes are shared with the constant they come
/// from. A weight in groups has millions of numbers: use range(), which is computed once, or for_each_part().
struct NumberList {
  DType dtype = DType::f64;
  ConstantData data;

  size_t size() const;
  double operator[](size_t index) const;  // exact for the dtypes that numbers of a quantization have
  std::vector<double> all() const;
  /// Their range; the same for all lists that share the bytes.
  const NumberFacts& range() const { return data.number_facts(dtype); }
  bool are_all(double number) const;
  /// Visits all numbers in order, in parts of any size, until `visit` returns false.
  void for_each_part(const std::function<bool(Span<const double>)>& visit) const;
  static NumberList of(DType dtype, const std::vector<double>& numbers);
  /// `count` times the same number, which takes no memory.
  static NumberList repeat(DType dtype, double number, size_t count);
  /// True for f16, bf16, f32, f64, u8 and the signed integers.
  static bool can_hold(DType dtype);
};

/// Scales and zero points that each quantization computes at run time, from the least and the largest number of each
/// block.
struct ChosenAtRunTime {
  bool symmetric = false;  // the zero points are 0
  double least_scale = 0;  // lower bound of the scales
  friend bool operator==(const ChosenAtRunTime&, const ChosenAtRunTime&) = default;
};

/// real = (element - zero_point) * scale, where scale and zero point are those of the element's block.
///
/// Block (i[0] / blocks[0], i[1] / blocks[1], ..), counted in row-major order, holds element i. If the blocks are whole
/// in all dimensions, the tensor has one scale. If they have size 1 in one dimension and are whole in the others, each
/// channel has one.
struct Quantization {
  /// The library whose operators convert. They round differently only if the scales have another dtype than the
  /// numbers.
  enum class Family : uint8_t { decomposed, affine };  // quantized_decomposed, torchao

  DType real = DType::f32;                    // dtype of the numbers that the elements represent
  int64_t quant_min = -128, quant_max = 127;  // range of the elements that quantizing gives
  std::vector<int64_t> blocks;                // size of a block in each dimension; 0 = whole
  NumberList scales, zero_points;             // one for each block; with `at_run_time`, only their dtypes count
  std::optional<ChosenAtRunTime> at_run_time;
  Family family = Family::decomposed;

  bool is_per_tensor() const;
  /// The dimension in which blocks have size 1, if they are whole in all others.
  std::optional<size_t> channel_dim() const;
  /// `blocks` with the size of the dimension in place of 0.
  std::vector<int64_t> block_sizes(const std::vector<int64_t>& sizes) const;
};

/// How many blocks a tensor of these sizes has; nothing if a block does not divide its dimension.
std::optional<int64_t> count_blocks(const Sizes& sizes, const std::vector<int64_t>& blocks);

/// Whether equal elements represent equal numbers. Ranges, dtypes of parameters and families may differ.
bool same_numbers(const Quantization& a, const Quantization& b);
/// The same in every respect; parameters by their bytes.
bool operator==(const Quantization& a, const Quantization& b);

/// Why a tensor of this dtype and these sizes cannot have its quantization, or "". Requires integer elements, a range
/// within their own, blocks that divide sizes known at compile time, one parameter for each block, finite positive
/// scales, finite zero points.
std::string refuse_quantization(const TensorType& type);

/// "q(scale=0.5, zero=3)": what differs from the usual, in this order: the dtype of the numbers, the range, the family,
/// blocks, what is chosen at run time, scales, zero points. `max_numbers` as in to_text(Type).
std::string to_text(const TensorType& type, const Quantization& quantization, size_t max_numbers = kFewNumbers);

/// Sets `low` and `high` to the range of an integer dtype; false for other dtypes.
bool integer_range(DType dtype, int64_t* low, int64_t* high);

}  // namespace wick::compiler
