#include "backends/cortex_m/kernels/isa/dsp.h"

#include "backends/cortex_m/kernels/linear/without_vectors.h"

namespace wick::cortex_m::dsp {

void quantized_linear(KernelContext& context, Span<EValue*> args) {
  quantized_linear_without_vectors<Dsp>(context, args);
}

void linear_per_channel(KernelContext& context, Span<EValue*> args) {
  linear_per_channel_without_vectors<Dsp>(context, args);
}

void linear_int4(KernelContext& context, Span<EValue*> args) { linear_int4_without_vectors<Dsp>(context, args); }

}  // namespace wick::cortex_m::dsp
