// Kernel vocabulary: functions of floating numbers by eager's meaning, for f32 and f64.
namespace wick_text {
namespace {

WICK_FUNCTION f32 infinity(f32) { return f32_of_bits(0x7f800000u); }
WICK_FUNCTION f64 infinity(f64) { return f64_of_bits(0x7ff0000000000000ull); }
WICK_FUNCTION f32 not_a_number(f32) { return f32_of_bits(0x7fc00000u); }
WICK_FUNCTION f64 not_a_number(f64) { return f64_of_bits(0x7ff8000000000000ull); }

WICK_FUNCTION f32 abs(f32 x) { return f32_of_bits(bits_of(x) & 0x7fffffffu); }
WICK_FUNCTION f64 abs(f64 x) { return f64_of_bits(bits_of(x) & 0x7fffffffffffffffull); }
template <typename T>
WICK_FUNCTION bool isnan(T x) {
  return x != x;
}
template <typename T>
WICK_FUNCTION bool isinf(T x) {
  return abs(x) == infinity(x);
}
template <typename T>
WICK_FUNCTION bool isfinite(T x) {
  return abs(x) < infinity(x);
}
template <typename T>
WICK_FUNCTION bool signbit(T x) {
  return bits_of(x) >> (8 * sizeof(T) - 1) != 0;
}
/// -1, 0 or 1; NaN gives 0.
template <typename T>
WICK_FUNCTION T sign(T x) {
  return static_cast<T>((x > T(0)) - (x < T(0)));
}
/// NaN if either is NaN.
template <typename T>
WICK_FUNCTION T maximum(T a, T b) {
  return a != a || a > b ? a : b;
}
template <typename T>
WICK_FUNCTION T minimum(T a, T b) {
  return a != a || a < b ? a : b;
}
/// NaN only if both are NaN.
template <typename T>
WICK_FUNCTION T fmax(T a, T b) {
  return b != b || a > b ? a : b;
}
template <typename T>
WICK_FUNCTION T fmin(T a, T b) {
  return b != b || a < b ? a : b;
}

template <typename T>
WICK_FUNCTION T reciprocal(T x) {
  return T(1) / x;
}
template <typename T>
WICK_FUNCTION T rsqrt(T x) {
  return T(1) / sqrt(x);
}
/// The remainder with the sign of b.
WICK_FUNCTION f32 remainder(f32 a, f32 b) {
  const f32 rest = fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
WICK_FUNCTION f64 remainder(f64 a, f64 b) {
  const f64 rest = fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
template <typename T>
WICK_FUNCTION T float_divide_floor(T a, T b) {
  if (b == T(0)) return a / b;
  const T rest = fmod(a, b);
  const T quotient = (a - rest) / b - (rest != T(0) && (b < T(0)) != (rest < T(0)) ? T(1) : T(0));
  if (quotient == T(0)) return copysign(T(0), a / b);
  const T down = floor(quotient);
  return quotient - down > T(0.5) ? down + T(1) : down;
}
WICK_FUNCTION f32 divide_floor(f32 a, f32 b) { return float_divide_floor(a, b); }
WICK_FUNCTION f64 divide_floor(f64 a, f64 b) { return float_divide_floor(a, b); }
WICK_FUNCTION f32 divide_trunc(f32 a, f32 b) { return trunc(a / b); }
WICK_FUNCTION f64 divide_trunc(f64 a, f64 b) { return trunc(a / b); }

template <typename T>
WICK_FUNCTION T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}
template <typename T>
WICK_FUNCTION T silu(T x) {
  return x / (T(1) + exp(-x));
}
WICK_FUNCTION f32 gelu(f32 x) { return x * 0.5f * (1.0f + erf(x * 0.70710678f)); }
WICK_FUNCTION f64 gelu(f64 x) { return x * 0.5 * (1.0 + erf(x * 0.7071067811865476)); }
WICK_FUNCTION f32 gelu_tanh(f32 x) { return 0.5f * x * (1.0f + tanh(0.79788456f * (x + 0.044715f * (x * x * x)))); }
WICK_FUNCTION f64 gelu_tanh(f64 x) { return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x)))); }
template <typename T>
WICK_FUNCTION T mish(T x) {
  return x * tanh(log1p(exp(x)));
}
template <typename T>
WICK_FUNCTION T log_sigmoid(T x) {
  return (x < T(0) ? x : T(0)) - log1p(exp(x < T(0) ? x : -x));
}

/// The neighbour of `from` in the direction of `to`.
template <typename T, typename Bits>
WICK_FUNCTION Bits neighbour_bits(T from, T to, Bits bits) {
  constexpr Bits kSign = Bits(1) << (8 * sizeof(Bits) - 1);
  if (from == T(0)) return to > T(0) ? Bits(1) : (kSign | 1);
  return (from < to) == (from > T(0)) ? bits + 1 : bits - 1;
}
WICK_FUNCTION f32 nextafter(f32 from, f32 to) {
  if (from != from || to != to) return from + to;
  return from == to ? to : f32_of_bits(neighbour_bits(from, to, bits_of(from)));
}
WICK_FUNCTION f64 nextafter(f64 from, f64 to) {
  if (from != from || to != to) return from + to;
  return from == to ? to : f64_of_bits(neighbour_bits(from, to, bits_of(from)));
}

/// x = mantissa * 2^exponent with |mantissa| in [0.5, 1); zero, infinity and NaN stay and have exponent 0.
WICK_FUNCTION f64 frexp_mantissa(f64 x, i32* exponent) {
  *exponent = 0;
  if (x == 0 || !isfinite(x)) return x;
  if (abs(x) < 0x1p-1000) {
    x *= 0x1p100;
    *exponent = -100;
  }
  const u64 bits = bits_of(x);
  *exponent += static_cast<i32>(bits >> 52 & 0x7ff) - 1022;
  return f64_of_bits((bits & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
}
WICK_FUNCTION f32 frexp_mantissa(f32 x, i32* exponent) {
  return static_cast<f32>(frexp_mantissa(static_cast<f64>(x), exponent));
}
template <typename T>
WICK_FUNCTION i32 frexp_exponent(T x) {
  i32 exponent;
  frexp_mantissa(x, &exponent);
  return exponent;
}

}  // namespace
}  // namespace wick_text
