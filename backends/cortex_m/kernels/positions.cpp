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

}  // namespace

Sizes sizes_of(const Tensor& tensor) {
  Sizes result;
  for (size_t d = 0; d < tensor.rank; ++d) result.sizes[kMaxMovedRank - tensor.rank + d] = tensor.sizes[d];
  return result;
}

Steps steps_of(const Tensor& tensor) {
  Steps result;
  for (size_t d = 0; d < tensor.rank; ++d) result.steps[kMaxMovedRank - tensor.rank + d] = tensor.strides[d];
  return result;
}

bool read_broadcast(KernelContext& context, const Tensor& a, const Tensor& b, const Tensor& out, Broadcast* broadcast) {
  if (!require(context, a.rank <= kMaxMovedRank && b.rank <= kMaxMovedRank && out.rank <= kMaxMovedRank,
               "a tensor has more than 4 dimensions") ||
      !require(context, is_broadcast_of(a, b, out), "the output does not have the sizes of the broadcast operands"))
    return false;
  broadcast->sizes = sizes_of(out);
  broadcast->to = steps_of(out);
  return read_steps(context, a, broadcast->sizes, &broadcast->a) &&
         read_steps(context, b, broadcast->sizes, &broadcast->b);
}

}  // namespace wick::cortex_m
