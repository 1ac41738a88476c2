#include "backends/cortex_m/kernels/softmax/without_vectors.h"

namespace wick::cortex_m::dsp {

void softmax(KernelContext& context, Span<EValue*> args) { softmax_by_table(context, args); }

}  // namespace wick::cortex_m::dsp
