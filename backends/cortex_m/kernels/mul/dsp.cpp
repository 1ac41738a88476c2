#include "backends/cortex_m/kernels/isa/dsp.h"

#include "backends/cortex_m/kernels/mul/without_vectors.h"

namespace wick::cortex_m::dsp {

void quantized_mul(KernelContext& context, Span<EValue*> args) { quantized_mul_without_vectors<Dsp>(context, args); }

}  // namespace wick::cortex_m::dsp
