#include "backends/cortex_m/kernels/isa/scalar.h"

#include "backends/cortex_m/kernels/attention/without_vectors.h"

namespace wick::cortex_m::scalar {

void attention(KernelContext& context, Span<EValue*> args) { attention_without_vectors<Scalar>(context, args); }

}  // namespace wick::cortex_m::scalar
