#include "backends/cortex_m/kernels/isa/dsp.h"

#include "backends/cortex_m/kernels/depthwise_conv2d_int4/without_vectors.h"

namespace wick::cortex_m::dsp {

void depthwise_conv2d_int4(KernelContext& context, Span<EValue*> args) {
  depthwise_conv2d_int4_without_vectors<Dsp>(context, args);
}

}  // namespace wick::cortex_m::dsp
