// The checked arguments of quantized_add and wick_cortex_m::add. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/operands.h"
#include "backends/cortex_m/kernels/positions.h"

namespace wick::cortex_m {

/// An operand converted to the scale of the sum: requantize((value - zero_point) * 2^20).
struct Addend {
  int32_t zero_point = 0;
  OutputStage scale;

  int32_t operator()(int8_t value) const {
    constexpr int32_t kLeftShift = 20;
    return requantize(wrapping_shift_left(value - zero_point, kLeftShift), scale.multiplier, scale.shift);
  }
};

struct Add {
  Operands operands;
  Addend first, second;
  OutputStage stage;
  size_t count = 0;
  const int8_t *a = nullptr, *b = nullptr;
  int8_t* y = nullptr;
};
bool read_add(KernelContext& context, Span<EValue*> args, Add* add);

/// The arguments of wick_cortex_m::add; `add.operands` is not used.
struct BroadcastAdd {
  Add add;
  Broadcast broadcast;
};
bool read_broadcast_add(KernelContext& context, Span<EValue*> args, BroadcastAdd* c);

}  // namespace wick::cortex_m
