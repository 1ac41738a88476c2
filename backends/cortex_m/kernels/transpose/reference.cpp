// transpose(input, perm): dimension d of the output is dimension perm[d] of the input. int8, rank 1 to 4.
// It goes by logical sizes, so the layouts of input and output do not matter. Source: arm_transpose_s8, which supports
// only contiguous tensors.
#include "backends/cortex_m/kernels/transpose/transpose.h"

namespace wick::cortex_m::reference {

void transpose(KernelContext& context, Span<EValue*> args) {
  Transpose c;
  if (!read_transpose(context, args, &c)) return;
  for_each_position(c.sizes, c.from, c.to, Steps(), [&](int64_t i, int64_t j, int64_t) { c.y[j] = c.x[i]; });
}

}  // namespace wick::cortex_m::reference
