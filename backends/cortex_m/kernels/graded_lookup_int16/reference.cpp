// wick_cortex_m::graded_lookup_int16(input, table, activation_min, activation_max): int16 elements, and an int32 table
// of outputs with 6 fractional bits. Entries lie closer together near 0: there are 2^n of them between each power of 2
// and the next, n from 1 to 14. For x >= 0:
//   e = max(0, floor(log2 x) - n),  j = e 2^n + (x >> e),  r = x mod 2^e
//   v = table[j] + ((table[j + 1] - table[j]) r >> e)
//   y = clamp(v + 32 >> 6)
// The entry for 32768 is the last one, j = (16 - n) 2^n. The M = (16 - n) 2^n + 2 entries for x >= 0 are followed by a
// single entry for all x < 0, or by M entries for -x. Differences, products and sums wrap at 32 bits.
#include "backends/cortex_m/kernels/graded_lookup_int16/graded_lookup_int16.h"

namespace wick::cortex_m::reference {

void graded_lookup_int16(KernelContext& context, Span<EValue*> args) {
  GradedLookup lookup;
  if (read_graded_lookup_int16(context, args, &lookup)) write_graded_lookup(lookup);
}

}  // namespace wick::cortex_m::reference
