#include "backends/cortex_m/kernels/isa/scalar.h"

#include "backends/cortex_m/kernels/transpose_conv2d/without_vectors.h"

namespace wick::cortex_m::scalar {

void quantized_transpose_conv2d(KernelContext& context, Span<EValue*> args) {
  quantized_transpose_conv2d_without_vectors<Scalar>(context, args, ImageSizes::nchw,
                                                     reference::quantized_transpose_conv2d);
}

void quantized_transpose_conv2d_nhwc(KernelContext& context, Span<EValue*> args) {
  quantized_transpose_conv2d_without_vectors<Scalar>(context, args, ImageSizes::nhwc,
                                                     reference::quantized_transpose_conv2d_nhwc);
}

}  // namespace wick::cortex_m::scalar
