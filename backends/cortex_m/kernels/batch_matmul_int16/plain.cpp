#include "backends/cortex_m/kernels/batch_matmul_int16/batch_matmul_int16.h"
#include "backends/cortex_m/kernels/isa/chosen.h"

namespace wick::cortex_m::plain {

void batch_matmul_int16(KernelContext& context, Span<EValue*> args) {
  batch_matmul_int16_with(context, args, Isa::dot_int16);
}

}  // namespace wick::cortex_m::plain
