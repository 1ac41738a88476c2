// Tables with straight lines between their elements, for functions of one int16 element. C++20.
#pragma once
#include <cstddef>
#include <vector>

#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

inline constexpr size_t kInt16Elements = 65536;  // -32768 .. 32767

// `numbers`: what the function gives for all of them, from the least on. Tables hold elements of `q`. Empty: none is
// within one step of the function.

/// Of lookup_int16, with the fewest elements that are enough.
std::vector<int32_t> int16_table(const std::vector<double>& numbers, const Affine& q);
/// The table of lookup_int16 for elements of int8 (`numbers`: the function of all of them) that are int16 with
/// kStepsOfInt8 steps for each of theirs: the element at each of them is that of the function, which may be infinite,
/// or not a number, which is the zero point.
inline constexpr int kStepsOfInt8 = 128;
std::vector<int32_t> int8_table(const std::vector<double>& numbers, int32_t zero, const Affine& q);
/// Of graded_lookup_int16. Functions may be infinite, and not a number, which is the zero point.
std::vector<int32_t> graded_int16_table(const std::vector<double>& numbers, const Affine& q);

/// A table of lookup_int16 for the element that is `first` above the least, and those behind it.
struct LinePiece {
  size_t first = 0;
  std::vector<int32_t> table;
};
/// Several of them, the first one from the least element on.
std::vector<LinePiece> line_pieces(const std::vector<double>& numbers, const Affine& q);

}  // namespace wick::cortex_m
