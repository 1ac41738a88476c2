// depthwise_conv2d_int16, four channels of one position at a time. The reference computes 64-bit sums, and outputs that
// share an input channel. The equation: reference.cpp.
#include "backends/cortex_m/kernels/depthwise_conv2d_int16/depthwise_conv2d_int16.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

constexpr int32_t kLanes = 4;

int32x4_t sums_of(const WindowTaps& t, int32_t channel, int32x4_t sums, mve_pred16_t live) {
  const int16_t* x_line = t.x + channel;
  const int8_t* weights_line = t.weights + channel;
  for (int32_t row = 0; row < t.rows; ++row, x_line += t.x_row, weights_line += t.weights_row) {
    const int16_t* x = x_line;
    const int8_t* weights = weights_line;
    for (int32_t tap = 0; tap < t.taps; ++tap, x += t.x_step, weights += t.channels)
      sums = vaddq_s32(sums, vmulq_s32(vldrhq_z_s32(x, live), vldrbq_z_s32(weights, live)));
  }
  return sums;
}

void write_position(const DepthwiseConv2dInt16& c, const WindowTaps& taps, int16_t* out) {
  const Int16Channels& q = c.channels;
  const int32x4_t min = vdupq_n_s32(q.min), max = vdupq_n_s32(q.max);
  for (int32_t o = 0; o < taps.channels; o += kLanes) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(taps.channels - o));
    const int32x4_t initial = q.bias != nullptr ? vldrwq_z_s32(q.bias + o, live) : vdupq_n_s32(0);
    int32x4_t multiplier = vdupq_n_s32(*q.multipliers), shift = vdupq_n_s32(*q.shifts);
    if (q.step != 0) {
      multiplier = vldrwq_z_s32(q.multipliers + o, live);
      shift = vldrwq_z_s32(q.shifts + o, live);
    }
    const int32x4_t scaled = requantize_any(sums_of(taps, o, initial, live), multiplier, shift);
    vstrhq_p_s32(out + o, clamp(scaled, min, max), live);
  }
}

}  // namespace

void depthwise_conv2d_int16(KernelContext& context, Span<EValue*> args) {
  DepthwiseConv2dInt16 c;
  if (!read_depthwise_conv2d_int16(context, args, &c)) return;
  if (c.channels.is_wide() || c.depth_multiplier != 1 || !positions_fit_31_bits(c.window, c.from))
    return reference::depthwise_conv2d_int16(context, args);
  for_each_depthwise_window(c, [&](const WindowTaps& taps, int16_t* out) { write_position(c, taps, out); });
}

}  // namespace wick::cortex_m::mve
