// Kernel vocabulary: operators that differ for floats, integers and booleans; reductions.
namespace wick_text {
namespace {

#define WICK_REAL(T)                                                                              \
  WICK_FUNCTION T op_add(T a, T b) { return a + b; }                                              \
  WICK_FUNCTION T op_sub(T a, T b) { return a - b; }                                              \
  WICK_FUNCTION T op_mul(T a, T b) { return a * b; }                                              \
  WICK_FUNCTION T op_div(T a, T b) { return a / b; }                                              \
  WICK_FUNCTION T op_neg(T x) { return -x; }                                                      \
  WICK_FUNCTION T op_abs(T x) { return abs(x); }                                                  \
  WICK_FUNCTION T op_pow(T x, T y) { return pow(x, y); }                                          \
  WICK_FUNCTION T op_relu(T x) { return x <= T(0) ? T(0) : x; }                                   \
  WICK_FUNCTION bool op_isnan(T x) { return isnan(x); }                                           \
  WICK_FUNCTION bool op_isinf(T x) { return isinf(x); }                                           \
  WICK_FUNCTION T op_hardsigmoid(T x) { return minimum(maximum(x + T(3), T(0)), T(6)) / T(6); }   \
  WICK_FUNCTION T op_hardswish(T x) { return x * minimum(maximum(x + T(3), T(0)), T(6)) / T(6); } \
  WICK_FUNCTION T op_leaky_relu(T x, T slope) { return x > T(0) ? x : x * slope; }                \
  WICK_FUNCTION T op_elu(T x, T alpha, T scale, T input_scale) {                                  \
    return x < T(0) ? expm1(x * input_scale) * (alpha * scale) : x * scale;                       \
  }                                                                                               \
  WICK_FUNCTION T op_logit(T x) { return log(x / (T(1) - x)); }
WICK_REAL(f32)
WICK_REAL(f64)
#undef WICK_REAL

#define WICK_INTEGER(T)                                                                     \
  WICK_FUNCTION T op_add(T a, T b) { return wrap_add(a, b); }                               \
  WICK_FUNCTION T op_sub(T a, T b) { return wrap_sub(a, b); }                               \
  WICK_FUNCTION T op_mul(T a, T b) { return wrap_mul(a, b); }                               \
  WICK_FUNCTION T op_neg(T x) { return wrap_negate(x); }                                    \
  WICK_FUNCTION T op_abs(T x) { return integer_abs(x); }                                    \
  WICK_FUNCTION T op_pow(T x, T y) { return integer_pow(x, y); }                            \
  WICK_FUNCTION T op_relu(T x) { return x < T(0) ? T(0) : x; }                              \
  WICK_FUNCTION bool op_isnan(T) { return false; }                                          \
  WICK_FUNCTION bool op_isinf(T) { return false; }                                          \
  WICK_FUNCTION T op_leaky_relu(T x, T slope) { return x > T(0) ? x : wrap_mul(x, slope); } \
  WICK_FUNCTION T op_bitwise_not(T x) { return ~x; }                                        \
  WICK_FUNCTION T op_bitwise_and(T a, T b) { return a & b; }                                \
  WICK_FUNCTION T op_bitwise_or(T a, T b) { return a | b; }                                 \
  WICK_FUNCTION T op_bitwise_xor(T a, T b) { return a ^ b; }
WICK_INTEGER(i32)
WICK_INTEGER(i64)
#undef WICK_INTEGER

WICK_FUNCTION bool op_add(bool a, bool b) { return a || b; }
WICK_FUNCTION bool op_mul(bool a, bool b) { return a && b; }
WICK_FUNCTION bool op_abs(bool x) { return x; }
WICK_FUNCTION bool op_isnan(bool) { return false; }
WICK_FUNCTION bool op_isinf(bool) { return false; }
WICK_FUNCTION bool op_bitwise_not(bool x) { return !x; }
WICK_FUNCTION bool op_bitwise_and(bool a, bool b) { return a && b; }
WICK_FUNCTION bool op_bitwise_or(bool a, bool b) { return a || b; }
WICK_FUNCTION bool op_bitwise_xor(bool a, bool b) { return a != b; }

WICK_FUNCTION i32 to_i32(f64 x) {
  return x >= -2147483648.0 && x < 2147483648.0 ? static_cast<i32>(x) : static_cast<i32>(0x80000000u);
}

/// Whether an index read from a tensor is valid for `size` elements. `wraps`: negative ones count from the end.
WICK_FUNCTION bool is_index(i64 index, i64 size, bool wraps) { return index < size && index >= (wraps ? -size : 0); }

/// Whether all checks up to number `last` have held in the earlier kernels of the call.
WICK_FUNCTION bool all_checks_hold(const u32* status, u32 last) {
  for (u32 word = 0; word <= last / 32; ++word) {
    if (status[word] != 0) return false;
  }
  return true;
}

/// An index read from a tensor, between 0 and size - 1. One outside sets a bit of `status` and becomes 0.
WICK_FUNCTION i64 checked_index(i64 index, i64 size, bool wraps, u32* status, u32 number) {
  if (wraps && index < 0) index += size;
  if (index >= 0 && index < size) return index;
  flag_check(status, number);
  return 0;
}

template <typename T>
WICK_FUNCTION bool is_nan_value(T x) {
  return x != x;
}

/// The number of the bin in which `place` lies; -1 if x is outside [low, high].
template <typename T>
WICK_FUNCTION i64 bin_at(T x, T low, T high, T place, i64 bins) {
  return x >= low && x <= high ? smaller(static_cast<i64>(place), bins - 1) : -1;
}

/// Pairs (0, 1), (0, 2) .. (1, 2) .. of `count` rows, numbered in this order: the pairs before those of a row, and the
/// two rows of a pair.
template <typename T>
WICK_FUNCTION T pairs_before(T row, T count) {
  return row * (2 * count - row - 1) / 2;
}
template <typename T>
WICK_FUNCTION T first_of_pair(T pair, T count) {
  const f64 middle = static_cast<f64>(count) - 0.5;
  T row = static_cast<T>(middle - sqrt(middle * middle - 2.0 * static_cast<f64>(pair)));
  // The root is rounded, so the row may be wrong by one.
  while (row > 0 && pairs_before(row, count) > pair) --row;
  while (pairs_before(row + 1, count) <= pair) ++row;
  return row;
}
template <typename T>
WICK_FUNCTION T second_of_pair(T pair, T first, T count) {
  return pair - pairs_before(first, count) + first + 1;
}

/// x = mantissa * 2^exponent with a magnitude of the mantissa from 0.5 to 1. For 0, infinities and NaN the exponent is
/// 0.
WICK_FUNCTION i32 exponent_of(f64 x) {
  if (x == 0 || !isfinite(x)) return 0;
  // Subnormal numbers are scaled to normal ones.
  const bool small = abs(x) < 0x1p-1022;
  const u64 bits = bits_of(small ? x * 0x1p54 : x);
  return static_cast<i32>(bits >> 52 & 0x7ff) - 1022 - (small ? 54 : 0);
}
WICK_FUNCTION i32 exponent_of(f32 x) { return exponent_of(static_cast<f64>(x)); }
WICK_FUNCTION f64 mantissa_of(f64 x) {
  if (x == 0 || !isfinite(x)) return x;
  const u64 bits = bits_of(abs(x) < 0x1p-1022 ? x * 0x1p54 : x);
  return f64_of_bits((bits & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
}
WICK_FUNCTION f32 mantissa_of(f32 x) { return static_cast<f32>(mantissa_of(static_cast<f64>(x))); }

/// Returns a number that must be finite. Otherwise sets a bit of `status` and returns 0.
WICK_FUNCTION f64 checked_finite(f64 x, u32* status, u32 number) {
  if (isfinite(x)) return x;
  flag_check(status, number);
  return 0;
}

/// The same for a number that must not be negative either.
WICK_FUNCTION f64 checked_parameter(f64 x, u32* status, u32 number) {
  return checked_finite(x < 0 ? infinity(x) : x, status, number);
}

/// The quotient rounded down, and the remainder; b > 0.
template <typename T>
WICK_FUNCTION T floor_divide(T a, T b) {
  const T quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}
template <typename T>
WICK_FUNCTION T floor_modulo(T a, T b) {
  const T rest = a % b;
  return rest < 0 ? rest + b : rest;
}

// Reductions combine in a fixed order: first the lanes of a warp by halves, then the warps.
struct Sum {
  template <typename T>
  static WICK_FUNCTION T of(T a, T b) {
    return op_add(a, b);
  }
};
struct Product {
  template <typename T>
  static WICK_FUNCTION T of(T a, T b) {
    return op_mul(a, b);
  }
};
struct Minimum {
  template <typename T>
  static WICK_FUNCTION T of(T a, T b) {
    return minimum(a, b);
  }
};
struct Maximum {
  template <typename T>
  static WICK_FUNCTION T of(T a, T b) {
    return maximum(a, b);
  }
};
struct Conjunction {
  static WICK_FUNCTION bool of(bool a, bool b) { return a && b; }
};
struct Disjunction {
  static WICK_FUNCTION bool of(bool a, bool b) { return a || b; }
};

/// A value and its position; position < 0: no value yet.
template <typename T>
struct Positioned {
  T value;
  i64 position;
};
/// The smaller or larger value, NaN-propagating; among equal ones the first or the last position.
template <bool kLargest, bool kLast>
struct ArgExtreme {
  template <typename T>
  static WICK_FUNCTION Positioned<T> of(Positioned<T> a, Positioned<T> b) {
    if (b.position < 0) return a;
    if (a.position < 0) return b;
    const bool a_nan = is_nan_value(a.value), b_nan = is_nan_value(b.value);
    if (a_nan || b_nan ? a_nan && b_nan : a.value == b.value) return (a.position < b.position) != kLast ? a : b;
    if (a_nan || b_nan) return a_nan ? a : b;
    return (kLargest ? b.value < a.value : a.value < b.value) ? a : b;
  }
};
typedef ArgExtreme<false, false> ArgMinimum;
typedef ArgExtreme<true, false> ArgMaximum;
typedef ArgExtreme<false, true> LastMinimum;
typedef ArgExtreme<true, true> LastMaximum;
/// log(exp(a) + exp(b))
struct LogSumExp {
  template <typename T>
  static WICK_FUNCTION T of(T a, T b) {
    if (isnan(a) || isnan(b)) return a + b;
    const T high = a > b ? a : b, low = a > b ? b : a;
    return isinf(high) ? high : high + log1p(exp(low - high));
  }
};

template <typename T>
WICK_FUNCTION T lane_xor(T value, u32 mask) {
  return shuffle_xor(value, mask);
}
WICK_FUNCTION bool lane_xor(bool value, u32 mask) { return shuffle_xor(static_cast<i32>(value), mask) != 0; }
template <typename T>
WICK_FUNCTION Positioned<T> lane_xor(Positioned<T> value, u32 mask) {
  return {lane_xor(value.value, mask), shuffle_xor(value.position, mask)};
}

/// Combines the values of a warp, or of each kLanes of its lanes. All lanes get the result.
template <typename Combine, u32 kLanes = 32, typename T>
WICK_FUNCTION T warp_reduce(T value) {
  for (u32 mask = kLanes / 2; mask > 0; mask >>= 1) {
    const T other = lane_xor(value, mask);
    value = (lane() & mask) == 0 ? Combine::of(value, other) : Combine::of(other, value);
  }
  return value;
}

/// Combines the values of a block of kStrands * kLanes threads: value e of a lane over all strands, for each of kCount
/// values. All threads of a lane get its results. `shared` has room for the values of all threads.
template <typename Combine, u32 kLanes, u32 kStrands, int kCount, typename T>
WICK_FUNCTION void combine_strands(T (&values)[kCount], T* shared) {
  constexpr u32 kAll = kLanes * static_cast<u32>(kCount);
  const u32 own = thread_x() % kLanes, strand = thread_x() / kLanes;
  WICK_UNROLL
  for (int e = 0; e < kCount; ++e) shared[strand * kAll + static_cast<u32>(e) * kLanes + own] = values[e];
  block_barrier();
  for (u32 place = thread_x(); place < kAll; place += kLanes * kStrands) {
    T all = shared[place];
    for (u32 other = 1; other < kStrands; ++other) all = Combine::of(all, shared[other * kAll + place]);
    shared[place] = all;
  }
  block_barrier();
  WICK_UNROLL
  for (int e = 0; e < kCount; ++e) values[e] = shared[static_cast<u32>(e) * kLanes + own];
}

/// Combines the values of a block of `kThreads` threads (a multiple of 32); all threads get the result. `shared` has
/// room for one value per warp.
template <typename Combine, u32 kThreads, typename T>
WICK_FUNCTION T block_reduce(T value, T* shared) {
  value = warp_reduce<Combine>(value);
  if constexpr (kThreads > 32) {
    block_barrier();
    if (lane() == 0) shared[thread_x() / 32] = value;
    block_barrier();
    value = shared[0];
    for (u32 warp = 1; warp < kThreads / 32; ++warp) value = Combine::of(value, shared[warp]);
  }
  return value;
}

}  // namespace
}  // namespace wick_text
