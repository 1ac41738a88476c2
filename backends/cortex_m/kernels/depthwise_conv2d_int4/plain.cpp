// depthwise_conv2d_int4 on cores without vectors: depthwise_conv2d/without_vectors.h with packed weights. C++17,
// freestanding.
#include "backends/cortex_m/kernels/depthwise_conv2d/without_vectors.h"
#include "backends/cortex_m/kernels/depthwise_conv2d_int4/depthwise_conv2d_int4.h"
#include "backends/cortex_m/kernels/isa/chosen.h"

namespace wick::cortex_m::plain {
namespace {

struct PackedDepthwiseWeights {
  const DepthwiseConv2dInt4& c;

  uint32_t dot(const int8_t* x, int32_t step, int32_t offset, int32_t tap, int32_t channel, int32_t count) const {
    uint32_t sum = 0;
    for (; count > 0; --count, x += step, ++tap) sum += static_cast<uint32_t>((*x + offset) * c.weight(tap, channel));
    return sum;
  }
  uint32_t four(int32_t tap, int32_t channel, int32_t apart) const {
    if (apart == 1 && channel % 4 == 0) {
      const uint32_t codes = load_word(c.weights + tap * c.row_bytes + channel / 8 * 4) >> (channel & 4) & 0x0f0f0f0fu;
      return ((codes | 0x80808080u) - 0x01010101u * kInt4Zero) ^ 0x80808080u;  // no byte borrows from the next one
    }
    uint32_t word = 0;
    for (int32_t i = 0; i < 4; ++i)
      word |= static_cast<uint32_t>(static_cast<uint8_t>(c.weight(tap, channel + i * apart))) << (8 * i);
    return word;
  }
};

}  // namespace

void depthwise_conv2d_int4(KernelContext& context, Span<EValue*> args) {
  DepthwiseConv2dInt4 c;
  if (!read_depthwise_conv2d_int4(context, args, &c)) return;
  if (!positions_fit_31_bits(c.window, c.from)) return reference::depthwise_conv2d_int4(context, args);
  TiledDepthwise<Isa, PackedDepthwiseWeights>(c, {c}).run();
}

}  // namespace wick::cortex_m::plain
