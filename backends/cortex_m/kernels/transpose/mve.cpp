// transpose in memory order: runs that are contiguous in both tensors are copied. Otherwise planes are transposed,
// eight elements at a time: they consist of the innermost dimension of the input and that of the output.
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/reference.h"
#include "backends/cortex_m/kernels/transpose/transpose.h"

namespace wick::cortex_m::mve {
namespace {

struct Plane {
  int32_t rows, columns;       // columns are contiguous in the input, rows in the output
  int32_t from_step, to_step;  // between rows of the input, between columns of the output
};

void turn(const Plane& plane, const int8_t* x, int8_t* y) {
  const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), static_cast<uint16_t>(plane.to_step));
  for (int32_t row = 0; row < plane.rows; ++row, x += plane.from_step, ++y) {
    const int8_t* from = x;
    int8_t* to = y;
    for (int32_t left = plane.columns; left > 0; left -= 8, from += 8, to += 8 * plane.to_step) {
      const mve_pred16_t live = vctp16q(static_cast<uint32_t>(left));
      vstrbq_scatter_offset_p_s16(to, places, vldrbq_z_s16(from, live), live);
    }
  }
}

}  // namespace

void transpose(KernelContext& context, Span<EValue*> args) {
  Transpose c;
  if (!read_transpose(context, args, &c)) return;
  RunPlan runs = plan_runs(c.sizes, c.from, Steps(), c.to);
  const int32_t run = runs.sizes[0];
  if (run <= 1 || runs.a[0] == 1) {
    for_each_run(runs, [&](int32_t from, int32_t, int32_t to) { copy_bytes(c.y + to, c.x + from, run); });
    return;
  }
  for (size_t d = 1; d < kMaxMovedRank; ++d) {
    constexpr int32_t kMostStep = UINT16_MAX / 7;
    if (runs.a[d] != 1 || runs.sizes[d] == 1 || runs.to[d] > kMostStep) continue;
    const Plane plane = {run, runs.sizes[d], runs.a[0], runs.to[d]};
    runs.sizes[d] = 1;
    for_each_run(runs, [&](int32_t from, int32_t, int32_t to) { turn(plane, c.x + from, c.y + to); });
    return;
  }
  reference::transpose(context, args);
}

}  // namespace wick::cortex_m::mve
