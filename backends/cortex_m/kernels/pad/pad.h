// The checked arguments of pad and pad_contiguous. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/positions.h"

namespace wick::cortex_m {

/// The input is copied to the output, starting at element `first`; all other elements are `value`.
struct Pad {
  Sizes sizes;  // of the input
  Steps from, to;
  int64_t first = 0;
  int8_t value = 0;
  size_t count = 0;  // of the output
  const int8_t* x = nullptr;
  int8_t* y = nullptr;
};
/// Which memory orders the lists may have: `any` means that of the input for which the output's sizes result.
enum class PadOrder : uint8_t { any, contiguous };
bool read_pad(KernelContext& context, Span<EValue*> args, PadOrder order, Pad* pad);

}  // namespace wick::cortex_m
