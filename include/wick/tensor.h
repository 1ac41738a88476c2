// The runtime's tensor: a typed, dense block of memory that someone else owns. C++17, freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "wick/dtype.h"
#include "wick/span.h"
#include "wick/status.h"

namespace wick {

constexpr size_t kMaxRank = 16;

/// Whether a kernel may change a tensor's shape.
enum class ShapeDynamism : uint8_t {
  fixed = 0,        // no
  upper_bound = 1,  // yes, up to `capacity_bytes`, rank unchanged
  unbounded = 2,    // yes, rank unchanged: the tensor is an UnboundedTensor, whose memory grows
};

/// A tensor is dense: its strides follow from sizes and dim order (`dim_order[k]` is the k-th dimension from
/// outermost). sizes, strides and dim_order have `rank` entries and belong to the method that made the tensor, as
/// `data` belongs to an arena, the program file or the caller. Invariant: numel * element size <= capacity_bytes, and
/// numel < 2^31.
struct Tensor {
  DType dtype = DType::f32;
  uint8_t rank = 0;
  ShapeDynamism dynamism = ShapeDynamism::fixed;
  bool read_only = false;  // constant memory: never an output (signature letters o, O)
  int32_t* sizes = nullptr;
  int32_t* strides = nullptr;  // in elements
  const uint8_t* dim_order = nullptr;
  void* data = nullptr;  // null when numel is 0, or before an input is set
  size_t numel = 0;
  size_t capacity_bytes = 0;  // bytes usable at `data`

  size_t nbytes() const { return numel * dtype_size_bytes(dtype); }
  Span<const int32_t> shape() const { return {sizes, rank}; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// Recomputes strides and numel from sizes and dim order. A size of 0 counts as 1 in strides. Errors: InvalidProgram if
/// a size is negative, dim_order is not a permutation, or numel reaches 2^31.
Error compute_layout(Tensor& tensor);

/// Gives `tensor` a new shape. Errors: NotSupported if the shape is fixed and differs, or the rank differs;
/// OutOfResources if the new bytes exceed capacity_bytes, for an unbounded tensor only from 2^31 elements on;
/// MemoryAllocationFailed if an unbounded tensor cannot grow. The tensor is unchanged on error.
Error resize(Tensor& tensor, Span<const int32_t> sizes);

/// Whether the tensor is row-major (dim order 0, 1, 2 ..), apart from dimensions of size 1.
bool is_contiguous(const Tensor& tensor);
/// Whether both tensors have their elements at the same positions (same sizes, same strides for every size > 1).
bool same_layout(const Tensor& a, const Tensor& b);

}  // namespace wick
