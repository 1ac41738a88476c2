// sum_pool2d, 16 channels at a time in 16-bit lanes; for a single channel 16 pixels. The equation: reference.cpp.
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/seldom.h"
#include "backends/cortex_m/kernels/sum_pool2d/sum_pool2d.h"

namespace wick::cortex_m::mve {
namespace {

/// Converts even and odd words to eight elements. kRight: the shift is negative.
template <bool kRight>
class Finish {
 public:
  explicit Finish(const OutputStage& stage)
      : multiplier_(stage.multiplier),
        shift_(stage.shift),
        offset_(stage.offset),
        min_(vdupq_n_s16(static_cast<int16_t>(stage.min))),
        max_(vdupq_n_s16(static_cast<int16_t>(stage.max))) {}

  int16x8_t operator()(int32x4_t even, int32x4_t odd) const {
    if (kRight)
      return narrow(requantize_right(even, multiplier_, shift_), requantize_right(odd, multiplier_, shift_), offset_,
                    min_, max_);
    const int32x4_t min = vmovlbq_s16(min_), max = vmovlbq_s16(max_);
    const auto finished = [&](int32x4_t each) {
      return clamp(vaddq_n_s32(requantize_any(each, multiplier_, shift_), offset_), min, max);
    };
    return vmovntq_s32(vmovnbq_s32(vuninitializedq_s16(), finished(even)), finished(odd));
  }
  int16x8_t operator()(int16x8_t small, int32x4_t initial) const {
    return (*this)(vaddq_s32(initial, vmovlbq_s16(small)), vaddq_s32(initial, vmovltq_s16(small)));
  }

 private:
  int32_t multiplier_, shift_, offset_;
  int16x8_t min_, max_;
};

/// Computes 16 channels of each position, from x on. Requires: small sums.
template <bool kRight>
__attribute__((noinline)) void write_sixteen(const SumRun& run, const OutputStage& stage, const int8_t* x,
                                             int8_t* out) {
  const Finish<kRight> finish(stage);
  const SumTaps taps = run.taps;
  const int32x4_t initial = vdupq_n_s32(run.initial);
  const int32_t step = run.step;
  for (int32_t left = run.positions; left > 0; --left, x += step, out += run.channels) {
    int16x8_t low = vdupq_n_s16(0), high = low;
    for_each_tap(x, taps, [&](const int8_t* pixel) {
      low = vaddq_s16(low, vldrbq_s16(pixel));
      high = vaddq_s16(high, vldrbq_s16(pixel + 8));
    });
    vstrbq_s16(out, finish(low, initial));
    vstrbq_s16(out + 8, finish(high, initial));
  }
}

/// Computes eight channels, or those of `live`.
template <bool kRight, bool kAll>
__attribute__((noinline)) void write_eight(const SumRun& run, const OutputStage& stage, const int8_t* x, int8_t* out,
                                           mve_pred16_t live) {
  const Finish<kRight> finish(stage);
  const SumTaps taps = run.taps;
  const int32x4_t initial = vdupq_n_s32(run.initial);
  const int32_t step = run.step;
  for (int32_t left = run.positions; left > 0; --left, x += step, out += run.channels) {
    int16x8_t sum = vdupq_n_s16(0);
    for_each_tap(x, taps, [&](const int8_t* pixel) {
      sum = vaddq_s16(sum, kAll ? vldrbq_s16(pixel) : vldrbq_z_s16(pixel, live));
    });
    if (kAll)
      vstrbq_s16(out, finish(sum, initial));
    else
      vstrbq_p_s16(out, finish(sum, initial), live);
  }
}

/// Computes eight channels, or those of `live`, with more taps than small sums have.
template <bool kRight>
__attribute__((noinline)) void write_large(const SumRun& run, const OutputStage& stage, const int8_t* x, int8_t* out,
                                           mve_pred16_t live) {
  SumTaps taps = run.taps;
  for (int32_t left = run.positions; left > 0; --left, x += run.step, out += run.channels) {
    int32x4_t even = vdupq_n_s32(run.initial), odd = even;
    taps.x = x;
    for_each_small_part(taps, [&](const SumTaps& part) {
      int16x8_t sum = vdupq_n_s16(0);
      for_each_tap(part.x, part, [&](const int8_t* pixel) { sum = vaddq_s16(sum, vldrbq_z_s16(pixel, live)); });
      even = vaddq_s32(even, vmovlbq_s16(sum));
      odd = vaddq_s32(odd, vmovltq_s16(sum));
    });
    vstrbq_p_s16(out, Finish<kRight>(stage)(even, odd), live);
  }
}

template <bool kRight>
void write_channels(const SumRun& run, const OutputStage& stage) {
  const int8_t* x = run.taps.x;
  int8_t* out = run.out;
  int32_t left = run.lanes;
  if (!run.taps.has_small_sums()) {
    for (; left > 0; left -= 8, x += 8, out += 8)
      write_large<kRight>(run, stage, x, out, vctp16q(static_cast<uint32_t>(left)));
    return;
  }
  if (run.positions == 1) {
    write_sixteen<kRight>(run.blocks(16), stage, x, out);
    x += left / 16 * 16, out += left / 16 * 16, left %= 16;
  }
  for (; left >= 16; left -= 16, x += 16, out += 16) write_sixteen<kRight>(run, stage, x, out);
  for (; left >= 8; left -= 8, x += 8, out += 8) write_eight<kRight, true>(run, stage, x, out, 0);
  if (left > 0) write_eight<kRight, false>(run, stage, x, out, vctp16q(static_cast<uint32_t>(left)));
}

/// Computes a single channel, 16 pixels at a time.
void write_one_lane(const SumRun& run, const OutputStage& stage) {
  for (int32_t at = 0; at < run.positions; ++at) {
    int32_t sum = run.initial;
    const int8_t* x = run.taps.x + at * run.step;
    for (int32_t row = run.taps.rows; row > 0; --row, x += run.taps.row_bytes)
      sum = wrapping_add(sum, sum_of_bytes(x, run.taps.columns));
    run.out[at] = stage(sum);
  }
}

}  // namespace

void sum_pool2d(KernelContext& context, Span<EValue*> args) {
  SumPool2d pool;
  if (!read_sum_pool2d(context, args, &pool)) return;
  const auto write = pool.stage.shift < 0 ? write_channels<true> : write_channels<false>;
  for_each_run(pool, [&](const SumRun& run) {
    run.lanes == 1 && run.taps.pixel_bytes == 1 ? write_one_lane(run, pool.stage) : write(run, pool.stage);
  });
}

}  // namespace wick::cortex_m::mve
