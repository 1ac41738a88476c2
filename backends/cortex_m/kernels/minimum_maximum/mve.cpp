// minimum and maximum, 16 elements at a time along runs that are contiguous in the output. An operand advances with the
// output or stays.
#include "backends/cortex_m/kernels/minimum_maximum/minimum_maximum.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

template <typename Select>
void select_run(const int8_t* a, const int8_t* b, int8_t* y, const RunPlan& runs, const Select& select) {
  const int8x16_t same_a = vdupq_n_s8(*a), same_b = vdupq_n_s8(*b);
  const bool moves_a = runs.a[0] == 1, moves_b = runs.b[0] == 1;
  for (int32_t at = 0; at < runs.sizes[0]; at += 16) {
    const mve_pred16_t live = vctp8q(static_cast<uint32_t>(runs.sizes[0] - at));
    const int8x16_t first = moves_a ? vldrbq_z_s8(a + at, live) : same_a;
    const int8x16_t second = moves_b ? vldrbq_z_s8(b + at, live) : same_b;
    vstrbq_p_s8(y + at, select(first, second), live);
  }
}

/// Returns false if an operand has another stride along the run.
template <typename Select>
bool write_all(const Extremum& c, const Select& select) {
  RunPlan runs;
  if (!plan_broadcast(c.broadcast, &runs)) return false;
  for_each_run(runs, [&](int32_t a, int32_t b, int32_t to) { select_run(c.a + a, c.b + b, c.y + to, runs, select); });
  return true;
}

}  // namespace

void minimum(KernelContext& context, Span<EValue*> args) {
  Extremum c;
  if (!read_extremum(context, args, &c)) return;
  if (!write_all(c, [](int8x16_t a, int8x16_t b) { return vminq_s8(a, b); })) reference::minimum(context, args);
}

void maximum(KernelContext& context, Span<EValue*> args) {
  Extremum c;
  if (!read_extremum(context, args, &c)) return;
  if (!write_all(c, [](int8x16_t a, int8x16_t b) { return vmaxq_s8(a, b); })) reference::maximum(context, args);
}

}  // namespace wick::cortex_m::mve
