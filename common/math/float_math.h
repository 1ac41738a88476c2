// Float versions of the functions in math.h. The first group is branch-free float arithmetic: loops over it vectorise.
// Error of the first group at most 2 units in the last place (sigmoid 2.5, erf 3); of the second, computed in double,
// below 1. C++17, freestanding.
#pragma once
#include "common/float16.h"
#include "common/math/math.h"
#include "common/math/polynomials.h"

namespace wick::math {

inline float abs_f(float x) { return float_from_bits(bits_from_float(x) & 0x7fffffffu); }
inline float copy_sign_f(float x, float sign) {
  return float_from_bits((bits_from_float(x) & 0x7fffffffu) | (bits_from_float(sign) & 0x80000000u));
}

/// To the nearest integer, ties to even.
inline float round_even_f(float x) {
  const float magnitude = abs_f(x), shift = 0x1p23f;
  const float rounded = magnitude < shift ? (magnitude + shift) - shift : magnitude;
  return x != x ? x : copy_sign_f(rounded, x);
}
inline float floor_f(float x) {
  const float rounded = round_even_f(x);
  return copy_sign_f(rounded > x ? rounded - 1 : rounded, x);
}
inline float ceil_f(float x) {
  const float rounded = round_even_f(x);
  return copy_sign_f(rounded < x ? rounded + 1 : rounded, x);
}
inline float trunc_f(float x) {
  const float magnitude = abs_f(x), rounded = round_even_f(magnitude);
  return copy_sign_f(rounded > magnitude ? rounded - 1 : rounded, x);
}

/// exp: x = n ln 2 + r, then a polynomial, then 2^n in two factors so that subnormal results round once.
inline float exp_f(float x) {
  const float clamped = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;  // NaN stays
  const float shifted = clamped * 1.44269504f + 0x1.8p23f;
  const float n = shifted - 0x1.8p23f;
  const float r = (clamped - n * 0.693145751953125f) - n * 1.428606765330187e-06f;
  const float p = 1.0f + (r + r * r * horner(r, kExpFloat));
  const int32_t k =
      static_cast<int32_t>(bits_from_float(shifted) & 0x1ffu) - ((bits_from_float(shifted) & 0x100u) ? 512 : 0);
  const int32_t half = k >> 1;
  const float first = float_from_bits(static_cast<uint32_t>(half + 127) << 23);
  const float second = float_from_bits(static_cast<uint32_t>(k - half + 127) << 23);
  return p * first * second;
}

inline float sigmoid_f(float x) { return 1.0f / (1.0f + exp_f(-x)); }

inline float tanh_f(float x) {
  const float magnitude = abs_f(x), z = x * x;
  const float small = x + x * z * horner(z > 0.5f ? 0.5f : z, kTanhFloat);
  const float large = copy_sign_f(1.0f - 2.0f / (exp_f(2.0f * magnitude) + 1.0f), x);
  return magnitude < 0.625f ? copy_sign_f(small, x) : large;
}

inline float erf_f(float x) {
  const float magnitude = abs_f(x);
  const float near_zero = magnitude > 0.8f ? 0.8f : x;
  const float small = near_zero * horner(near_zero * near_zero, kErfFloat);
  const float tail = (magnitude < 0.8f ? 0.8f : magnitude > 4.0f ? 4.0f : magnitude) - 2.375f;
  const float large = copy_sign_f(1.0f - exp_f(-horner(tail, kErfTailFloat)), x);
  return magnitude <= 0.8f ? small : x != x ? x : large;
}

/// x * Phi(x) by erf, and its tanh approximation, in the order eager PyTorch computes them.
inline float gelu_f(float x) { return x * 0.5f * (1.0f + erf_f(x * 0.70710678f)); }
inline float gelu_tanh_f(float x) {
  const float inner = 0.79788456f * (x + 0.044715f * (x * x * x));
  return 0.5f * x * (1.0f + tanh_f(inner));
}

inline float expm1_f(float x) { return static_cast<float>(expm1(x)); }
inline float log_f(float x) { return static_cast<float>(log(x)); }
inline float log1p_f(float x) { return static_cast<float>(log1p(x)); }
inline float log2_f(float x) { return static_cast<float>(log2(x)); }
inline float log10_f(float x) { return static_cast<float>(log10(x)); }
/// |x|^y by one double log and exp: their errors stay far below a float's half unit.
inline float pow_f(float x, float y) { return static_cast<float>(pow(x, y)); }
inline float sin_f(float x) { return static_cast<float>(sin(x)); }
inline float cos_f(float x) { return static_cast<float>(cos(x)); }
inline float tan_f(float x) { return static_cast<float>(tan(x)); }
inline float asin_f(float x) { return static_cast<float>(asin(x)); }
inline float acos_f(float x) { return static_cast<float>(acos(x)); }
inline float atan_f(float x) { return static_cast<float>(atan(x)); }
inline float atan2_f(float y, float x) { return static_cast<float>(atan2(y, x)); }
inline float sinh_f(float x) { return static_cast<float>(sinh(x)); }
inline float cosh_f(float x) { return static_cast<float>(cosh(x)); }
inline float asinh_f(float x) { return static_cast<float>(asinh(x)); }
inline float acosh_f(float x) { return static_cast<float>(acosh(x)); }
inline float atanh_f(float x) { return static_cast<float>(atanh(x)); }
inline float erfc_f(float x) { return static_cast<float>(erfc(x)); }
inline float lgamma_f(float x) { return static_cast<float>(lgamma(x)); }
inline float digamma_f(float x) { return static_cast<float>(digamma(x)); }
/// Exact. A quotient of two floats below 2^28 never rounds to the next integer in double, and its product is exact.
inline float fmod_f(float x, float y) {
  const double dividend = x, divisor = y, quotient = dividend / divisor;
  if (!(abs(quotient) < 0x1p28) || is_inf(divisor)) return static_cast<float>(fmod(dividend, divisor));
  const double rest = dividend - static_cast<double>(static_cast<int32_t>(quotient)) * divisor;
  return copy_sign_f(static_cast<float>(rest), x);
}

}  // namespace wick::math
