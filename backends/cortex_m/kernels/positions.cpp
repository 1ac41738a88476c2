#include "backends/cortex_m/kernels/positions.h"

namespace wick::cortex_m {
namespace {

/// The steps of an operand for positions of the output: 0 in dimensions where it has size 1.
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

/// Whether the output has exactly the sizes to which the operands broadcast.
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

bool read_broadcast(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, Broadcast* broadcast) {
  settle_broadcast(a, b, out);
  if (!require(context, a.rank <= kMaxMovedRank && b.rank <= kMaxMovedRank && out.rank <= kMaxMovedRank,
               "a tensor has more than 4 dimensions") ||
      !require(context, is_broadcast_of(a, b, out), "the output does not have the sizes of the broadcast operands"))
    return false;
  broadcast->sizes = sizes_of(out);
  broadcast->to = steps_of(out);
  return read_steps(context, a, broadcast->sizes, &broadcast->a) &&
         read_steps(context, b, broadcast->sizes, &broadcast->b);
}

RunPlan plan_runs(const Sizes& sizes, const Steps& a, const Steps& b, const Steps& to) {
  RunPlan runs;
  size_t rank = 0;
  bool taken[kMaxMovedRank] = {};
  for (;;) {
    size_t next = kMaxMovedRank;
    for (size_t d = 0; d < kMaxMovedRank; ++d) {
      if (taken[d] || sizes.sizes[d] == 1) continue;
      if (next == kMaxMovedRank || to.steps[d] < to.steps[next]) next = d;
    }
    if (next == kMaxMovedRank) return runs;
    taken[next] = true;
    const int32_t size = static_cast<int32_t>(sizes.sizes[next]);
    if (size == 0) {
      runs.sizes[0] = 0;
      return runs;
    }
    const size_t last = rank - 1;
    const auto continues = [&](const int32_t* steps, const Steps& of) {
      return of.steps[next] == int64_t{steps[last]} * runs.sizes[last];
    };
    if (rank > 0 && continues(runs.a, a) && continues(runs.b, b) && continues(runs.to, to)) {
      runs.sizes[last] *= size;
      continue;
    }
    runs.sizes[rank] = size;
    runs.a[rank] = static_cast<int32_t>(a.steps[next]);
    runs.b[rank] = static_cast<int32_t>(b.steps[next]);
    runs.to[rank] = static_cast<int32_t>(to.steps[next]);
    ++rank;
  }
}

}  // namespace wick::cortex_m
