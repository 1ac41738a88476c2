// Changes of view that copies and scatters share. Each fails the context and returns false on a bad argument.
#pragma once
#include "runtime/kernels/movement/strided.h"
#include "wick/kernel.h"

namespace wick {
namespace kernels {

bool select_view(KernelContext& context, View& view, int64_t dim, int64_t index, size_t element_size);
/// `start` and `end` are ints or None; both wrap and are clamped as Python's slices are.
bool slice_view(KernelContext& context, View& view, int64_t dim, const EValue& start, const EValue& end, int64_t step,
                size_t element_size);
/// `dim` is valid; [start, start + length) must lie inside the dimension.
bool narrow_view(KernelContext& context, View& view, int dim, int64_t start, int64_t length, size_t element_size);
bool diagonal_view(KernelContext& context, View& view, int64_t offset, int64_t dim1, int64_t dim2, size_t element_size);
/// A view of other sizes and strides over the `numel` elements at view.data; it must not reach outside them.
bool strided_view(KernelContext& context, View& view, int64_t numel, Span<const int64_t> sizes,
                  Span<const int64_t> strides, const EValue& offset, size_t element_size);

}  // namespace kernels
}  // namespace wick
