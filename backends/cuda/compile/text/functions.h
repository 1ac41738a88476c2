// Kernel vocabulary: floating-point functions with eager's meaning, for f32 and f64.
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
/// part / whole, cheap for many parts of one whole. Requires 0 <= part <= whole and whole >= 1. Correctly rounded
/// (Markstein) if the quotient is a normal number.
WICK_FUNCTION f32 share_of(f32 part, f32 whole) {
  const f32 inverse = 1.0f / whole, quotient = part * inverse;
  return fused_multiply_add(fused_multiply_add(-quotient, whole, part), inverse, quotient);
}
WICK_FUNCTION f64 share_of(f64 part, f64 whole) { return part / whole; }
/// The remainder with the sign of b.
WICK_FUNCTION f32 remainder(f32 a, f32 b) {
  const f32 rest = fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
WICK_FUNCTION f64 remainder(f64 a, f64 b) {
  const f64 rest = fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
WICK_FUNCTION f32 divide_floor(f32 a, f32 b) { return b == 0 ? a / b : wick::math::floor_quotient(a, b, fmod(a, b)); }
WICK_FUNCTION f64 divide_floor(f64 a, f64 b) { return b == 0 ? a / b : wick::math::floor_quotient(a, b, fmod(a, b)); }
/// For elements of bf16 (kIsBf16) or f16: each step is rounded to the dtype, as in eager.
template <bool kIsBf16>
WICK_FUNCTION f32 divide_floor_in_steps(f32 a, f32 b) {
  const auto rounded = [](f32 x) {
    if constexpr (kIsBf16) return to_f32(to_bf16(x));
    return to_f32(to_f16(x));
  };
  if (b == 0) return a / b;
  const f32 rest = fmod(a, b);
  f32 quotient = rounded(rounded(a - rest) / b);
  if (rest != 0 && (b < 0) != (rest < 0)) quotient = rounded(quotient - 1);
  if (quotient == 0) return static_cast<f32>(wick::math::copy_sign(0, static_cast<f64>(a / b)));
  const f32 down = floor(quotient);
  return quotient - down > 0.5f ? rounded(down + 1) : down;
}
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

WICK_FUNCTION f32 nextafter(f32 from, f32 to) { return wick::math::next_after(from, to); }
WICK_FUNCTION f64 nextafter(f64 from, f64 to) { return wick::math::next_after(from, to); }

WICK_FUNCTION f64 frexp_mantissa(f64 x, i32* exponent) { return wick::math::split_exponent(x, exponent); }
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
