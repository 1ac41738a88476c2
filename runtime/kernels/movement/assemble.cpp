// Ops that put several tensors together, take one apart, or write one into part of another.
#include <string.h>

#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"
#include "runtime/kernels/movement/view_ops.h"

namespace wick {
namespace kernels {
namespace {

/// A rank-1 tensor without elements: torch.cat skips it whatever the rank of the others.
bool is_legacy_empty(const Tensor& tensor) { return tensor.rank == 1 && tensor.numel == 0; }

/// Gives `out` the sizes of all tensors joined along args[1].
bool resize_to_joined(KernelContext& context, Span<EValue*> args, Tensor& out, int* joined) {
  const Span<Tensor*> tensors = args[0]->tensors();
  if (!require(context, !tensors.empty(), "cat needs at least one tensor")) return false;
  const Tensor* first = tensors[0];
  for (Tensor* tensor : tensors) {
    if (is_legacy_empty(*first) && !is_legacy_empty(*tensor)) first = tensor;
  }
  View shape = view_of(*first);
  if (!require(context, shape.rank > 0, "cat needs tensors of at least one dimension")) return false;
  if (!wrap_dim(context, args[1]->integer, shape.rank, joined)) return false;
  const int dim = *joined;
  shape.sizes[dim] = 0;
  for (Tensor* tensor : tensors) {
    if (is_legacy_empty(*tensor)) continue;
    if (!require(context, tensor->rank == shape.rank, "cat needs tensors of equal rank")) return false;
    for (int d = 0; d < shape.rank; ++d) {
      if (d == dim) {
        shape.sizes[d] += tensor->sizes[d];
      } else if (!require(context, tensor->sizes[d] == shape.sizes[d],
                          "cat needs equal sizes but in the joined dimension")) {
        return false;
      }
    }
  }
  return resize_out(context, out, shape.sizes, shape.rank);
}

/// Whether concatenating lines in memory gives `out`: all tensors have the same layout.
bool joins_lines(const Span<Tensor*>& tensors, const Tensor& out) {
  bool is_row_major = is_contiguous(out), is_alike = true;
  for (const Tensor* tensor : tensors) {
    if (is_legacy_empty(*tensor)) continue;
    if (tensor->dtype != out.dtype) return false;
    is_row_major = is_row_major && is_contiguous(*tensor);
    is_alike = is_alike && memcmp(tensor->dim_order, out.dim_order, out.rank) == 0;
  }
  return is_row_major || is_alike;
}

constexpr size_t kShortLine = 64;  // up to this many bytes, starting a board's memcpy takes longer than the copy

template <typename Byte>
struct Lines {
  Byte* first;
  size_t step;
};

/// Copies the next kBytes of each line while at least as many are left, in pieces that compilers copy without a call.
template <size_t kBytes>
void copy_columns(Lines<uint8_t>& to, Lines<const uint8_t>& from, size_t& left, size_t lines) {
  for (; left >= kBytes; left -= kBytes, to.first += kBytes, from.first += kBytes) {
    uint8_t* dst = to.first;
    const uint8_t* src = from.first;
    for (size_t line = lines; line > 0; --line, dst += to.step, src += from.step) {
      constexpr size_t kPiece = kBytes < 8 ? kBytes : 8;
      for (size_t i = 0; i < kBytes; i += kPiece) memcpy(dst + i, src + i, kPiece);
    }
  }
}

void copy_short_lines(Lines<uint8_t> to, Lines<const uint8_t> from, size_t bytes, size_t lines) {
  copy_columns<16>(to, from, bytes, lines);
  copy_columns<8>(to, from, bytes, lines);
  copy_columns<4>(to, from, bytes, lines);
  copy_columns<1>(to, from, bytes, lines);
}

void join_lines(const Span<Tensor*>& tensors, const Tensor& out, int dim) {
  const bool is_row_major = is_contiguous(out);
  size_t lines = 1, inner = dtype_size_bytes(out.dtype);
  bool behind = false;
  for (int k = 0; k < out.rank; ++k) {
    const int d = is_row_major ? k : out.dim_order[k];
    if (d == dim)
      behind = true;
    else
      (behind ? inner : lines) *= static_cast<size_t>(out.sizes[d]);
  }
  const size_t step = inner * static_cast<size_t>(out.sizes[dim]);
  uint8_t* first = out.as<uint8_t>();
  for (const Tensor* tensor : tensors) {
    if (is_legacy_empty(*tensor)) continue;
    const size_t bytes = inner * static_cast<size_t>(tensor->sizes[dim]);
    if (bytes == 0) continue;
    const uint8_t* from = tensor->as<const uint8_t>();
    const uintptr_t begin = reinterpret_cast<uintptr_t>(from), out_begin = reinterpret_cast<uintptr_t>(out.data);
    const bool overlaps = begin < out_begin + lines * step && out_begin < begin + lines * bytes;
    if (!overlaps && bytes <= kShortLine) {
      copy_short_lines({first, step}, {from, bytes}, bytes, lines);
    } else {
      auto* const copy = overlaps ? memmove : memcpy;  // memmove of C libraries for boards moves byte by byte
      for (size_t line = 0; line < lines; ++line) copy(first + line * step, from + line * bytes, bytes);
    }
    first += bytes;
  }
}

void join_views(KernelContext& context, const Span<Tensor*>& tensors, Tensor& out, int dim) {
  View rest = view_of(out);
  for (Tensor* tensor : tensors) {
    if (is_legacy_empty(*tensor)) continue;
    const View src = view_of(*tensor);
    View dst = rest;
    if (!narrow_view(context, dst, dim, 0, src.sizes[dim], dtype_size_bytes(out.dtype))) return;
    convert_view(context, dst, out.dtype, src, tensor->dtype);
    if (!narrow_view(context, rest, dim, src.sizes[dim], rest.sizes[dim] - src.sizes[dim], dtype_size_bytes(out.dtype)))
      return;
  }
}

}  // namespace

void cat_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[2]->tensor;
  int dim = 0;
  if (!resize_to_joined(context, args, out, &dim)) return;
  const Span<Tensor*> tensors = args[0]->tensors();
  if (joins_lines(tensors, out))
    join_lines(tensors, out, dim);
  else
    join_views(context, tensors, out, dim);
}

void stack_out(KernelContext& context, Span<EValue*> args) {
  const Span<Tensor*> tensors = args[0]->tensors();
  Tensor& out = *args[2]->tensor;
  if (!require(context, !tensors.empty(), "stack needs at least one tensor")) return;
  View shape = view_of(*tensors[0]);
  int dim;
  if (!wrap_dim(context, args[1]->integer, shape.rank + 1, &dim)) return;
  for (Tensor* tensor : tensors) {
    bool same = tensor->rank == shape.rank;
    for (int d = 0; same && d < shape.rank; ++d) same = tensor->sizes[d] == shape.sizes[d];
    if (!require(context, same, "stack needs tensors of equal shape")) return;
  }
  shape.insert(dim, static_cast<int64_t>(tensors.size()), 0);
  if (!resize_out(context, out, shape.sizes, shape.rank)) return;
  const View whole = view_of(out);
  for (size_t i = 0; i < tensors.size(); ++i) {
    View dst = whole;
    if (!select_view(context, dst, dim, static_cast<int64_t>(i), dtype_size_bytes(out.dtype))) return;
    const View src = view_of(*tensors[i]);
    bool same = src.rank == dst.rank;  // an input that is the out tensor too has changed its shape
    for (int d = 0; same && d < src.rank; ++d) same = src.sizes[d] == dst.sizes[d];
    if (!require(context, same, "an input of stack is its output")) return;
    convert_view(context, dst, out.dtype, src, tensors[i]->dtype);
  }
}

namespace {

/// Copies sizes[i] (or `each`, when sizes is null) rows of `dim` to outs[i].
void split_into(KernelContext& context, const Tensor& in, int dim, const int64_t* sizes, int64_t each,
                Span<Tensor*> outs) {
  const View whole = view_of(in);
  int64_t start = 0;
  for (size_t i = 0; i < outs.size(); ++i) {
    View part = whole;
    int64_t length = sizes ? sizes[i] : each;
    if (!sizes && length > whole.sizes[dim] - start) length = whole.sizes[dim] - start;
    if (!narrow_view(context, part, dim, start, length, dtype_size_bytes(in.dtype))) return;
    store_view(context, part, in.dtype, *outs[i]);
    if (!context.ok()) return;
    start += length;
  }
}

}  // namespace

void split_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  const int64_t each = args[1]->integer;
  const Span<Tensor*> outs = args[3]->tensors();
  int dim;
  if (!require(context, in.rank > 0, "split needs at least one dimension")) return;
  if (!wrap_dim(context, args[2]->integer, in.rank, &dim)) return;
  const int64_t size = in.sizes[dim];
  if (!require(context, each > 0 || (each == 0 && size == 0), "split_size must be positive")) return;
  const int64_t pieces = size == 0 ? 1 : (size - 1) / (each > 0 ? each : 1) + 1;
  if (!require(context, static_cast<int64_t>(outs.size()) == pieces, "split has a different number of outputs")) return;
  split_into(context, in, dim, nullptr, each, outs);
}

