#include "backends/cortex_m/kernels/depthwise_conv2d_int16/without_vectors.h"

namespace wick::cortex_m::dsp {

void depthwise_conv2d_int16(KernelContext& context, Span<EValue*> args) {
  depthwise_conv2d_int16_without_vectors(context, args);
}

}  // namespace wick::cortex_m::dsp
