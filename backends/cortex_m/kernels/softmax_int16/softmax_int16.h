// The checked arguments of softmax_int16. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/int16.h"
#include "backends/cortex_m/kernels/softmax/softmax.h"

namespace wick::cortex_m {

constexpr int32_t kQuotientBits = 30;

struct SoftmaxInt16 {
  int32_t multiplier = 0, shift = 0;  // from differences of elements to exponents
  OutputStage stage;
  int32_t columns = 0;
  size_t count = 0;
  const int16_t* x = nullptr;
  int16_t* y = nullptr;

  int16_t finish(int32_t quotient) const {
    return clamp_int16(requantize(quotient, stage.multiplier, stage.shift), stage.min, stage.max);
  }
};
bool read_softmax_int16(KernelContext& context, Span<EValue*> args, SoftmaxInt16* softmax);

}  // namespace wick::cortex_m
