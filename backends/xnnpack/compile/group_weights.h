// Weights with a scale for each group of a row, as the library has them: 4-bit elements and bf16 scales. C++20.
#pragma once
#include <stdint.h>

#include <vector>

namespace wick::xnnpack {

/// Group scales as the payload holds them: bf16, positive and normal. Each f32 scale is exactly the sum of its elements
/// in all parts. There are as few parts as possible: one to three. Requires: scales of at least kLeastGroupScale, or
/// that bf16 can hold.
std::vector<std::vector<uint16_t>> group_scales(const std::vector<double>& scales);
/// As group_scales, in one part, each scale rounded to the nearest bf16.
std::vector<std::vector<uint16_t>> rounded_group_scales(const std::vector<double>& scales);
/// Below it, what bf16 leaves of a scale may not be a normal number.
inline constexpr double kLeastGroupScale = 0x1p-100;

/// One digit, -8 .. 7, of each element.
struct DigitPlane {
  double factor = 1;  // a power of two
  std::vector<int8_t> digits;
};
/// Elements in -128 .. 127 as sums of factor * digit: one to three planes, each with other digits. Requires: at least
/// two elements.
std::vector<DigitPlane> digit_planes(const std::vector<int8_t>& elements);

}  // namespace wick::xnnpack
