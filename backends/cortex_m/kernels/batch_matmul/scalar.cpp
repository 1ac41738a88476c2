#include "backends/cortex_m/kernels/isa/scalar.h"

#include "backends/cortex_m/kernels/batch_matmul/without_vectors.h"

namespace wick::cortex_m::scalar {

void quantized_batch_matmul(KernelContext& context, Span<EValue*> args) {
  quantized_batch_matmul_without_vectors<Scalar>(context, args);
}

}  // namespace wick::cortex_m::scalar
