#include "runtime/kernels/reduction/reduction.h"

namespace wick {
namespace kernels {
namespace {

bool add_dim(KernelContext& context, int64_t dim, int rank, uint32_t* mask) {
  const int64_t limit = rank == 0 ? 1 : rank;
  if (dim < -limit || dim >= limit) {
    context.fail(Error::InvalidArgument, "dim is out of range");
    return false;
  }
  const uint32_t bit = 1u << (dim < 0 ? dim + limit : dim);
  if ((*mask & bit) != 0) {
    context.fail(Error::InvalidArgument, "a dim is named twice");
    return false;
  }
  *mask |= bit;
  return true;
}

bool resize_out(KernelContext& context, const Tensor& in, uint32_t mask, bool keepdim, Tensor& out) {
  int32_t sizes[kMaxRank];
  size_t rank = 0;
  for (int d = 0; d < in.rank; ++d) {
    const bool gone = (mask >> d & 1) != 0;
    if (!gone || keepdim) sizes[rank++] = gone ? 1 : in.sizes[d];
  }
  const Error error = resize(out, Span<const int32_t>(sizes, rank));
  if (error != Error::Ok) context.fail(error, "out tensor does not take the reduced shape");
  return error == Error::Ok;
}

/// Stable: largest stride first.
void sort_by_stride(int rank, int64_t* sizes, int64_t* strides) {
  for (int i = 1; i < rank; ++i) {
    for (int k = i; k > 0 && strides[k - 1] < strides[k]; --k) {
      const int64_t size = sizes[k], stride = strides[k];
      sizes[k] = sizes[k - 1];
      strides[k] = strides[k - 1];
      sizes[k - 1] = size;
      strides[k - 1] = stride;
    }
  }
}

int merge(int rank, int64_t* sizes, int64_t* strides) {
  int last = -1;
  for (int k = 0; k < rank; ++k) {
    if (sizes[k] == 1) continue;
    if (last >= 0 && strides[last] == strides[k] * sizes[k]) {
      sizes[last] *= sizes[k];
      strides[last] = strides[k];
    } else {
      ++last;
      sizes[last] = sizes[k];
      strides[last] = strides[k];
    }
  }
  return last + 1;
}

/// Moves the kept dimension with the smallest stride to the end, because its elements share cache lines.
void put_closest_last(ReductionPlan* plan) {
  int closest = -1;
  for (int k = 0; k < plan->kept_rank; ++k) {
    if (plan->kept_sizes[k] > 1 && (closest < 0 || plan->kept_strides[k] < plan->kept_strides[closest])) closest = k;
  }
  for (int k = closest; k >= 0 && k + 1 < plan->kept_rank; ++k) {
    const int64_t size = plan->kept_sizes[k], stride = plan->kept_strides[k];
    const int dim = plan->kept_dims[k];
    plan->kept_sizes[k] = plan->kept_sizes[k + 1];
    plan->kept_strides[k] = plan->kept_strides[k + 1];
    plan->kept_dims[k] = plan->kept_dims[k + 1];
    plan->kept_sizes[k + 1] = size;
    plan->kept_strides[k + 1] = stride;
    plan->kept_dims[k + 1] = dim;
  }
}

}  // namespace

bool reduced_dims(KernelContext& context, const EValue& dims, int rank, uint32_t* mask) {
  *mask = 0;
  if (dims.tag == Tag::integer) return add_dim(context, dims.integer, rank, mask);
  for (int64_t dim : dims.ints()) {
    if (!add_dim(context, dim, rank, mask)) return false;
  }
  if (*mask == 0) *mask = ~0u;
  return true;
}

int64_t ReductionPlan::input_offset(int64_t output) const {
  int64_t offset = 0;
  for (int k = kept_rank; k-- > 0;) {
    offset += output % kept_sizes[k] * kept_strides[k];
    output /= kept_sizes[k];
  }
  return offset;
}

int64_t ReductionPlan::out_offset(int64_t output, const Tensor& out) const {
  int64_t offset = 0;
  for (int k = kept_rank; k-- > 0;) {
    offset += output % kept_sizes[k] * out.strides[out_dims[kept_dims[k]]];
    output /= kept_sizes[k];
  }
  return offset;
}

void ReductionPlan::load(LoadFn fn, size_t lane_bytes, int64_t offset, int64_t begin, int64_t count, void* to) const {
  uint8_t* target = static_cast<uint8_t*>(to);
  const int inner = reduced_rank - 1;
  while (count > 0) {
    int64_t rest = begin, at = offset, left = 1, stride = 1;
    for (int k = inner; k >= 0; --k) {
      const int64_t index = rest % reduced_sizes[k];
      if (k == inner) {
        left = reduced_sizes[k] - index;
        stride = reduced_strides[k];
      }
      at += index * reduced_strides[k];
      rest /= reduced_sizes[k];
    }
    const int64_t n = left < count ? left : count;
    fn(data + at * static_cast<int64_t>(element_bytes), stride, target, n);
    target += n * static_cast<int64_t>(lane_bytes);
    begin += n;
    count -= n;
  }
}

bool plan_reduction(KernelContext& context, const Tensor& in, uint32_t mask, bool keepdim, bool ordered, Tensor& out,
                    Tensor* out2, ReductionPlan* plan) {
  if (!resize_out(context, in, mask, keepdim, out)) return false;
  if (out2 && !resize_out(context, in, mask, keepdim, *out2)) return false;
  plan->data = in.as<const uint8_t>();
  plan->element_bytes = dtype_size_bytes(in.dtype);
  int next_out = 0;
  for (int d = 0; d < in.rank; ++d) {
    const bool gone = (mask >> d & 1) != 0;
    plan->out_dims[d] = gone && !keepdim ? -1 : next_out++;
    if (gone) {
      plan->reduced *= in.sizes[d];
      plan->reduced_sizes[plan->reduced_rank] = in.sizes[d];
      plan->reduced_strides[plan->reduced_rank++] = in.strides[d];
    } else {
      plan->outputs *= in.sizes[d];
      plan->kept_sizes[plan->kept_rank] = in.sizes[d];
      plan->kept_strides[plan->kept_rank] = in.strides[d];
      plan->kept_dims[plan->kept_rank++] = d;
    }
  }
  if (!ordered) sort_by_stride(plan->reduced_rank, plan->reduced_sizes, plan->reduced_strides);
  plan->reduced_rank = merge(plan->reduced_rank, plan->reduced_sizes, plan->reduced_strides);
  put_closest_last(plan);
  return true;
}

}  // namespace kernels
}  // namespace wick
