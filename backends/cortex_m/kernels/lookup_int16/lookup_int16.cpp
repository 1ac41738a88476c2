#include "backends/cortex_m/kernels/lookup_int16/lookup_int16.h"

namespace wick::cortex_m {

bool read_lookup_int16(KernelContext& context, Span<EValue*> args, LookupInt16* lookup) {
  const Tensor &x = *args[0]->tensor, &table = *args[1]->tensor;
  Tensor& y = *args[4]->tensor;
  settle_batch(x, y);
  if (!require_int16(context, x, y) || !require_dtype(context, table, DType::i32, "the table is not int32") ||
      !require(context, same_layout(x, y), "input and output differ in size or layout") ||
      !require(context, table.rank == 1 && is_contiguous(table), "the table is not a row"))
    return false;
  for (lookup->bits = 1; lookup->bits < 16; ++lookup->bits) {
    if (table.numel == (size_t{1} << (16 - lookup->bits)) + 1) break;
  }
  lookup->count = x.numel;
  lookup->x = x.as<const int16_t>();
  lookup->table = table.as<const int32_t>();
  lookup->y = y.as<int16_t>();
  return require(context, lookup->bits < 16, "the table does not have 2^n + 1 elements, n from 1 to 15") &&
         read_int16_range(context, *args[2], *args[3], &lookup->min, &lookup->max);
}

}  // namespace wick::cortex_m
