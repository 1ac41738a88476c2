#include "backends/cortex_m/kernels/pad/without_vectors.h"

namespace wick::cortex_m::dsp {

void pad(KernelContext& context, Span<EValue*> args) { pad_by_runs(context, args); }

}  // namespace wick::cortex_m::dsp
