#include "backends/cortex_m/kernels/isa/dsp.h"

#include "backends/cortex_m/kernels/attention_int16/without_vectors.h"

namespace wick::cortex_m::dsp {

void attention_int16(KernelContext& context, Span<EValue*> args) {
  attention_int16_without_vectors(context, args, Dsp::dot_int16);
}

}  // namespace wick::cortex_m::dsp
