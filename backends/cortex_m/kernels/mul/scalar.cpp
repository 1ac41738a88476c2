#include "backends/cortex_m/kernels/isa/scalar.h"

#include "backends/cortex_m/kernels/mul/without_vectors.h"

namespace wick::cortex_m::scalar {

void quantized_mul(KernelContext& context, Span<EValue*> args) { quantized_mul_without_vectors<Scalar>(context, args); }

}  // namespace wick::cortex_m::scalar
