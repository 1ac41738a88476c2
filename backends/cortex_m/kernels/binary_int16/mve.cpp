// add_int16 and mul_int16, four elements at a time, along runs in which each operand advances by 1 or stays. The
// equations: reference.cpp.
#include "backends/cortex_m/kernels/binary_int16/binary_int16.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

int32x4_t load(const int16_t* from, int32_t step, int32_t at, mve_pred16_t live) {
  return step == 0 ? vdupq_n_s32(*from) : vldrhq_z_s32(from + at, live);
}

/// y = clamp(requantize(combine(a, b))). Returns false, without a write, if an operand has another stride along the
/// runs.
template <typename Combine>
bool write_runs(const BinaryInt16& c, const Combine& combine) {
  RunPlan runs;
  if (!plan_broadcast(c.broadcast, &runs)) return false;
  const int32x4_t min = vdupq_n_s32(c.stage.min), max = vdupq_n_s32(c.stage.max);
  for_each_run(runs, [&](int32_t from_a, int32_t from_b, int32_t to) {
    for (int32_t at = 0; at < runs.sizes[0]; at += 4) {
      const mve_pred16_t live = vctp32q(static_cast<uint32_t>(runs.sizes[0] - at));
      const int32x4_t value = combine(load(c.a + from_a, runs.a[0], at, live), load(c.b + from_b, runs.b[0], at, live));
      const int32x4_t result = requantize_any(value, c.stage.multiplier, c.stage.shift);
      vstrhq_p_s32(c.y + to + at, clamp(result, min, max), live);
    }
  });
  return true;
}

}  // namespace

void add_int16(KernelContext& context, Span<EValue*> args) {
  BinaryInt16 add;
  if (!read_add_int16(context, args, &add)) return;
  const OutputStage first = add.operands[0], second = add.operands[1];
  const bool done = write_runs(add, [&](int32x4_t a, int32x4_t b) {
    return vaddq_s32(requantize_any(vshlq_n_s32(a, kAddShift), first.multiplier, first.shift),
                     requantize_any(vshlq_n_s32(b, kAddShift), second.multiplier, second.shift));
  });
  if (!done) reference::add_int16(context, args);
}

void mul_int16(KernelContext& context, Span<EValue*> args) {
  BinaryInt16 mul;
  if (!read_mul_int16(context, args, &mul)) return;
  if (!write_runs(mul, [](int32x4_t a, int32x4_t b) { return vmulq_s32(a, b); })) reference::mul_int16(context, args);
}

}  // namespace wick::cortex_m::mve
