#include "backends/cortex_m/kernels/isa/dsp.h"

#include "backends/cortex_m/kernels/linear_int16/without_vectors.h"

namespace wick::cortex_m::dsp {

void linear_int16(KernelContext& context, Span<EValue*> args) { linear_int16_without_vectors<Dsp>(context, args); }

}  // namespace wick::cortex_m::dsp
