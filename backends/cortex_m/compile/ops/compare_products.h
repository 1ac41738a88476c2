// Compares elements on two scales by comparing integer multiples of them. C++20.
#pragma once
#include <optional>
#include <string_view>

#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

/// (a - zero of a) * of_a and (b - zero of b) * of_b, which fit 32 bits, compare as the numbers that a and b stand for.
/// F32 rounds two numbers to the same one if they differ by less than 2^-23 of their magnitude.
struct Multiples {
  int64_t of_a = 1, of_b = 1;
};

/// The multiples with which the fewest pairs of elements compare differently from f32; elements are int8 or int16.
/// Nullopt: a scale is 0 in f32.
std::optional<Multiples> multiples_to_compare(std::string_view op, const compiler::Value& a, const compiler::Value& b);

}  // namespace wick::cortex_m
