#include "runtime/kernels/indexing/index_plan.h"

#include "runtime/kernels/movement/arguments.h"

namespace wick {
namespace kernels {
namespace {

/// Index numbers for one dimension of self.
struct DimIndex {
  const void* data = nullptr;  // row-major
  DType dtype = DType::i64;
  int rank = 0;
  int64_t sizes[kMaxRank] = {};
};

bool is_mask(DType dtype) { return dtype == DType::boolean || dtype == DType::u8; }

/// Replaces a mask over self's dimensions first .. first + rank by one list of positions for each of them.
bool expand_mask(KernelContext& context, const Tensor& self, const Tensor& mask, int first, DimIndex* dims) {
  const View view = view_of(mask);
  const int rank = view.rank;
  if (!require(context, rank <= static_cast<int>(self.rank) - first, "too many indices for the tensor")) return false;
  for (int d = 0; d < rank; ++d) {
    if (!require(context, view.sizes[d] == self.sizes[first + d], "a mask does not have the shape of what it indexes"))
      return false;
  }
  const int64_t numel = static_cast<int64_t>(mask.numel);
  const uint8_t* bits = static_cast<const uint8_t*>(contiguous_data(context, mask));
  if (!bits) return false;
  int64_t count = 0;
  for (int64_t i = 0; i < numel; ++i) count += bits[i] != 0;
  const int lists = rank > 0 ? rank : 1;
  int64_t* positions = context.allocate_temp_array<int64_t>(static_cast<size_t>(count * lists));
  if (!positions) return false;
  int64_t at = 0;
  for (int64_t i = 0; i < numel && at < count; ++i) {
    if (bits[i] == 0) continue;
    int64_t rest = i;
    for (int d = rank - 1; d >= 0; --d) {
      positions[d * count + at] = rest % view.sizes[d];
      rest /= view.sizes[d];
    }
    if (rank == 0) positions[at] = 0;
    ++at;
  }
  for (int d = 0; d < lists; ++d) {
    dims[d].data = positions + d * count;
    dims[d].dtype = DType::i64;
    dims[d].rank = 1;
    dims[d].sizes[0] = at;
  }
  return true;
}

bool read_index(KernelContext& context, const Tensor& index, DimIndex* out) {
  if (!is_index_dtype(index.dtype)) {
    context.fail(Error::InvalidType, "an index tensor is neither i64, i32, bool nor u8");
    return false;
  }
  const View view = view_of(index);
  out->dtype = index.dtype;
  out->rank = view.rank;
  for (int d = 0; d < view.rank; ++d) out->sizes[d] = view.sizes[d];
  out->data = contiguous_data(context, index);
  return out->data != nullptr;
}

bool broadcast_shapes(KernelContext& context, const DimIndex* dims, const bool* used, int rank, IndexPlan* plan) {
  for (int i = 0; i < rank; ++i) {
    if (used[i] && dims[i].rank > plan->index_rank) plan->index_rank = dims[i].rank;
  }
  for (int d = 0; d < plan->index_rank; ++d) plan->index_sizes[d] = 1;
  for (int i = 0; i < rank; ++i) {
    for (int d = 0; used[i] && d < dims[i].rank; ++d) {
      int64_t& size = plan->index_sizes[plan->index_rank - dims[i].rank + d];
      if (size == 1) size = dims[i].sizes[d];
      if (!require(context, dims[i].sizes[d] == size || dims[i].sizes[d] == 1, "the index tensors do not broadcast"))
        return false;
    }
  }
  plan->count = checked_numel(plan->index_sizes, plan->index_rank);
  return require(context, plan->count >= 0, "the indexed tensor is too large");
}

/// Adds index * stride of one dimension to every origin.
bool add_dim(KernelContext& context, const DimIndex& index, int64_t size, int64_t stride, IndexPlan* plan) {
  int64_t strides[kMaxRank] = {};  // of `index` over the broadcast shape
  int64_t step = 1;
  for (int d = index.rank - 1; d >= 0; --d) {
    strides[plan->index_rank - index.rank + d] = index.sizes[d] == 1 ? 0 : step;
    step *= index.sizes[d];
  }
  int64_t position[kMaxRank] = {};
  int64_t offset = 0;
  for (int64_t i = 0; i < plan->count; ++i) {
    int64_t value;
    if (!wrap_index(context, load_index(index.data, index.dtype, offset), size, &value)) return false;
    plan->origins[i] += value * stride;
    for (int d = plan->index_rank - 1; d >= 0; --d) {
      offset += strides[d];
      if (++position[d] < plan->index_sizes[d]) break;
      offset -= strides[d] * plan->index_sizes[d];
      position[d] = 0;
    }
  }
  return true;
}

}  // namespace

int IndexPlan::result_shape(int64_t* sizes) const {
  const int rank = rest.rank + index_rank;
  if (rank > static_cast<int>(kMaxRank)) return -1;
  for (int d = 0; d < rank; ++d) {
    sizes[d] = d < insert_at                ? rest.sizes[d]
               : d < insert_at + index_rank ? index_sizes[d - insert_at]
                                            : rest.sizes[d - index_rank];
  }
  return rank;
}

bool plan_index(KernelContext& context, const Tensor& self, Span<Tensor*> indices, IndexPlan* plan) {
  const View view = view_of(self);
  DimIndex dims[kMaxRank + 1];
  bool used[kMaxRank + 1] = {};
  int next = 0;
  for (Tensor* index : indices) {
    if (!index) {
      if (!require(context, next < view.rank, "too many indices for the tensor")) return false;
      ++next;
    } else if (is_mask(index->dtype)) {
      if (!require(context, index->rank > 0, "a mask without dimensions is not supported")) return false;
      if (!expand_mask(context, self, *index, next, dims + next)) return false;
      for (int d = 0; d < index->rank; ++d) used[next++] = true;
    } else {
      if (!require(context, next < view.rank, "too many indices for the tensor")) return false;
      if (!read_index(context, *index, dims + next)) return false;
      used[next++] = true;
    }
  }
  if (!broadcast_shapes(context, dims, used, next, plan)) return false;
  plan->origins = context.allocate_temp_array<int64_t>(static_cast<size_t>(plan->count));
  if (!plan->origins) return false;
  for (int64_t i = 0; i < plan->count; ++i) plan->origins[i] = 0;
  int first = -1, last = -1, num_used = 0;
  plan->rest.data = view.data;
  for (int d = 0; d < view.rank; ++d) {
    if (d < next && used[d]) {
      if (first < 0) first = d;
      last = d;
      ++num_used;
      if (!add_dim(context, dims[d], view.sizes[d], view.strides[d], plan)) return false;
    } else {
      plan->rest.insert(plan->rest.rank, view.sizes[d], view.strides[d]);
    }
  }
  plan->insert_at = num_used > 0 && last - first + 1 == num_used ? first : 0;
  return true;
}

}  // namespace kernels
}  // namespace wick
