#include "backends/cortex_m/kernels/isa/scalar.h"

#include "backends/cortex_m/kernels/transpose_conv2d/without_vectors.h"

namespace wick::cortex_m::scalar {

void quantized_transpose_conv2d(KernelContext& context, Span<EValue*> args) {
  quantized_transpose_conv2d_without_vectors<Scalar>(context, args);
}

}  // namespace wick::cortex_m::scalar
