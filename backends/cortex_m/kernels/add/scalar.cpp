#include "backends/cortex_m/kernels/isa/scalar.h"

#include "backends/cortex_m/kernels/add/without_vectors.h"

namespace wick::cortex_m::scalar {

void quantized_add(KernelContext& context, Span<EValue*> args) { quantized_add_without_vectors<Scalar>(context, args); }

}  // namespace wick::cortex_m::scalar
