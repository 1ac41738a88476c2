// linear_int16 on cores without vectors: gemm.h. C++17, freestanding.
#include "backends/cortex_m/kernels/gemm/gemm_int16.h"
#include "backends/cortex_m/kernels/isa/chosen.h"
#include "backends/cortex_m/kernels/linear_int16/linear_int16.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::plain {

void linear_int16(KernelContext& context, Span<EValue*> args) {
  LinearInt16 linear;
  if (!read_linear_int16(context, args, &linear)) return;
  if (linear.num_inputs == 0) return reference::linear_int16(context, args);
  const auto count = static_cast<int32_t>(linear.num_outputs);
  const GemmInt16 gemm = {static_cast<int32_t>(linear.rows),
                          static_cast<int32_t>(linear.num_inputs),
                          count,
                          linear.weights,
                          &linear.channels,
                          0,
                          count};
  const MatrixRows<int16_t> rows = {linear.x, gemm.depth};
  run_with_tile({}, [&](Span<uint32_t> tile) { GemmInt16Tile<Isa>(gemm, tile).run(rows, linear.y); });
}

}  // namespace wick::cortex_m::plain