void split_with_sizes_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  const Span<const int64_t> sizes = args[1]->ints();
  const Span<Tensor*> outs = args[3]->tensors();
  int dim;
  if (!require(context, in.rank > 0, "split needs at least one dimension")) return;
  if (!wrap_dim(context, args[2]->integer, in.rank, &dim)) return;
  if (!require(context, outs.size() == sizes.size(), "split has a different number of outputs")) return;
  int64_t sum = 0;
  for (int64_t size : sizes) {
    if (!require(context, size >= 0 && size <= in.sizes[dim] - sum, "split sizes do not add up to the dimension"))
      return;
    sum += size;
  }
  if (!require(context, sum == in.sizes[dim], "split sizes do not add up to the dimension")) return;
  split_into(context, in, dim, sizes.data(), 0, outs);
}

void unbind_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  const Span<Tensor*> outs = args[2]->tensors();
  const View whole = view_of(in);
  int dim;
  if (!require(context, in.rank > 0, "unbind needs at least one dimension")) return;
  if (!wrap_dim(context, args[1]->integer, in.rank, &dim)) return;
  if (!require(context, static_cast<int64_t>(outs.size()) == whole.sizes[dim],
               "unbind has a different number of outputs"))
    return;
  for (size_t i = 0; i < outs.size() && context.ok(); ++i) {
    View part = whole;
    if (!select_view(context, part, dim, static_cast<int64_t>(i), dtype_size_bytes(in.dtype))) return;
    store_view(context, part, in.dtype, *outs[i]);
  }
}

