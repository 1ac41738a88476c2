// wick_cortex_m::lookup_int16(input, table [2^n + 1], activation_min, activation_max): int16 elements, and an int32
// table of outputs with 6 fractional bits. Entry j belongs to the input -32768 + j 2^b, b = 16 - n.
//   v = table[j] + ((table[j + 1] - table[j]) r >> b),  x + 32768 = j 2^b + r,  0 <= r < 2^b
//   y = clamp(v + 32 >> 6)
// Differences, products and sums wrap at 32 bits.
#include "backends/cortex_m/kernels/lookup_int16/lookup_int16.h"

namespace wick::cortex_m::reference {

void lookup_int16(KernelContext& context, Span<EValue*> args) {
  LookupInt16 lookup;
  if (!read_lookup_int16(context, args, &lookup)) return;
  const int32_t bits = lookup.bits, mask = (1 << bits) - 1, half = 1 << (kTableFraction - 1);
  for (size_t i = 0; i < lookup.count; ++i) {
    const int32_t at = lookup.x[i] - INT16_MIN, rest = at & mask;
    const int32_t* pair = lookup.table + (at >> bits);
    const int32_t rise = wrapping_mul(wrapping_add(pair[1], wrapping_mul(pair[0], -1)), rest) >> bits;
    const int32_t value = wrapping_add(wrapping_add(pair[0], rise), half) >> kTableFraction;
    lookup.y[i] = clamp_int16(value, lookup.min, lookup.max);
  }
}

}  // namespace wick::cortex_m::reference
