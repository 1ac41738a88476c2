#include "backends/cortex_m/kernels/batch_matmul_int16/batch_matmul_int16.h"
#include "backends/cortex_m/kernels/mve/vectors.h"

namespace wick::cortex_m::mve {

void batch_matmul_int16(KernelContext& context, Span<EValue*> args) {
  batch_matmul_int16_with(context, args, dot_int16);
}

}  // namespace wick::cortex_m::mve