namespace {

/// out = in, then `change` picks the part of out that takes src (of the part's shape, converted).
template <typename Change>
void scatter_view(KernelContext& context, const Tensor& in, const Tensor& src, Tensor& out, Change&& change) {
  const View source = view_of(src);
  store_view(context, view_of(in), in.dtype, out);
  if (!context.ok()) return;
  View part = view_of(out);
  if (!change(part)) return;
  bool same = part.rank == source.rank;
  for (int d = 0; same && d < part.rank; ++d) same = part.sizes[d] == source.sizes[d];
  if (!require(context, same, "src does not have the shape of the region it replaces")) return;
  convert_view(context, part, out.dtype, source, src.dtype);
}

}  // namespace

void select_scatter_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[4]->tensor;
  scatter_view(context, *args[0]->tensor, *args[1]->tensor, out, [&](View& part) {
    return select_view(context, part, args[2]->integer, args[3]->integer, dtype_size_bytes(out.dtype));
  });
}

void slice_scatter_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[6]->tensor;
  scatter_view(context, *args[0]->tensor, *args[1]->tensor, out, [&](View& part) {
    return slice_view(context, part, args[2]->integer, *args[3], *args[4], args[5]->integer,
                      dtype_size_bytes(out.dtype));
  });
}

void diagonal_scatter_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[5]->tensor;
  scatter_view(context, *args[0]->tensor, *args[1]->tensor, out, [&](View& part) {
    return diagonal_view(context, part, args[2]->integer, args[3]->integer, args[4]->integer,
                         dtype_size_bytes(out.dtype));
  });
}

void as_strided_scatter_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[5]->tensor;
  scatter_view(context, *args[0]->tensor, *args[1]->tensor, out, [&](View& part) {
    return strided_view(context, part, static_cast<int64_t>(out.numel), args[2]->ints(), args[3]->ints(), *args[4],
                        dtype_size_bytes(out.dtype));
  });
}

