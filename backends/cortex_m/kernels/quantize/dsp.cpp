#include "backends/cortex_m/kernels/quantize/without_vectors.h"

namespace wick::cortex_m::dsp {

void quantize_per_tensor(KernelContext& context, Span<EValue*> args) { quantize_without_vectors(context, args); }

}  // namespace wick::cortex_m::dsp
