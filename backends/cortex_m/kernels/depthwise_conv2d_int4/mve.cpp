// depthwise_conv2d_int4: depthwise_conv2d/mve.cpp with packed weights. They are unpacked when they are loaded, once for
// all outputs of 16 channels. The equation: reference.cpp.
#include "backends/cortex_m/kernels/depthwise_conv2d/depthwise_mve.h"
#include "backends/cortex_m/kernels/depthwise_conv2d_int4/depthwise_conv2d_int4.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"
#include "backends/cortex_m/kernels/seldom.h"

namespace wick::cortex_m::mve {
namespace {

/// Loads weights of neighboring channels, from a multiple of 16 on: each byte twice, for its low and its high half.
int8x16_t load_neighbours(const int8_t* row, int32_t channel, int32_t count) {
  const uint8x16_t lane = vidupq_n_u8(0, 1), four = vdupq_n_u8(4);
  const uint8x16_t place = vorrq_u8(vandq_u8(lane, vdupq_n_u8(3)), vshrq_n_u8(vandq_u8(lane, vdupq_n_u8(8)), 1));
  const int8x16_t right = vnegq_s8(vreinterpretq_s8_u8(vandq_u8(lane, four)));
  const uint8x16_t bytes = vldrbq_gather_offset_z_u8(reinterpret_cast<const uint8_t*>(row) + channel / 2, place,
                                                     vctp8q(static_cast<uint32_t>(count)));
  const uint8x16_t codes = vandq_u8(vshlq_u8(bytes, right), vdupq_n_u8(15));
  return vsubq_s8(vreinterpretq_s8_u8(codes), vdupq_n_s8(kInt4Zero));
}

WICK_COLD int8x16_t load_packed(const DepthwiseConv2d& convolution, int32_t tap, int32_t channel, int32_t count) {
  const auto& c = static_cast<const DepthwiseConv2dInt4&>(convolution);
  if (c.depth_multiplier == 1) return load_neighbours(c.weights + tap * c.row_bytes, channel, count);
  int8_t lanes[16];
  for (int32_t lane = 0; lane < 16; ++lane)
    lanes[lane] = static_cast<int8_t>(lane < count ? c.weight(tap, channel + lane * c.depth_multiplier) : 0);
  return vldrbq_s8(lanes);
}

}  // namespace

void depthwise_conv2d_int4(KernelContext& context, Span<EValue*> args) {
  DepthwiseConv2dInt4 c;
  if (!read_depthwise_conv2d_int4(context, args, &c)) return;
  if (!positions_fit_31_bits(c.window, c.from) || !convolve_depthwise(c, load_packed))
    reference::depthwise_conv2d_int4(context, args);
}

}  // namespace wick::cortex_m::mve
