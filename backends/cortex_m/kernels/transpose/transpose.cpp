#include "backends/cortex_m/kernels/transpose/transpose.h"

namespace wick::cortex_m {

bool read_transpose(KernelContext& context, Span<EValue*> args, Transpose* transpose) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[2]->tensor;
  const Span<const int64_t> perm = args[1]->ints();
  const size_t rank = input.rank;
  if (!require_int8(context, input, out) ||
      !require(context, rank > 0 && rank <= kMaxMovedRank && out.rank == rank && perm.size() == rank,
               "wanted an input and an output of one rank from 1 to 4, and as many dimensions in perm"))
    return false;
  if (perm[0] == 0) settle_batch(input, out);
  unsigned seen = 0;
  const size_t offset = kMaxMovedRank - rank;
  for (size_t d = 0; d < rank; ++d) {
    if (!require(context, perm[d] >= 0 && static_cast<size_t>(perm[d]) < rank && !(seen >> perm[d] & 1u),
                 "perm is no permutation of the dimensions") ||
        !require(context, out.sizes[d] == input.sizes[perm[d]], "the output does not have the permuted sizes"))
      return false;
    seen |= 1u << perm[d];
    transpose->from.steps[offset + d] = input.strides[perm[d]];
  }
  transpose->sizes = sizes_of(out);
  transpose->to = steps_of(out);
  transpose->x = input.as<const int8_t>();
  transpose->y = out.as<int8_t>();
  return true;
}

}  // namespace wick::cortex_m
