// The checked arguments of pad and pad_contiguous. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/positions.h"

namespace wick::cortex_m {

/// The input goes to the output from element `first` on; `value` is everywhere else.
struct Pad {
  Sizes sizes;  // of the input
  Steps from, to;
  int64_t first = 0;
  int8_t value = 0;
  size_t count = 0;  // of the output
  const int8_t* x = nullptr;
  int8_t* y = nullptr;
};
/// Which orders of memory the lists may be in: `any` is that of the input, under which the sizes of the output come
/// out.
enum class PadOrder : uint8_t { any, contiguous };
bool read_pad(KernelContext& context, Span<EValue*> args, PadOrder order, Pad* pad);

}  // namespace wick::cortex_m
