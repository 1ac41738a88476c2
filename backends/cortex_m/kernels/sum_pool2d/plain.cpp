// sum_pool2d on cores without vectors: four channels at a time, two sums in a word. C++17, freestanding.
#include "backends/cortex_m/kernels/gemm/tile.h"
#include "backends/cortex_m/kernels/isa/chosen.h"
#include "backends/cortex_m/kernels/sum_pool2d/sum_pool2d.h"

namespace wick::cortex_m::plain {
namespace {

using Pairs = Isa::ByteSums;

/// kRight: Isa::rescale can compute these sums with this scale.
template <bool kRight>
class SumFour {
 public:
  explicit SumFour(const OutputStage& stage) : stage_(stage), right_(-stage.shift) {}

  void write(const SumRun& run) const {
    write_saturated(run);
    const int8_t min = static_cast<int8_t>(stage_.min), max = static_cast<int8_t>(stage_.max);
    if (min == INT8_MIN && max == INT8_MAX) return;
    for (int32_t i = 0; i < run.positions * run.lanes; ++i)
      run.out[i] = run.out[i] < min ? min : run.out[i] > max ? max : run.out[i];
  }

 private:
  void write_saturated(const SumRun& run) const {
    if (run.lanes < 4) return write_few(run);
    if (run.positions == 1) write_block(run.blocks(4));
    // The last four may overlap those before.
    for (int32_t lane = run.positions == 1 ? run.lanes / 4 * 4 : 0; lane < run.lanes; lane += 4) {
      const int32_t at = lane + 4 <= run.lanes ? lane : run.lanes - 4;
      SumRun four = run;
      four.taps.x += at;
      four.out += at;
      write_block(four);
    }
  }
  void write_block(const SumRun& run) const { run.taps.has_small_sums() ? write_four(run) : write_large(run); }

  struct Words {
    uint32_t even = 0, odd = 0;
  };
  static Words words_of(const int8_t* x, const SumTaps& taps) {
    Words words;
    for_each_tap(x, taps, [&](const int8_t* pixel) { Pairs::add(load_word(pixel), &words.even, &words.odd); });
    return words;
  }

  __attribute__((noinline)) void write_four(const SumRun& run) const {
    const SumTaps taps = run.taps;
    const int32_t count = taps.rows * taps.columns, initial = run.initial, step = run.step;
    const int8_t* x = taps.x;
    int8_t* out = run.out;
    for (int32_t left = run.positions; left > 0; --left, x += step, out += run.channels) {
      const Words words = words_of(x, taps);
      out[0] = finish(initial + Pairs::low(words.even, count));
      out[1] = finish(initial + Pairs::low(words.odd, count));
      out[2] = finish(initial + Pairs::high(words.even, count));
      out[3] = finish(initial + Pairs::high(words.odd, count));
    }
  }

  /// Adds up elements 0 to 3 of all taps.
  static void add_large(const SumTaps& taps, int32_t (&sums)[4]) {
    for_each_small_part(taps, [&](const SumTaps& part) {
      const Words words = words_of(part.x, part);
      const int32_t count = part.rows * part.columns;
      sums[0] = wrapping_add(sums[0], Pairs::low(words.even, count));
      sums[1] = wrapping_add(sums[1], Pairs::low(words.odd, count));
      sums[2] = wrapping_add(sums[2], Pairs::high(words.even, count));
      sums[3] = wrapping_add(sums[3], Pairs::high(words.odd, count));
    });
  }

  __attribute__((noinline)) void write_large(const SumRun& run) const {
    SumTaps taps = run.taps;
    int8_t* out = run.out;
    for (int32_t left = run.positions; left > 0; --left, taps.x += run.step, out += run.channels) {
      int32_t sums[4] = {run.initial, run.initial, run.initial, run.initial};
      add_large(taps, sums);
      for (int32_t i = 0; i < 4; ++i) out[i] = finish(sums[i]);
    }
  }

  /// Computes fewer than four lanes. Four pixels of a single channel count as four lanes.
  __attribute__((noinline)) void write_few(const SumRun& run) const {
    const int32_t columns = run.taps.columns, pixel_bytes = run.taps.pixel_bytes;
    const int32_t fours = run.lanes == 1 && pixel_bytes == 1 ? columns / 4 : 0;
    int8_t* out = run.out;
    for (int32_t position = 0; position < run.positions; ++position) {
      SumTaps taps = run.taps;
      taps.x += position * run.step;
      for (int32_t lane = 0; lane < run.lanes; ++lane, ++taps.x, ++out) {
        int32_t sums[4] = {run.initial, 0, 0, 0};
        if (fours > 0) add_large({taps.x, taps.rows, fours, taps.row_bytes, 4}, sums);
        int32_t sum = wrapping_add(wrapping_add(sums[0], sums[1]), wrapping_add(sums[2], sums[3]));
        SumTaps rest = taps;
        rest.columns -= 4 * fours;
        for_each_tap(taps.x + 4 * fours, rest, [&](const int8_t* pixel) { sum = wrapping_add(sum, *pixel); });
        *out = finish(sum);
      }
    }
  }

  /// Rounds and adds the offset, without activation_min and activation_max.
  int8_t finish(int32_t sum) const {
    const int32_t value = kRight ? Isa::rescale(sum, stage_.multiplier, right_, stage_.offset)
                                 : wrapping_add(requantize(sum, stage_.multiplier, stage_.shift), stage_.offset);
    return static_cast<int8_t>(Isa::saturate_int8(value));
  }

  OutputStage stage_;
  int32_t right_;
};

}  // namespace

void sum_pool2d(KernelContext& context, Span<EValue*> args) {
  SumPool2d pool;
  if (!read_sum_pool2d(context, args, &pool)) return;
  const auto run = [&](const auto& sums) { for_each_run(pool, [&](const SumRun& each) { sums.write(each); }); };
  const bool is_small = pool.from.h * pool.from.w < 1 << 22;
  if (is_small && pool.stage.shift < 0)
    run(SumFour<true>(pool.stage));
  else
    run(SumFour<false>(pool.stage));
}

}  // namespace wick::cortex_m::plain
