// How the elements of a tensor stand for real numbers. C++20.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/constant_data.h"
#include "compiler/ir/type.h"

namespace wick::compiler {

/// A list of numbers in the dtype in which the model states them. Its bytes are shared with the constant they come
/// from. A weight in groups has millions of them: ask `range`, which is found once, or read `for_each_part`.
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
  /// Floats, and integers of up to 64 bits.
  static bool can_hold(DType dtype);
};

/// Scales and zero points that are computed from the numbers whenever they are quantized: from the least and the
/// largest one of each block.
struct ChosenAtRunTime {
  bool symmetric = false;  // the zero points are 0
  double least_scale = 0;  // what no scale is below
  friend bool operator==(const ChosenAtRunTime&, const ChosenAtRunTime&) = default;
};

/// real = (element - zero_point) * scale, where scale and zero point are those of the element's block.
///
/// Block (i[0] / blocks[0], i[1] / blocks[1], ..), counted in row-major order, holds element i. All dimensions whole is
/// one scale for the tensor; 1 in one dimension and the others whole is one for each channel.
struct Quantization {
  /// Whose operators convert. They round alike, but for scales of other dtypes than the real numbers.
  enum class Family : uint8_t { decomposed, affine };  // quantized_decomposed, torchao

  DType real = DType::f32;                    // of the numbers that the elements stand for
  int64_t quant_min = -128, quant_max = 127;  // elements that quantizing gives
  std::vector<int64_t> blocks;                // for each dimension; 0 = whole
  NumberList scales, zero_points;             // by block; `at_run_time`: only their dtypes
  std::optional<ChosenAtRunTime> at_run_time;
  Family family = Family::decomposed;

  bool is_per_tensor() const;
  /// The one dimension in which blocks have size 1, where the others are whole.
  std::optional<size_t> channel_dim() const;
  /// Blocks with sizes in place of "whole".
  std::vector<int64_t> block_sizes(const std::vector<int64_t>& sizes) const;
};

/// How many blocks a tensor of these sizes has; nothing if a block does not divide its dimension.
std::optional<int64_t> count_blocks(const Sizes& sizes, const std::vector<int64_t>& blocks);

/// Do elements stand for the same numbers? Ranges, dtypes of parameters and families may differ.
bool same_numbers(const Quantization& a, const Quantization& b);
/// The same in every respect; parameters by their bytes.
bool operator==(const Quantization& a, const Quantization& b);

/// Why a tensor of this dtype and these sizes cannot be quantized so, or "": integers, a range inside their own, blocks
/// that divide sizes known at compile time, one parameter for each block, finite positive scales, finite zero points.
std::string refuse_quantization(const TensorType& type);

/// "q(scale=0.5, zero=3)": what differs from the usual, in this order: the dtype of the numbers, the range, the family,
/// blocks, what is chosen at run time, scales, zero points. `max_numbers` as in to_text(Type).
std::string to_text(const TensorType& type, const Quantization& quantization, size_t max_numbers = kFewNumbers);

/// The elements that an integer dtype has; false for other dtypes.
bool integer_range(DType dtype, int64_t* low, int64_t* high);

}  // namespace wick::compiler
