// quantized_conv2d on cores without vectors. C++17, freestanding.
#include "backends/cortex_m/kernels/conv2d/without_vectors.h"
#include "backends/cortex_m/kernels/isa/chosen.h"

namespace wick::cortex_m::plain {

void quantized_conv2d(KernelContext& context, Span<EValue*> args) {
  quantized_conv2d_without_vectors<Isa>(context, args, ImageSizes::nchw, reference::quantized_conv2d);
}

void quantized_conv2d_nhwc(KernelContext& context, Span<EValue*> args) {
  quantized_conv2d_without_vectors<Isa>(context, args, ImageSizes::nhwc, reference::quantized_conv2d_nhwc);
}

}  // namespace wick::cortex_m::plain
