#include "backends/cortex_m/kernels/isa/dsp.h"

#include "backends/cortex_m/kernels/add/without_vectors.h"

namespace wick::cortex_m::dsp {

void quantized_add(KernelContext& context, Span<EValue*> args) { quantized_add_without_vectors<Dsp>(context, args); }

}  // namespace wick::cortex_m::dsp
