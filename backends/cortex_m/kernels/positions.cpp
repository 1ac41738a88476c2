#include "backends/cortex_m/kernels/positions.h"

namespace wick::cortex_m {

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

}  // namespace wick::cortex_m
