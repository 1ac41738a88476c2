// Shared by layer, group and batch normalisation. C++17, freestanding.
#pragma once
#include <type_traits>

#include "common/math/math.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/hot/hot_kernels.h"
#include "runtime/kernels/neural/window.h"

namespace wick {

/// f64 is summed in double, everything else in float.
template <typename T>
using NormSum = std::conditional_t<std::is_same<T, double>::value, double, float>;

/// Position in memory of the flat-th element in logical order.
inline int64_t memory_offset(const Tensor& tensor, int64_t flat) {
  int64_t offset = 0;
  for (int d = tensor.rank - 1; d >= 0; --d) {
    offset += flat % tensor.sizes[d] * tensor.strides[d];
    flat /= tensor.sizes[d];
  }
  return offset;
}

/// Mean and 1 / sqrt(variance + epsilon) over at(0) .. at(count - 1), biased, two passes.
template <typename Sum, typename At>
void moments(int64_t count, Sum epsilon, At&& at, Sum* mean, Sum* inverse_deviation) {
  Sum sum = 0, squares = 0;
  for (int64_t i = 0; i < count; ++i) sum += at(i);
  *mean = sum / static_cast<Sum>(count);
  for (int64_t i = 0; i < count; ++i) {
    const Sum d = at(i) - *mean;
    squares += d * d;
  }
  *inverse_deviation = Sum(1) / math::sqrt(squares / static_cast<Sum>(count) + epsilon);
}

/// Element `index` of an optional vector, `fallback` without one.
template <typename T, typename Sum>
Sum element_or(const Tensor* vector, int64_t index, Sum fallback) {
  return vector ? static_cast<Sum>(vector->as<T>()[index]) : fallback;
}

inline const Tensor* optional(const EValue* value) { return value->is_none() ? nullptr : value->tensor; }

/// Null, or `dtype` and `count` elements, row-major.
inline bool is_vector(const Tensor* vector, DType dtype, int64_t count) {
  return !vector || (vector->dtype == dtype && static_cast<int64_t>(vector->numel) == count && is_contiguous(*vector));
}

}  // namespace wick
