// Strided views over dense tensors: every movement kernel is a change of view and one copy.
#pragma once
#include <stdint.h>

#include "wick/kernel.h"
#include "wick/tensor.h"

namespace wick {
namespace kernels {

/// Room for views that split or double dimensions (pixel shuffle, repeat).
constexpr int kMaxViewRank = 2 * static_cast<int>(kMaxRank) + 2;

/// Elements at data + element_size * sum(index[d] * strides[d]). Strides are in elements; zero and negative ones are
/// fine.
struct View {
  uint8_t* data = nullptr;
  int rank = 0;
  int64_t sizes[kMaxViewRank] = {};
  int64_t strides[kMaxViewRank] = {};

  int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= sizes[d];
    return n;
  }
  /// Inserts a dimension before `dim`.
  void insert(int dim, int64_t size, int64_t stride);
  void erase(int dim);
  /// Splits dimension `dim` in an outer one and one of `inner` elements; `inner` must divide its size.
  void split(int dim, int64_t inner);
  /// Reorders: dimension d of the result is order[d] of this one.
  void permute(const int* order);
  /// Moves the origin by `elements` (of `element_size` bytes). An empty tensor may have no memory.
  void advance(int64_t elements, size_t element_size) {
    if (data) data += elements * static_cast<int64_t>(element_size);
  }
};

View view_of(const Tensor& tensor);
/// Row-major view of `sizes` over `data`.
View contiguous_view(void* data, const int64_t* sizes, int rank);
/// Makes strides row-major for the view's own sizes.
void make_contiguous(View& view);
/// `view` with the leading and size-1 dimensions of `sizes` broadcast (stride 0). False if it does not broadcast.
bool broadcast_view(const View& view, const int64_t* sizes, int rank, View* out);

/// dst[i] = src[i] for every index i; the views have equal sizes. Ranges must not overlap unless they are the same
/// view.
void copy_view(KernelContext& context, size_t element_size, const View& dst, const View& src);
/// As copy_view, with the conversion of convert_elements.
void convert_view(KernelContext& context, const View& dst, DType dst_dtype, const View& src, DType src_dtype);
/// The same of tensors with equal sizes; takes less stack than views of them.
void convert_tensor(KernelContext& context, const Tensor& dst, const Tensor& src);
/// Writes the element at `value` everywhere in dst.
void fill_view(KernelContext& context, size_t element_size, const View& dst, const void* value);

/// The logical (row-major) elements of `tensor`: its own memory if it is contiguous, else a copy in temp memory.
/// Null with a failed context if there is no room; never null otherwise.
const void* contiguous_data(KernelContext& context, const Tensor& tensor);
/// Copies row-major elements at `data` to `tensor` in the order of its dims. Does nothing if data is tensor.data.
void store_contiguous(KernelContext& context, Tensor& tensor, const void* data);
/// Memory for the row-major elements of `tensor`: its own if it is contiguous, else temp to be stored by
/// store_contiguous.
void* contiguous_target(KernelContext& context, Tensor& tensor);

}  // namespace kernels
}  // namespace wick
