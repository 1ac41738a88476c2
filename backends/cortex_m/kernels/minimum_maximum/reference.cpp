// minimum(a, b), maximum(a, b): element-wise on int8, broadcast as NumPy does, rank 4 at most.
// Source: arm_minimum_s8, arm_maximum_s8.
#include "backends/cortex_m/kernels/positions.h"

namespace wick::cortex_m {
namespace {

/// The steps of an operand that is read at each position of the output: 0 where it has size 1.
bool read_steps(KernelContext& context, const Tensor& operand, const Sizes& wanted, Steps* steps) {
  const Sizes sizes = sizes_of(operand);
  *steps = steps_of(operand);
  bool fits = true;
  for (size_t d = 0; d < kMaxMovedRank; ++d) {
    fits = fits && (sizes.sizes[d] == wanted.sizes[d] || sizes.sizes[d] == 1);
    if (sizes.sizes[d] == 1) steps->steps[d] = 0;
  }
  return require(context, fits, "an operand does not broadcast to the output");
}

/// The output has the sizes of the broadcast operands, not more.
bool is_broadcast_of(const Tensor& a, const Tensor& b, const Tensor& out) {
  if (out.rank != (a.rank > b.rank ? a.rank : b.rank)) return false;
  const Sizes x = sizes_of(a), y = sizes_of(b), z = sizes_of(out);
  for (size_t d = 0; d < kMaxMovedRank; ++d) {
    if (z.sizes[d] != (x.sizes[d] == 1 ? y.sizes[d] : x.sizes[d])) return false;
  }
  return true;
}

template <typename Select>
void select(KernelContext& context, Span<EValue*> args, const Select& chosen) {
  const Tensor &a = *args[0]->tensor, &b = *args[1]->tensor;
  Tensor& out = *args[2]->tensor;
  if (!require_int8(context, a, out) || !require_int8(context, b, out) ||
      !require(context, a.rank <= kMaxMovedRank && b.rank <= kMaxMovedRank && out.rank <= kMaxMovedRank,
               "a tensor has more than 4 dimensions") ||
      !require(context, is_broadcast_of(a, b, out), "the output does not have the sizes of the broadcast operands"))
    return;
  const Sizes sizes = sizes_of(out);
  Steps steps_a, steps_b;
  if (!read_steps(context, a, sizes, &steps_a) || !read_steps(context, b, sizes, &steps_b)) return;
  const int8_t *x = a.as<const int8_t>(), *y = b.as<const int8_t>();
  int8_t* z = out.as<int8_t>();
  for_each_position(sizes, steps_a, steps_b, steps_of(out),
                    [&](int64_t i, int64_t j, int64_t k) { z[k] = chosen(x[i], y[j]); });
}

}  // namespace

void minimum(KernelContext& context, Span<EValue*> args) {
  select(context, args, [](int8_t a, int8_t b) { return a < b ? a : b; });
}

void maximum(KernelContext& context, Span<EValue*> args) {
  select(context, args, [](int8_t a, int8_t b) { return a > b ? a : b; });
}

}  // namespace wick::cortex_m
