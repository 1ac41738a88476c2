#include "backends/cortex_m/kernels/avg_pool2d/without_vectors.h"

namespace wick::cortex_m::scalar {

void quantized_avg_pool2d(KernelContext& context, Span<EValue*> args) {
  avg_pool2d_without_vectors(context, args, ImageSizes::nchw, reference::quantized_avg_pool2d);
}

void quantized_avg_pool2d_nhwc(KernelContext& context, Span<EValue*> args) {
  avg_pool2d_without_vectors(context, args, ImageSizes::nhwc, reference::quantized_avg_pool2d_nhwc);
}

}  // namespace wick::cortex_m::scalar
