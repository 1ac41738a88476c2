#include "backends/cortex_m/kernels/minimum_maximum/minimum_maximum.h"

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

}  // namespace

bool read_extremum(KernelContext& context, Span<EValue*> args, Extremum* extremum) {
  const Tensor &a = *args[0]->tensor, &b = *args[1]->tensor, &out = *args[2]->tensor;
  if (!require_int8(context, a, out) || !require_int8(context, b, out) ||
      !require(context, a.rank <= kMaxMovedRank && b.rank <= kMaxMovedRank && out.rank <= kMaxMovedRank,
               "a tensor has more than 4 dimensions") ||
      !require(context, is_broadcast_of(a, b, out), "the output does not have the sizes of the broadcast operands"))
    return false;
  extremum->sizes = sizes_of(out);
  extremum->to = steps_of(out);
  extremum->a = a.as<const int8_t>();
  extremum->b = b.as<const int8_t>();
  extremum->y = out.as<int8_t>();
  return read_steps(context, a, extremum->sizes, &extremum->a_steps) &&
         read_steps(context, b, extremum->sizes, &extremum->b_steps);
}

}  // namespace wick::cortex_m