void repeat_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  const Span<const int64_t> repeats = args[1]->ints();
  Tensor& out = *args[2]->tensor;
  View src = view_of(in);
  const int rank = static_cast<int>(repeats.size());
  if (!require(context, repeats.size() <= kMaxRank && rank >= src.rank, "repeat needs a count for each dimension"))
    return;
  while (src.rank < rank) src.insert(0, 1, 0);
  int64_t sizes[kMaxRank];
  for (int d = 0; d < rank; ++d) {
    if (!require(context, repeats[d] >= 0 && repeats[d] <= INT32_MAX, "a repeat count is negative or too large"))
      return;
    sizes[d] = repeats[d] * src.sizes[d];
  }
  if (!require_dtype(context, out, in.dtype, "out has a different dtype than the input")) return;
  if (!resize_out(context, out, sizes, rank) || out.numel == 0) return;
  View dst = view_of(out);
  for (int d = rank - 1; d >= 0; --d) {
    const int64_t block = src.sizes[d];
    dst.split(d, block);
    src.insert(d, repeats[d], 0);
  }
  copy_view(context, dtype_size_bytes(in.dtype), dst, src);
}

void flip_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  View view = view_of(in);
  uint32_t mask;
  if (!wrap_dims(context, args[1]->ints(), view.rank, &mask)) return;
  for (int d = 0; d < view.rank; ++d) {
    if (!(mask >> d & 1) || view.sizes[d] == 0) continue;
    view.advance((view.sizes[d] - 1) * view.strides[d], dtype_size_bytes(in.dtype));
    view.strides[d] = -view.strides[d];
  }
  store_view(context, view, in.dtype, *args[2]->tensor);
}

void roll_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  const Span<const int64_t> shifts = args[1]->ints();
  const Span<const int64_t> dims = args[2]->ints();
  Tensor& out = *args[3]->tensor;
  const size_t element_size = dtype_size_bytes(in.dtype);
  View src = view_of(in);
  if (!require(context, !shifts.empty(), "roll needs at least one shift")) return;
  if (!require(context, dims.size() == shifts.size() || (dims.empty() && shifts.size() == 1),
               "roll needs one shift per dim"))
    return;
  if (!require_dtype(context, out, in.dtype, "out has a different dtype than the input")) return;
  int64_t total[kMaxRank] = {};
  for (size_t i = 0; i < dims.size(); ++i) {
    int d;
    if (!wrap_dim(context, dims[i], src.rank, &d)) return;
    const int64_t size = src.rank > 0 ? src.sizes[d] : 1;
    if (size > 0) total[d] = ((total[d] + shifts[i] % size) % size + size) % size;
  }
  if (!resize_out(context, out, src.sizes, src.rank) || out.numel == 0) return;
  View dst = view_of(out);
  if (dims.empty()) {  // over the flattened elements
    const int64_t n = static_cast<int64_t>(out.numel);
    if (!require(context, is_contiguous(in) && is_contiguous(out), "roll without dims needs row-major tensors")) return;
    src = contiguous_view(src.data, &n, 1);
    dst = contiguous_view(dst.data, &n, 1);
    total[0] = (shifts[0] % n + n) % n;
  }
  // Every dimension falls in two pieces; each combination is one copy.
  int rolled[kMaxRank];
  int num_rolled = 0;
  for (int d = 0; d < src.rank; ++d) {
    if (total[d] != 0) rolled[num_rolled++] = d;
  }
  for (uint32_t pieces = 0; pieces < 1u << num_rolled; ++pieces) {
    View from = src, to = dst;
    for (int i = 0; i < num_rolled; ++i) {
      const int d = rolled[i];
      const int64_t head = src.sizes[d] - total[d];
      const bool tail = pieces >> i & 1;
      const int64_t length = tail ? total[d] : head;
      if (!narrow_view(context, from, d, tail ? head : 0, length, element_size)) return;
      if (!narrow_view(context, to, d, tail ? 0 : total[d], length, element_size)) return;
    }
    copy_view(context, element_size, to, from);
  }
}

}  // namespace kernels
}  // namespace wick
