#include "backends/cortex_m/kernels/resize2d/without_vectors.h"

namespace wick::cortex_m::dsp {

void resize2d(KernelContext& context, Span<EValue*> args) { resize2d_without_vectors(context, args); }

}  // namespace wick::cortex_m::dsp
