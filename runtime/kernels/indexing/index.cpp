// index.Tensor, index_put and index_put_.
#include <string.h>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/indexing/accumulate.h"
#include "runtime/kernels/indexing/index_plan.h"
#include "runtime/kernels/movement/arguments.h"

namespace wick {
namespace kernels {
namespace {

/// Splits `result`, which has the plan's result shape, into offsets along the index dimensions and a view like
/// plan.rest.
struct ResultParts {
  View part;
  int rank;
  int64_t sizes[kMaxRank];
  int64_t strides[kMaxRank];

  ResultParts(const IndexPlan& plan, const View& result) : part(result), rank(plan.index_rank) {
    for (int d = 0; d < rank; ++d) {
      sizes[d] = result.sizes[plan.insert_at + d];
      strides[d] = result.strides[plan.insert_at + d];
    }
    for (int d = 0; d < rank; ++d) part.erase(plan.insert_at);
  }
  /// Offset in elements of the part for index position i.
  int64_t offset(int64_t i) const {
    int64_t sum = 0;
    for (int d = rank - 1; d >= 0; --d) {
      sum += i % sizes[d] * strides[d];
      i /= sizes[d];
    }
    return sum;
  }
};

/// body(result offset, self offset) for every index position, in order.
template <typename Body>
void for_each_part(const IndexPlan& plan, const ResultParts& parts, int64_t begin, int64_t end, const Body& body) {
  for (int64_t i = begin; i < end; ++i) body(parts.offset(i), plan.origins[i]);
}

bool is_dense(const View& view) {
  int64_t stride = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    if (view.sizes[d] != 1 && view.strides[d] != stride) return false;
    stride *= view.sizes[d];
  }
  return true;
}

void add_rows(float* to, const float* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

/// Puts one element for each index; `values` are row-major. False, with nothing done, for dtypes that cannot be added
/// here.
bool put_elements(const IndexPlan& plan, const View& values, DType dtype, bool accumulate) {
  const auto put = [&](auto zero, const auto& join) {
    using T = decltype(zero);
    T* to = reinterpret_cast<T*>(plan.rest.data);
    const T* from = reinterpret_cast<const T*>(values.data);
    for (int64_t i = 0; i < plan.count; ++i) to[plan.origins[i]] = join(to[plan.origins[i]], from[i]);
  };
  if (accumulate)
    return dispatch_real(dtype, [&](auto zero) { put(zero, [](auto a, auto b) { return add_elements(a, b); }); });
  return dispatch_size(dtype, [&](auto zero) { put(zero, [](auto, auto b) { return b; }); });
}

void put(KernelContext& context, Tensor& self, Span<Tensor*> indices, const View& values, DType values_dtype,
         bool accumulate) {
  IndexPlan plan;
  int64_t sizes[kMaxRank];
  if (!plan_index(context, self, indices, &plan)) return;
  const int rank = plan.result_shape(sizes);
  if (!require(context, rank >= 0, "the indexed tensor has too many dimensions")) return;
  if (!require_dtype(context, self, values_dtype, "values have a different dtype than self")) return;
  View source;
  if (!require(context, broadcast_view(values, sizes, rank, &source), "values do not broadcast to the indexed shape"))
    return;
  if (plan.count == 0 || plan.rest.numel() == 0) return;
  const ResultParts parts(plan, source);
  const size_t element_size = dtype_size_bytes(self.dtype),
               row_bytes = static_cast<size_t>(plan.rest.numel()) * element_size;
  const bool rows = is_dense(plan.rest) && is_dense(parts.part);
  if (plan.rest.numel() == 1 && is_dense(source) && put_elements(plan, source, self.dtype, accumulate)) return;
  for_each_part(plan, parts, 0, plan.count, [&](int64_t from, int64_t to) {
    View dst = plan.rest, src = parts.part;
    dst.advance(to, element_size);
    src.advance(from, element_size);
    if (rows && !accumulate) {
      memmove(dst.data, src.data, row_bytes);
    } else if (rows && self.dtype == DType::f32) {
      add_rows(reinterpret_cast<float*>(dst.data), reinterpret_cast<const float*>(src.data), plan.rest.numel());
    } else if (accumulate) {
      accumulate_view(context, self.dtype, dst, src);
    } else {
      copy_view(context, element_size, dst, src);
    }
  });
}

}  // namespace

void index_tensor_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  Tensor& out = *args[2]->tensor;
  const DType dtype = self.dtype;
  const size_t element_size = dtype_size_bytes(dtype);
  IndexPlan plan;
  int64_t sizes[kMaxRank];
  if (!plan_index(context, self, args[1]->tensors(), &plan)) return;
  const int rank = plan.result_shape(sizes);
  if (!require(context, rank >= 0, "the indexed tensor has too many dimensions")) return;
  if (!require_dtype(context, out, dtype, "out has a different dtype than self")) return;
  if (!resize_out(context, out, sizes, rank) || out.numel == 0) return;
  const View result = view_of(out);
  const ResultParts parts(plan, result);
  const int64_t each = plan.rest.numel();
  const bool rows = is_dense(plan.rest) && is_dense(parts.part);
  if (each == 1 && is_dense(result)) {
    dispatch_size(dtype, [&](auto unit) {
      using T = decltype(unit);
      context.parallel_for(plan.count, 16384, [&](int64_t begin, int64_t end) {
        const T* from = reinterpret_cast<const T*>(plan.rest.data);
        for (int64_t i = begin; i < end; ++i) reinterpret_cast<T*>(result.data)[i] = from[plan.origins[i]];
      });
    });
    return;
  }
  context.parallel_for(plan.count, 16384 / each + 1, [&](int64_t begin, int64_t end) {
    for_each_part(plan, parts, begin, end, [&](int64_t to, int64_t from) {
      View dst = parts.part, src = plan.rest;
      dst.data += to * static_cast<int64_t>(element_size);
      src.data += from * static_cast<int64_t>(element_size);
      if (rows) {
        memmove(dst.data, src.data, static_cast<size_t>(each) * element_size);
      } else {
        copy_view(context, element_size, dst, src);
      }
    });
  });
}

void index_put_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  Tensor& out = *args[4]->tensor;
  const View values = view_of(*args[2]->tensor);
  const DType values_dtype = args[2]->tensor->dtype;
  store_view(context, view_of(self), self.dtype, out);
  if (context.ok()) put(context, out, args[1]->tensors(), values, values_dtype, args[3]->boolean);
}

void index_put_inplace(KernelContext& context, Span<EValue*> args) {
  const Tensor& values = *args[2]->tensor;
  put(context, *args[0]->tensor, args[1]->tensors(), view_of(values), values.dtype, args[3]->boolean);
}

}  // namespace kernels
}  // namespace wick
