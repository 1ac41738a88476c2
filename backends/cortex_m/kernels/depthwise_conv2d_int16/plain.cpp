// depthwise_conv2d_int16 on cores without vectors, four channels of one position at a time. The reference computes
// 64-bit sums, and outputs that share an input channel. C++17, freestanding.
#include "backends/cortex_m/kernels/depthwise_conv2d_int16/depthwise_conv2d_int16.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::plain {
namespace {

/// Computes kCount channels from `channel` on.
template <int32_t kCount>
void write_channels(const Int16Channels& q, const WindowTaps& t, int32_t channel, int16_t* out) {
  uint32_t sums[kCount];
  for (int32_t i = 0; i < kCount; ++i) sums[i] = static_cast<uint32_t>(q.initial(channel + i));
  const int16_t* x_line = t.x + channel;
  const int8_t* weights_line = t.weights + channel;
  for (int32_t row = 0; row < t.rows; ++row, x_line += t.x_row, weights_line += t.weights_row) {
    const int16_t* x = x_line;
    const int8_t* weights = weights_line;
    for (int32_t tap = 0; tap < t.taps; ++tap, x += t.x_step, weights += t.channels) {
      for (int32_t i = 0; i < kCount; ++i) sums[i] += static_cast<uint32_t>(x[i] * weights[i]);
    }
  }
  for (int32_t i = 0; i < kCount; ++i) out[channel + i] = q.finish(static_cast<int32_t>(sums[i]), channel + i);
}

}  // namespace

void depthwise_conv2d_int16(KernelContext& context, Span<EValue*> args) {
  DepthwiseConv2dInt16 c;
  if (!read_depthwise_conv2d_int16(context, args, &c)) return;
  if (c.channels.is_wide() || c.depth_multiplier != 1 || !positions_fit_31_bits(c.window, c.from))
    return reference::depthwise_conv2d_int16(context, args);
  for_each_depthwise_window(c, [&](const WindowTaps& taps, int16_t* out) {
    int32_t channel = 0;
    for (; channel + 4 <= taps.channels; channel += 4) write_channels<4>(c.channels, taps, channel, out);
    for (; channel < taps.channels; ++channel) write_channels<1>(c.channels, taps, channel, out);
  });
}

}  // namespace wick::cortex_m::plain
