#include "backends/cortex_m/kernels/isa/dsp.h"

#include "backends/cortex_m/kernels/batch_matmul_int16/batch_matmul_int16.h"

namespace wick::cortex_m::dsp {

void batch_matmul_int16(KernelContext& context, Span<EValue*> args) {
  batch_matmul_int16_with(context, args, Dsp::dot_int16);
}

}  // namespace wick::cortex_m::dsp
