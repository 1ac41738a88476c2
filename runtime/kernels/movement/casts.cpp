// Copies that may change dtype or memory order: _to_copy, copy, copy_ and the dim-order ops.
#include "runtime/kernels/movement/arguments.h"

namespace wick {
namespace kernels {
namespace {

void convert_to_out(KernelContext& context, const Tensor& in, Tensor& out) {
  if (resize_like(context, out, in)) convert_tensor(context, out, in);
}

/// The dim order an op asks for must be the one `out` is stored in, size-1 dimensions aside.
bool check_dim_order(KernelContext& context, const EValue& asked, const Tensor& out) {
  if (asked.is_none()) return true;
  const Span<const int64_t> order = asked.ints();
  uint32_t seen = 0;
  if (!require(context, order.size() == out.rank, "dim_order does not have one entry per dimension")) return false;
  int64_t stride = 1;
  for (int k = out.rank - 1; k >= 0; --k) {
    const int64_t d = order[k];
    if (!require(context, d >= 0 && d < out.rank && !(seen >> d & 1), "dim_order is not a permutation")) return false;
    seen |= 1u << d;
    if (!require(context, out.sizes[d] <= 1 || out.numel == 0 || out.strides[d] == stride,
                 "out is not in the dim order asked for")) {
      return false;
    }
    stride *= out.sizes[d];
  }
  return true;
}

}  // namespace

void to_copy_out(KernelContext& context, Span<EValue*> args) {
  convert_to_out(context, *args[0]->tensor, *args[3]->tensor);
}

void to_dim_order_copy_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[3]->tensor;
  if (!require(context, !args[1]->boolean, "non_blocking copies are not supported")) return;
  const Tensor& in = *args[0]->tensor;
  if (resize_like(context, out, in) && check_dim_order(context, *args[2], out)) convert_tensor(context, out, in);
}

void clone_dim_order_out(KernelContext& context, Span<EValue*> args) {
  if (!require_dtype(context, *args[3]->tensor, args[0]->tensor->dtype, "out has a different dtype than the input"))
    return;
  to_dim_order_copy_out(context, args);
}

void empty_dim_order_out(KernelContext& context, Span<EValue*> args) {
  const Span<const int64_t> sizes = args[0]->ints();
  Tensor& out = *args[2]->tensor;
  if (!require(context, sizes.size() <= kMaxRank, "empty has too many dimensions")) return;
  if (!resize_out(context, out, sizes.data(), static_cast<int>(sizes.size()))) return;
  check_dim_order(context, *args[1], out);
}

namespace {
/// dst = src broadcast to the shape of dst, converted.
void broadcast_into(KernelContext& context, Tensor& dst, const View& src, DType src_dtype) {
  const View to = view_of(dst);
  View from;
  if (!require(context, broadcast_view(src, to.sizes, to.rank, &from), "src does not broadcast to self")) return;
  convert_view(context, to, dst.dtype, from, src_dtype);
}
}  // namespace

void copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const Tensor& src = *args[1]->tensor;
  Tensor& out = *args[3]->tensor;
  const View from = view_of(src);
  const DType from_dtype = src.dtype;
  if (!require_dtype(context, out, self.dtype, "out has a different dtype than self")) return;
  if (!resize_like(context, out, self)) return;
  broadcast_into(context, out, from, from_dtype);
}

void copy_inplace(KernelContext& context, Span<EValue*> args) {
  const Tensor& src = *args[1]->tensor;
  broadcast_into(context, *args[0]->tensor, view_of(src), src.dtype);
}

}  // namespace kernels
}  // namespace wick
