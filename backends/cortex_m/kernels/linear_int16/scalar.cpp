#include "backends/cortex_m/kernels/isa/scalar.h"

#include "backends/cortex_m/kernels/linear_int16/without_vectors.h"

namespace wick::cortex_m::scalar {

void linear_int16(KernelContext& context, Span<EValue*> args) { linear_int16_without_vectors<Scalar>(context, args); }

}  // namespace wick::cortex_m::scalar
