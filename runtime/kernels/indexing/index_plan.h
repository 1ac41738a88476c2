// Shared by index.Tensor and index_put: self[indices] as a list of origins and a view of the part at each.
#pragma once
#include "runtime/kernels/movement/strided.h"
#include "wick/kernel.h"

namespace wick {
namespace kernels {

/// The indexed tensor's shape is rest.sizes with index_sizes inserted before dimension `insert_at`.
struct IndexPlan {
  View rest;           // the dimensions without an index, strides and data of self
  int index_rank = 0;  // rank of the broadcast shape of the index tensors
  int64_t index_sizes[kMaxRank] = {};
  int insert_at = 0;           // the first indexed dimension if the indexed ones are adjacent, else 0
  int64_t count = 1;           // product of index_sizes
  int64_t* origins = nullptr;  // in temp: for each index, the offset in elements of its part of self; inside self

  /// Sizes of the result and its rank; -1 if it has too many dimensions.
  int result_shape(int64_t* sizes) const;
};

/// Null entries, and dimensions after the list, are taken whole. A bool or u8 tensor stands for the positions that are
/// set. Negative indices wrap. Fails the context and returns false for any index out of range.
bool plan_index(KernelContext& context, const Tensor& self, Span<Tensor*> indices, IndexPlan* plan);

}  // namespace kernels
}  // namespace wick
