#include "backends/cortex_m/kernels/transpose/without_vectors.h"

namespace wick::cortex_m::scalar {

void transpose(KernelContext& context, Span<EValue*> args) { transpose_by_runs(context, args); }

}  // namespace wick::cortex_m::scalar
