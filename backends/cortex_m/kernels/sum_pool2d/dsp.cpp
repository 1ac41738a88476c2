#include "backends/cortex_m/kernels/isa/dsp.h"

#include "backends/cortex_m/kernels/sum_pool2d/without_vectors.h"

namespace wick::cortex_m::dsp {
namespace {

struct Pairs {
  static void add(uint32_t word, uint32_t* even, uint32_t* odd) {
    *even = static_cast<uint32_t>(__sxtab16(static_cast<int32_t>(*even), static_cast<int32_t>(word)));
    *odd = static_cast<uint32_t>(__sxtab16(static_cast<int32_t>(*odd), static_cast<int32_t>(word >> 8 | word << 24)));
  }
  static int32_t low(uint32_t pair, int32_t) { return static_cast<int16_t>(pair & 0xFFFFu); }
  static int32_t high(uint32_t pair, int32_t) { return static_cast<int16_t>(pair >> 16); }
};

}  // namespace

void sum_pool2d(KernelContext& context, Span<EValue*> args) { sum_pool2d_without_vectors<Pairs, Dsp>(context, args); }

}  // namespace wick::cortex_m::dsp
