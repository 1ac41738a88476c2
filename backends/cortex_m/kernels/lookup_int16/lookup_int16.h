// The checked arguments of lookup_int16. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/int16.h"

namespace wick::cortex_m {

struct LookupInt16 {
  int32_t bits = 0;  // log2 of the distance between entries of the table
  int32_t min = INT16_MIN, max = INT16_MAX;
  size_t count = 0;
  const int16_t* x = nullptr;
  const int32_t* table = nullptr;
  int16_t* y = nullptr;
};
constexpr int32_t kTableFraction = 6;  // fractional bits of an entry
bool read_lookup_int16(KernelContext& context, Span<EValue*> args, LookupInt16* lookup);

}  // namespace wick::cortex_m
