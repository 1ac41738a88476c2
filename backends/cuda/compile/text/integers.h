// Kernel vocabulary: integer arithmetic that is defined for all operands, with eager's meaning.
namespace wick_text {
namespace {

template <typename T>
struct UnsignedOf {
  typedef u32 Type;  // i8, u8, i16, i32, u32
};
template <>
struct UnsignedOf<i64> {
  typedef u64 Type;
};
template <>
struct UnsignedOf<u64> {
  typedef u64 Type;
};

/// Modulo 2^bits of T.
template <typename T>
WICK_FUNCTION T wrap_add(T a, T b) {
  typedef typename UnsignedOf<T>::Type U;
  return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}
template <typename T>
WICK_FUNCTION T wrap_sub(T a, T b) {
  typedef typename UnsignedOf<T>::Type U;
  return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
}
template <typename T>
WICK_FUNCTION T wrap_mul(T a, T b) {
  typedef typename UnsignedOf<T>::Type U;
  return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}
template <typename T>
WICK_FUNCTION T wrap_negate(T a) {
  return wrap_sub(T(0), a);
}

/// The quotient toward zero. Here and in the three functions below, a divisor of 0 gives 0; kernels report it by
/// flag_check().
template <typename T>
WICK_FUNCTION T divide_trunc(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (T(-1) < T(0)) {
    if (b == T(-1)) return wrap_negate(a);
  }
  return static_cast<T>(a / b);
}
/// The quotient rounded down.
template <typename T>
WICK_FUNCTION T divide_floor(T a, T b) {
  const T quotient = divide_trunc(a, b);
  if constexpr (T(-1) < T(0)) {
    if (b == T(0) || b == T(-1)) return quotient;
    return a % b != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
  }
  return quotient;
}
/// The remainder with the sign of a.
template <typename T>
WICK_FUNCTION T fmod(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (T(-1) < T(0)) {
    if (b == T(-1)) return T(0);
  }
  return static_cast<T>(a % b);
}
/// The remainder with the sign of b.
template <typename T>
WICK_FUNCTION T remainder(T a, T b) {
  const T rest = fmod(a, b);
  if constexpr (T(-1) < T(0)) return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  return rest;
}

/// For counts that are negative or not below the width, shift_left() gives 0 and shift_right() the sign.
template <typename T>
WICK_FUNCTION T shift_left(T a, T count) {
  const bool inside = count >= T(0) && static_cast<u64>(count) < 8 * sizeof(T);
  typedef typename UnsignedOf<T>::Type U;
  return inside ? static_cast<T>(static_cast<U>(a) << static_cast<u32>(count)) : T(0);
}
template <typename T>
WICK_FUNCTION T shift_right(T a, T count) {
  const bool inside = count >= T(0) && static_cast<u64>(count) < 8 * sizeof(T);
  if (inside) return static_cast<T>(a >> static_cast<u32>(count));
  return a < T(0) ? T(-1) : T(0);
}

/// Modulo 2^bits. A negative exponent gives the power rounded toward zero: 1, -1 or 0.
template <typename T>
WICK_FUNCTION T integer_pow(T base, T exponent) {
  if (exponent < T(0)) return base == T(1) ? T(1) : base == T(-1) ? (exponent % 2 == 0 ? T(1) : T(-1)) : T(0);
  T result = T(1);
  for (; exponent != T(0); exponent = static_cast<T>(exponent / 2)) {
    if (exponent % 2 != 0) result = wrap_mul(result, base);
    base = wrap_mul(base, base);
  }
  return result;
}

template <typename T>
WICK_FUNCTION T integer_abs(T a) {
  return a < T(0) ? wrap_negate(a) : a;
}
WICK_FUNCTION i64 gcd(i64 a, i64 b) { return static_cast<i64>(wick::math::greatest_common_divisor(a, b)); }
WICK_FUNCTION i64 lcm(i64 a, i64 b) { return wick::math::least_common_multiple(a, b); }

template <typename T>
WICK_FUNCTION T smaller(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
WICK_FUNCTION T larger(T a, T b) {
  return a < b ? b : a;
}
template <typename T>
WICK_FUNCTION T divide_up(T a, T b) {
  return (a + b - 1) / b;
}

/// Says that the user's data broke check `number` of the plan: sets its bit in the status words.
WICK_FUNCTION void flag_check(u32* status, u32 number) { atomic_or(status + number / 32, 1u << number % 32); }

}  // namespace
}  // namespace wick_text
