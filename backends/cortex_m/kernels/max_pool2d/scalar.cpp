#include "backends/cortex_m/kernels/isa/scalar.h"

#include "backends/cortex_m/kernels/max_pool2d/without_vectors.h"

namespace wick::cortex_m::scalar {

void quantized_max_pool2d(KernelContext& context, Span<EValue*> args) {
  max_pool2d_without_vectors<Scalar>(context, args, ImageSizes::nchw);
}

void quantized_max_pool2d_nhwc(KernelContext& context, Span<EValue*> args) {
  max_pool2d_without_vectors<Scalar>(context, args, ImageSizes::nhwc);
}

}  // namespace wick::cortex_m::scalar
