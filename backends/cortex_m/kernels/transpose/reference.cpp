// transpose(input, perm): dimension d of the output is dimension perm[d] of the input. int8, rank 1 to 4.
// The walk follows logical sizes, so the layouts of input and output do not matter. Source: arm_transpose_s8, which
// knows contiguous tensors only.
#include "backends/cortex_m/kernels/positions.h"

namespace wick::cortex_m {

void transpose(KernelContext& context, Span<EValue*> args) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[2]->tensor;
  const Span<const int64_t> perm = args[1]->ints();
  const size_t rank = input.rank;
  if (!require_int8(context, input, out) ||
      !require(context, rank > 0 && rank <= kMaxMovedRank && out.rank == rank && perm.size() == rank,
               "wanted an input and an output of one rank from 1 to 4, and as many dimensions in perm"))
    return;
  unsigned seen = 0;
  const size_t offset = kMaxMovedRank - rank;
  Steps from;
  for (size_t d = 0; d < rank; ++d) {
    if (!require(context, perm[d] >= 0 && static_cast<size_t>(perm[d]) < rank && !(seen >> perm[d] & 1u),
                 "perm is no permutation of the dimensions") ||
        !require(context, out.sizes[d] == input.sizes[perm[d]], "the output does not have the permuted sizes"))
      return;
    seen |= 1u << perm[d];
    from.steps[offset + d] = input.strides[perm[d]];
  }
  const int8_t* x = input.as<const int8_t>();
  int8_t* y = out.as<int8_t>();
  for_each_position(sizes_of(out), from, steps_of(out), Steps(), [&](int64_t i, int64_t j, int64_t) { y[j] = x[i]; });
}

}  // namespace wick::cortex_m
