// wick_cortex_m::graded_lookup_int16(input, table, activation_min, activation_max): int16 elements, an int32 table of
// outputs with 6 bits behind the point, whose elements lie the closer the smaller the input is: 2^n of them between
// each power of 2 and the next, n from 1 to 14. For x >= 0:
//   e = max(0, floor(log2 x) - n),  j = e 2^n + (x >> e),  r = x mod 2^e
//   v = table[j] + ((table[j + 1] - table[j]) r >> e)
//   y = clamp(v + 32 >> 6)
// For 32768 the last one is j = (16 - n) 2^n. A table of M = (16 - n) 2^n + 2 elements for x >= 0 is followed by one
// element, which all x < 0 have, or by M elements for -x. Differences, products and sums wrap at 32 bits.
#include "backends/cortex_m/kernels/int16.h"

namespace wick::cortex_m::reference {
namespace {

constexpr int32_t kFraction = 6, kMostBits = 14;

struct GradedLookup {
  const int32_t *of_positive = nullptr, *of_negative = nullptr;
  int32_t bits = 0, min = 0, max = 0;
  bool negative_is_constant = false;

  static size_t half_size(int32_t bits) { return (static_cast<size_t>(16 - bits) << bits) + 2; }

  int32_t at(const int32_t* table, int32_t x) const {
    const int32_t width = 32 - __builtin_clz(static_cast<uint32_t>(x) | 1U);  // floor(log2 x) + 1
    const int32_t e = width - 1 > bits ? width - 1 - bits : 0, rest = x & ((1 << e) - 1);
    const int32_t* pair = table + (e << bits) + (x >> e);
    if (rest == 0) return pair[0];
    const int32_t rise = wrapping_mul(wrapping_add(pair[1], wrapping_mul(pair[0], -1)), rest) >> e;
    return wrapping_add(pair[0], rise);
  }
  int16_t operator()(int32_t x) const {
    const int32_t value = x >= 0 ? at(of_positive, x) : negative_is_constant ? *of_negative : at(of_negative, -x);
    return clamp_int16(wrapping_add(value, 1 << (kFraction - 1)) >> kFraction, min, max);
  }
};

bool read_graded_lookup(KernelContext& context, Span<EValue*> args, GradedLookup* lookup) {
  const Tensor &x = *args[0]->tensor, &table = *args[1]->tensor, &y = *args[4]->tensor;
  if (!require_int16(context, x, y) || !require_dtype(context, table, DType::i32, "the table is not int32") ||
      !require(context, same_layout(x, y), "input and output differ in size or layout") ||
      !require(context, table.rank == 1 && is_contiguous(table), "the table is not a row"))
    return false;
  size_t half = 0;
  for (lookup->bits = 1; lookup->bits <= kMostBits; ++lookup->bits) {
    half = GradedLookup::half_size(lookup->bits);
    if (table.numel == half + 1 || table.numel == 2 * half) break;
  }
  if (!require(context, lookup->bits <= kMostBits, "the table has a number of elements that no grading has"))
    return false;
  lookup->of_positive = table.as<const int32_t>();
  lookup->of_negative = lookup->of_positive + half;
  lookup->negative_is_constant = table.numel == half + 1;
  return read_int16_range(context, *args[2], *args[3], &lookup->min, &lookup->max);
}

}  // namespace

void graded_lookup_int16(KernelContext& context, Span<EValue*> args) {
  GradedLookup lookup;
  if (!read_graded_lookup(context, args, &lookup)) return;
  const auto* x = args[0]->tensor->as<const int16_t>();
  auto* y = args[4]->tensor->as<int16_t>();
  for (size_t i = 0; i < args[0]->tensor->numel; ++i) y[i] = lookup(x[i]);
}

}  // namespace wick::cortex_m::reference
