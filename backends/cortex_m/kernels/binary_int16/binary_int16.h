// The checked arguments of add_int16 and mul_int16. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/int16.h"
#include "backends/cortex_m/kernels/positions.h"

namespace wick::cortex_m {

struct BinaryInt16 {
  Broadcast broadcast;
  OutputStage stage;        // multiplier, shift and range of the result
  OutputStage operands[2];  // multipliers and shifts of add_int16
  const int16_t *a = nullptr, *b = nullptr;
  int16_t* y = nullptr;
};
bool read_add_int16(KernelContext& context, Span<EValue*> args, BinaryInt16* add);
bool read_mul_int16(KernelContext& context, Span<EValue*> args, BinaryInt16* mul);

constexpr int32_t kAddShift = 15;  // add_int16 shifts its operands left by so many bits

}  // namespace wick::cortex_m
