// Comparisons of elements on two scales as comparisons of whole multiples of them. C++20.
#pragma once
#include <optional>
#include <string_view>

#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

/// (a - zero of a) * of_a and (b - zero of b) * of_b, which fit 32 bits, compare as the numbers that elements stand
/// for. f32 rounds numbers to equal ones where they differ by less than 2^-23 of their size.
struct Multiples {
  int64_t of_a = 1, of_b = 1;
};

/// Of all elements of int8 and int16; those with which the fewest pairs compare otherwise than in f32. Nothing: a scale
/// is 0 in f32.
std::optional<Multiples> multiples_to_compare(std::string_view op, const compiler::Value& a, const compiler::Value& b);

}  // namespace wick::cortex_m
