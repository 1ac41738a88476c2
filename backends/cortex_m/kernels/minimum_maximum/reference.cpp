// minimum(a, b), maximum(a, b): element-wise on int8, broadcast as NumPy does, rank 4 at most.
// Source: arm_minimum_s8, arm_maximum_s8.
#include "backends/cortex_m/kernels/minimum_maximum/minimum_maximum.h"

namespace wick::cortex_m::reference {
namespace {

template <typename Select>
void write_all(KernelContext& context, Span<EValue*> args, const Select& select) {
  Extremum c;
  if (!read_extremum(context, args, &c)) return;
  c.broadcast.for_each([&](int64_t i, int64_t j, int64_t k) { c.y[k] = select(c.a[i], c.b[j]); });
}

}  // namespace

void minimum(KernelContext& context, Span<EValue*> args) {
  write_all(context, args, [](int8_t a, int8_t b) { return a < b ? a : b; });
}

void maximum(KernelContext& context, Span<EValue*> args) {
  write_all(context, args, [](int8_t a, int8_t b) { return a > b ? a : b; });
}

}  // namespace wick::cortex_m::reference
