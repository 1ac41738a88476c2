#include "backends/cortex_m/kernels/isa/scalar.h"

#include "backends/cortex_m/kernels/conv2d/without_vectors.h"

namespace wick::cortex_m::scalar {

void quantized_conv2d(KernelContext& context, Span<EValue*> args) {
  quantized_conv2d_without_vectors<Scalar>(context, args);
}

}  // namespace wick::cortex_m::scalar
