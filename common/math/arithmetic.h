// Exact arithmetic: greatest common divisors, neighbours of a float, exponents, quotients rounded down. Generated
// kernels include its text as well. C++17, freestanding.
#pragma once
#include "common/float16.h"
#include "common/math/float_math.h"

namespace wick::math {

/// Python's a // b. b != 0, and not INT64_MIN // -1.
inline int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }
/// Python's a % b. b != 0.
inline int64_t floor_modulo(int64_t a, int64_t b) {
  if (b == -1) return 0;  // INT64_MIN % -1 overflows
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

inline uint64_t magnitude(int64_t x) { return x < 0 ? ~static_cast<uint64_t>(x) + 1 : static_cast<uint64_t>(x); }

/// 0 for two zeros.
inline uint64_t greatest_common_divisor(int64_t a, int64_t b) {
  uint64_t x = magnitude(a), y = magnitude(b);
  while (y != 0) {
    const uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return x;
}
/// Modulo 2^64; 0 if either is 0.
inline int64_t least_common_multiple(int64_t a, int64_t b) {
  const uint64_t divisor = greatest_common_divisor(a, b);
  return divisor == 0 ? 0 : static_cast<int64_t>(magnitude(a) / divisor * magnitude(b));
}

/// The bits of the neighbour of `from` in the direction of `to`, given the bits of `from`. Requires: the numbers
/// differ.
template <typename T, typename Bits>
inline Bits neighbour_bits(T from, T to, Bits bits) {
  constexpr Bits kSign = Bits(1) << (8 * sizeof(Bits) - 1);
  if (from == T(0)) return to > T(0) ? Bits(1) : (kSign | 1);
  return (from < to) == (from > T(0)) ? bits + 1 : bits - 1;
}
/// The neighbour of `from` in the direction of `to`; `to` if they are equal, NaN if either is.
inline float next_after(float from, float to) {
  if (from != from || to != to) return from + to;
  return from == to ? to : float_from_bits(neighbour_bits(from, to, bits_from_float(from)));
}
inline double next_after(double from, double to) {
  if (from != from || to != to) return from + to;
  return from == to ? to : double_of(neighbour_bits(from, to, bits_of(from)));
}

/// x = mantissa * 2^exponent with |mantissa| in [0.5, 1); zero, infinity and NaN stay and have exponent 0.
inline double split_exponent(double x, int32_t* exponent) {
  *exponent = 0;
  if (x == 0 || !is_finite(x)) return x;
  if (abs(x) < 0x1p-1000) {
    x *= 0x1p100;
    *exponent = -100;
  }
  const uint64_t bits = bits_of(x);
  *exponent += static_cast<int32_t>(bits >> 52 & 0x7ff) - 1022;
  return double_of((bits & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
}

inline float floor_of(float x) { return floor_f(x); }
inline double floor_of(double x) { return floor(x); }
/// Python's a // b. Requires: b != 0, `rest` = fmod(a, b).
template <typename T>
inline T floor_quotient(T a, T b, T rest) {
  const bool below = (rest != T(0)) & ((b < T(0)) != (rest < T(0)));
  const T quotient = (a - rest) / b - static_cast<T>(below);
  if (quotient == T(0)) return static_cast<T>(copy_sign(0, static_cast<double>(a / b)));
  const T down = floor_of(quotient);
  return quotient - down > T(0.5) ? down + T(1) : down;
}

}  // namespace wick::math
