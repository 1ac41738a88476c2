// Weights with a scale for each group of a row, as the library has them: 4-bit elements and bf16 scales. All are
// computed when they are read. C++20.
#pragma once
#include <stdint.h>

#include <vector>

#include "compiler/ir/quantization.h"

namespace wick::xnnpack {

/// Packs i8 elements in -8 .. 7, in `rows` rows, two to a byte: the even column in the low half, 8 added to each. A row
/// with an odd number of columns ends with a zero element.
compiler::ConstantData packed_4_bits(const compiler::ConstantData& elements, size_t rows);

/// Group scales, times a power of two, as the payload holds them: bf16, positive and normal. Each f32 scale is exactly
/// the sum of its elements in all parts. There are as few parts as possible: one to three. Requires: scales of at least
/// kLeastGroupScale, or that bf16 can hold.
std::vector<compiler::ConstantData> group_scales(const compiler::NumberList& scales, double factor = 1);
/// Whether there is more than one part.
bool has_several_parts(const compiler::NumberList& scales);
/// As group_scales, in one part, each scale rounded to the nearest bf16.
std::vector<compiler::ConstantData> rounded_group_scales(const compiler::NumberList& scales, double factor = 1);
/// For smaller scales, the remainder after a bf16 part may be subnormal.
inline constexpr double kLeastGroupScale = 0x1p-100;

/// One digit, -8 .. 7, of each element.
struct DigitPlane {
  double factor = 1;              // a power of two
  compiler::ConstantData digits;  // i8
};
/// i8 elements as sums of factor * digit: one to three planes, no two with the same digits. Requires: at least two
/// elements.
std::vector<DigitPlane> digit_planes(const compiler::ConstantData& elements);

}  // namespace wick::xnnpack
