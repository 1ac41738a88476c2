// Tables with linear interpolation between their entries, for functions of one int16 element. C++20.
#pragma once
#include <cstddef>
#include <vector>

#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

inline constexpr size_t kInt16Elements = 65536;  // -32768 .. 32767

// `numbers`: the function's results for all elements, least element first. Entries have the scale of `q`. Empty: no
// table is within one step of the function.

/// The smallest table of lookup_int16 that is accurate enough.
std::vector<int32_t> int16_table(const std::vector<double>& numbers, const Affine& q);
/// The table of lookup_int16 for int8 elements that are stored as int16, kStepsOfInt8 steps for each step of int8.
/// `numbers`: the function's results for all int8 elements. The table is exact for each of these. The function may be
/// infinite, or NaN, which becomes the zero point.
inline constexpr int kStepsOfInt8 = 128;
std::vector<int32_t> int8_table(const std::vector<double>& numbers, int32_t zero, const Affine& q);
/// The table of graded_lookup_int16. The function may be infinite, or NaN, which becomes the zero point.
std::vector<int32_t> graded_int16_table(const std::vector<double>& numbers, const Affine& q);

/// A table of lookup_int16 for a range of elements; it begins at the element `first` above the least.
struct LinePiece {
  size_t first = 0;
  std::vector<int32_t> table;
};
/// The pieces of the whole function; the first one begins at the least element.
std::vector<LinePiece> line_pieces(const std::vector<double>& numbers, const Affine& q);

}  // namespace wick::cortex_m
