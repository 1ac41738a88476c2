#include "backends/cortex_m/kernels/linear_int16/linear_int16.h"
#include "backends/cortex_m/kernels/mve/gemm_int16.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {

void linear_int16(KernelContext& context, Span<EValue*> args) {
  LinearInt16 linear;
  if (!read_linear_int16(context, args, &linear)) return;
  if (linear.num_inputs == 0) return reference::linear_int16(context, args);
  const auto terms = static_cast<int32_t>(linear.num_inputs), count = static_cast<int32_t>(linear.num_outputs);
  const GemmInt16 gemm = {terms, count, linear.weights, &linear.channels, 0};
  for (auto left = static_cast<int32_t>(linear.rows); left > 0; left -= GemmInt16::kRows) {
    const int16_t* const rows[GemmInt16::kRows] = {linear.x, linear.x + terms, linear.x + 2 * terms};
    gemm.run(rows, left < GemmInt16::kRows ? left : GemmInt16::kRows, linear.y, count);
    linear.x += GemmInt16::kRows * terms;
    linear.y += GemmInt16::kRows * count;
  }
}

}  // namespace wick::cortex_m::mve
