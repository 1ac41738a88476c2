#include "backends/cortex_m/kernels/avg_pool2d/without_vectors.h"

namespace wick::cortex_m::dsp {

void quantized_avg_pool2d(KernelContext& context, Span<EValue*> args) { avg_pool2d_without_vectors(context, args); }

}  // namespace wick::cortex_m::dsp
