// Kernel vocabulary: integers that stand for real numbers, (element - zero point) * scale.
namespace wick_text {
namespace {

/// clamp(round(scaled) + zero_point, low, high) without overflow, ties to even; NaN gives 0. T: f32 or f64.
template <typename T>
WICK_FUNCTION i32 quantized(T scaled, i64 zero_point, i32 low, i32 high) {
  const T rounded = round(scaled);
  const T bound = T(0x1p30);
  if (rounded > -bound && rounded < bound && zero_point > -(i64(1) << 30) && zero_point < (i64(1) << 30)) {
    const i32 sum = static_cast<i32>(rounded) + static_cast<i32>(zero_point);
    return sum < low ? low : sum > high ? high : sum;
  }
  if (scaled != scaled) return 0;
  const f64 sum = static_cast<f64>(rounded) + static_cast<f64>(zero_point);
  return sum < static_cast<f64>(low) ? low : sum > static_cast<f64>(high) ? high : static_cast<i32>(sum);
}

/// (element - zero_point) * scale. Requires for a zero point of type i32: the difference fits i32.
WICK_FUNCTION f32 dequantized(i32 element, f32 scale) { return static_cast<f32>(element) * scale; }
WICK_FUNCTION f32 dequantized(i32 element, i32 zero_point, f32 scale) {
  return static_cast<f32>(element - zero_point) * scale;
}
WICK_FUNCTION f32 dequantized(i32 element, i64 zero_point, f32 scale) {
  return static_cast<f32>(wrap_sub(static_cast<i64>(element), zero_point)) * scale;
}
WICK_FUNCTION f64 dequantized(i32 element, i64 zero_point, f64 scale) {
  return static_cast<f64>(wrap_sub(static_cast<i64>(element), zero_point)) * scale;
}

/// Element number 0 or 1 of a byte that holds two of four bits: number 0 is the lower half.
WICK_FUNCTION i32 nibble(i32 byte, i32 number) { return byte >> (4 * number) & 15; }

/// Returns `scale`. The call fails with check `number` unless it is positive and finite.
template <typename T>
WICK_FUNCTION T checked_scale(T scale, u32* status, u32 number) {
  if (!(scale > T(0) && isfinite(scale))) flag_check(status, number);
  return scale;
}
/// The scale that spreads elements from `low` to `high`, a range that contains 0, over `steps` steps; at least `least`.
/// The call fails with check `number` if a bound is not finite.
WICK_FUNCTION f32 chosen_scale(f32 low, f32 high, f32 steps, f32 least, u32* status, u32 number) {
  if (!(isfinite(low) && isfinite(high))) flag_check(status, number);
  const f32 scale = (high - low) / steps;
  return scale > least ? scale : least;
}
/// The zero point of a range that begins at `low`: the integer, from `first` to `last`, that stands for 0.
WICK_FUNCTION i64 chosen_zero_point(f32 low, f32 scale, i64 first, i64 last) {
  const f32 offset = round(low / scale);
  const i64 zero = first - static_cast<i64>(offset > -4e9f ? offset : -4e9f);
  return zero < first ? first : zero > last ? last : zero;
}
/// torchao's zero point for rows of int8, computed from that end of the range which is rounded less.
WICK_FUNCTION i64 chosen_row_zero_point(f32 low, f32 high, f32 scale) {
  const f32 first = low / scale, last = high / scale;
  const f32 zero = (-128.0f + first) + (127.0f + last) > 0 ? -128.0f - first : 127.0f - last;
  return static_cast<i64>(round(zero < -128.0f ? -128.0f : zero > 127.0f ? 127.0f : zero));
}

}  // namespace
}  // namespace wick_text
