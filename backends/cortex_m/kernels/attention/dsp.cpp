#include "backends/cortex_m/kernels/isa/dsp.h"

#include "backends/cortex_m/kernels/attention/without_vectors.h"

namespace wick::cortex_m::dsp {

void attention(KernelContext& context, Span<EValue*> args) { attention_without_vectors<Dsp>(context, args); }

}  // namespace wick::cortex_m::dsp
