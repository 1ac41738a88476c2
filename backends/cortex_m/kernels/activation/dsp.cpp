#include "backends/cortex_m/kernels/activation/without_vectors.h"

namespace wick::cortex_m::dsp {

void quantized_activation(KernelContext& context, Span<EValue*> args) { activation_without_vectors(context, args); }

}  // namespace wick::cortex_m::dsp
