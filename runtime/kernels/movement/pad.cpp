// Constant, reflection and replication padding.
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"
#include "runtime/kernels/movement/view_ops.h"

namespace wick {
namespace kernels {
namespace {

/// Elements added (negative: cut off) at both ends of each dimension.
struct Padding {
  int64_t before[kMaxRank] = {};
  int64_t after[kMaxRank] = {};
};

/// pad lists (before, after) from the last dimension backwards.
bool read_padding(KernelContext& context, Span<const int64_t> pad, const View& in, Padding* padding, int64_t* sizes) {
  if (!require(context, pad.size() % 2 == 0 && pad.size() / 2 <= static_cast<size_t>(in.rank), "pad has a bad length"))
    return false;
  for (int d = 0; d < in.rank; ++d) sizes[d] = in.sizes[d];
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int d = in.rank - 1 - static_cast<int>(i);
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    const bool sane = before >= -INT32_MAX && before <= INT32_MAX && after >= -INT32_MAX && after <= INT32_MAX;
    if (!require(context, sane, "a pad is too large")) return false;
    padding->before[d] = before;
    padding->after[d] = after;
    sizes[d] += before + after;
    if (!require(context, sizes[d] >= 0, "padding makes a size negative")) return false;
  }
  return true;
}

}  // namespace

void constant_pad_nd_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[3]->tensor;
  const size_t element_size = dtype_size_bytes(in.dtype);
  View src = view_of(in);
  Padding padding;
  int64_t sizes[kMaxRank];
  if (!read_padding(context, args[1]->ints(), src, &padding, sizes)) return;
  if (!require_dtype(context, out, in.dtype, "out has a different dtype than the input")) return;
  if (!resize_out(context, out, sizes, src.rank)) return;
  uint64_t value[2];
  scalar_to_element(*args[2], in.dtype, value);
  // The border of each dimension in turn, then the middle that is left.
  View rest = view_of(out);
  for (int d = 0; d < rest.rank; ++d) {
    const int64_t size = rest.sizes[d];
    int64_t before = padding.before[d] > 0 ? padding.before[d] : 0;
    int64_t after = padding.after[d] > 0 ? padding.after[d] : 0;
    const int64_t skip = padding.before[d] < 0 ? -padding.before[d] : 0;
    if (before > size) before = size;
    if (after > size - before) after = size - before;
    View border = rest;
    if (!narrow_view(context, border, d, 0, before, element_size)) return;
    fill_view(context, element_size, border, value);
    border = rest;
    if (!narrow_view(context, border, d, size - after, after, element_size)) return;
    fill_view(context, element_size, border, value);
    const int64_t middle = size - before - after;
    if (!narrow_view(context, rest, d, before, middle, element_size)) return;
    if (middle == 0) return;
    if (!narrow_view(context, src, d, skip, middle, element_size)) return;
  }
  copy_view(context, element_size, rest, src);
}

namespace {

enum class Border { reflect, replicate };

int64_t source_index(Border border, int64_t i, int64_t size) {
  if (border == Border::replicate) return i < 0 ? 0 : i >= size ? size - 1 : i;
  return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
}

/// One line of a padded dimension. Positions [inside, behind) are copies.
struct PaddedLine {
  Border border;
  int64_t before, size, length;  // the source's size, and that of the result
  int64_t from_step, to_step;
  int64_t inside = before < 0 ? 0 : before < length ? before : length;
  int64_t behind = before + size < inside ? inside : before + size < length ? before + size : length;

  template <typename T>
  void copy(const T* read, T* write) const {
    const auto fill = [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i)
        write[i * to_step] = read[source_index(border, i - before, size) * from_step];
    };
    fill(0, inside);
    if (to_step == 1 && from_step == 1) {
      for (int64_t i = inside; i < behind; ++i) write[i] = read[i - before];
    } else {
      for (int64_t i = inside; i < behind; ++i) write[i * to_step] = read[(i - before) * from_step];
    }
    fill(behind, length);
  }
};

/// The last `spatial` dimensions are padded; out position p reads in position source_index(p - before) in each of them.
void pad_spatial(KernelContext& context, Span<EValue*> args, int spatial, Border border) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[2]->tensor;
  const Span<const int64_t> pad = args[1]->ints();
  const View src = view_of(in);
  Padding padding;
  int64_t sizes[kMaxRank];
  if (!require(context, pad.size() == 2 * static_cast<size_t>(spatial), "pad has a bad length")) return;
  if (!require(context, src.rank == spatial + 1 || src.rank == spatial + 2,
               "padding needs channels and at most one batch dimension"))
    return;
  if (!read_padding(context, pad, src, &padding, sizes)) return;
  for (int d = src.rank - spatial; d < src.rank; ++d) {
    const bool fits =
        border == Border::replicate || (padding.before[d] < src.sizes[d] && padding.after[d] < src.sizes[d]);
    if (!require(context, fits, "reflection padding must be smaller than the dimension")) return;
    if (!require(context, src.sizes[d] > 0 && sizes[d] > 0, "padding needs a non-empty input and output")) return;
    // Cutting more than everything from one side would read past the other; replication repeats the last element.
    const bool inside =
        border == Border::replicate || (padding.before[d] > -src.sizes[d] && padding.after[d] > -src.sizes[d]);
    if (!require(context, inside, "a negative pad removes the whole dimension")) return;
  }
  if (!require_dtype(context, out, in.dtype, "out has a different dtype than the input")) return;
  if (!resize_out(context, out, sizes, src.rank) || out.numel == 0) return;
  const View dst = view_of(out);
  const int last = dst.rank - 1;
  int64_t lines = 1;
  for (int d = 0; d < last; ++d) lines *= dst.sizes[d];
  const PaddedLine padded = {border,          padding.before[last], src.sizes[last],
                             dst.sizes[last], src.strides[last],    dst.strides[last]};
  dispatch_size(in.dtype, [&](auto unit) {
    using T = decltype(unit);
    context.parallel_for(lines, 16384 / dst.sizes[last] + 1, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        int64_t rest = line, to = 0, from = 0;
        for (int d = last - 1; d >= 0; --d) {
          const int64_t i = rest % dst.sizes[d];
          rest /= dst.sizes[d];
          to += i * dst.strides[d];
          from += source_index(border, i - padding.before[d], src.sizes[d]) * src.strides[d];
        }
        T* write = reinterpret_cast<T*>(dst.data) + to;
        const T* read = reinterpret_cast<const T*>(src.data) + from;
        padded.copy(read, write);
      }
    });
  });
}

}  // namespace

void reflection_pad1d_out(KernelContext& context, Span<EValue*> args) {
  pad_spatial(context, args, 1, Border::reflect);
}
void reflection_pad2d_out(KernelContext& context, Span<EValue*> args) {
  pad_spatial(context, args, 2, Border::reflect);
}
void reflection_pad3d_out(KernelContext& context, Span<EValue*> args) {
  pad_spatial(context, args, 3, Border::reflect);
}
void replication_pad1d_out(KernelContext& context, Span<EValue*> args) {
  pad_spatial(context, args, 1, Border::replicate);
}
void replication_pad2d_out(KernelContext& context, Span<EValue*> args) {
  pad_spatial(context, args, 2, Border::replicate);
}
void replication_pad3d_out(KernelContext& context, Span<EValue*> args) {
  pad_spatial(context, args, 3, Border::replicate);
}

}  // namespace kernels
}  // namespace wick
