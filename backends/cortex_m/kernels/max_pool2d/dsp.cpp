#include "backends/cortex_m/kernels/isa/dsp.h"

#include "backends/cortex_m/kernels/max_pool2d/without_vectors.h"

namespace wick::cortex_m::dsp {

void quantized_max_pool2d(KernelContext& context, Span<EValue*> args) {
  max_pool2d_without_vectors<Dsp>(context, args, ImageSizes::nchw);
}

void quantized_max_pool2d_nhwc(KernelContext& context, Span<EValue*> args) {
  max_pool2d_without_vectors<Dsp>(context, args, ImageSizes::nhwc);
}

}  // namespace wick::cortex_m::dsp
