#include "backends/cortex_m/kernels/isa/scalar.h"

#include "backends/cortex_m/kernels/max_pool2d/without_vectors.h"

namespace wick::cortex_m::scalar {

void quantized_max_pool2d(KernelContext& context, Span<EValue*> args) {
  max_pool2d_without_vectors<Scalar>(context, args);
}

}  // namespace wick::cortex_m::scalar
