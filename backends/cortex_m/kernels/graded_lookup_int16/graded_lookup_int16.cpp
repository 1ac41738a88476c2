#include "backends/cortex_m/kernels/graded_lookup_int16/graded_lookup_int16.h"

namespace wick::cortex_m {

bool read_graded_lookup_int16(KernelContext& context, Span<EValue*> args, GradedLookup* lookup) {
  const Tensor &x = *args[0]->tensor, &table = *args[1]->tensor;
  Tensor& y = *args[4]->tensor;
  settle_batch(x, y);
  if (!require_int16(context, x, y) || !require_dtype(context, table, DType::i32, "the table is not int32") ||
      !require(context, same_layout(x, y), "input and output differ in size or layout") ||
      !require(context, table.rank == 1 && is_contiguous(table), "the table is not a row"))
    return false;
  size_t half = 0;
  for (lookup->bits = 1; lookup->bits <= kMostGradedBits; ++lookup->bits) {
    half = GradedLookup::half_size(lookup->bits);
    if (table.numel == half + 1 || table.numel == 2 * half) break;
  }
  if (!require(context, lookup->bits <= kMostGradedBits, "the table has a number of elements that no grading has"))
    return false;
  lookup->of_positive = table.as<const int32_t>();
  lookup->of_negative = lookup->of_positive + half;
  lookup->negative_is_constant = table.numel == half + 1;
  lookup->count = x.numel;
  lookup->x = x.as<const int16_t>();
  lookup->y = y.as<int16_t>();
  return read_int16_range(context, *args[2], *args[3], &lookup->min, &lookup->max);
}

}  // namespace wick::cortex_m
