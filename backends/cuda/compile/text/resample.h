// Kernel vocabulary: the positions at which grids and resized images read their input, and the weights. T: f32 or f64.
namespace wick_text {
namespace {

/// Weights of a cubic convolution with the parameter -0.75: at distances below 1, and at distances from 1 to 2.
template <typename T>
WICK_FUNCTION T cubic_near(T x) {
  return (T(1.25) * x - T(2.25)) * x * x + T(1);
}
template <typename T>
WICK_FUNCTION T cubic_far(T x) {
  return ((T(-0.75) * x - T(-3.75)) * x + T(-6)) * x - T(-3);
}
template <typename T>
WICK_FUNCTION T between_0_and_1(T x) {
  return x < T(0) ? T(0) : x > T(1) ? T(1) : x;
}

/// The weight of an input at a distance from the output's center: a triangle, or a cubic with the parameter -0.5.
template <bool kCubic, typename T>
WICK_FUNCTION T antialias_weight(T x) {
  x = abs(x);
  if constexpr (!kCubic) return x < T(1) ? T(1) - x : T(0);
  if (x < T(1)) return (T(1.5) * x - T(2.5)) * x * x + T(1);
  return x < T(2) ? (((x - T(5)) * x + T(8)) * x - T(4)) * T(-0.5) : T(0);
}

/// A sum of bytes with weights in units of 2^-precision, rounded and clamped to a byte.
WICK_FUNCTION i32 blended_byte(i64 sum, i32 precision) {
  const i64 rounded = (sum + (precision > 0 ? i64(1) << (precision - 1) : 0)) >> precision;
  return static_cast<i32>(rounded < 0 ? 0 : rounded > 255 ? 255 : rounded);
}

template <typename T>
WICK_FUNCTION T grid_reflected(T x, T twice_low, T twice_high) {
  if (twice_low == twice_high) return T(0);
  const T low = twice_low / T(2), span = (twice_high - twice_low) / T(2);
  const T distance = abs(x - low);
  const f64 turns = floor(static_cast<f64>(distance / span));
  const T rest = static_cast<T>(static_cast<f64>(distance) - turns * static_cast<f64>(span));
  return turns - 2 * floor(turns / 2) == 0 ? rest + low : span - rest + low;
}
/// Applies a padding mode to a position outside the `size` inputs: 0 keeps it, 1 takes the border, 2 reflects it.
template <int kPadding, bool kAligned, typename T>
WICK_FUNCTION T grid_padded(T x, T size) {
  if constexpr (kPadding == 0) return x;
  if constexpr (kPadding == 2)
    x = kAligned ? grid_reflected(x, T(0), T(2) * (size - T(1))) : grid_reflected(x, T(-1), T(2) * size - T(1));
  const T high = size - T(1);
  return x > T(0) ? (x < high ? x : high) : x != x ? high : T(0);
}
/// The position that a coordinate in [-1, 1] names. Modes: 0 bilinear, 1 nearest, 2 bicubic, for which taps are padded
/// later, one by one.
template <int kMode, int kPadding, bool kAligned, typename T>
WICK_FUNCTION T grid_place(T grid, T size) {
  T x = kAligned ? (grid + T(1)) / T(2) * (size - T(1)) : ((grid + T(1)) * size - T(1)) / T(2);
  if constexpr (kMode != 2) x = grid_padded<kPadding, kAligned>(x, size);
  if (x > T(-1e9) && x < T(1e9)) return x;
  return kMode == 2 && kPadding != 0 ? T(0) : T(-100);
}
/// An integral position as an index; -1 if it is outside [0, size).
template <typename Index, typename T>
WICK_FUNCTION Index grid_index(T x, Index size) {
  return x >= T(0) && x < static_cast<T>(size) ? static_cast<Index>(x) : Index(-1);
}

}  // namespace
}  // namespace wick_text
