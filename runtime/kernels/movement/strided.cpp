#include "runtime/kernels/movement/strided.h"

#include <stddef.h>
#include <string.h>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

/// One dimension of a copy.
struct Axis {
  int64_t size;
  int64_t dst;
  int64_t src;
};

int64_t magnitude(int64_t value) { return value < 0 ? -value : value; }

/// Drops size-1 dimensions, orders the rest by destination stride (outermost first), merges neighbours. Returns the
/// count; -1 if there are no elements. `axis_of(d)`: of dimension d.
template <typename AxisOf>
int simplify(int rank, Axis* axes, const AxisOf& axis_of) {
  int count = 0;
  for (int d = 0; d < rank; ++d) {
    const Axis axis = axis_of(d);
    if (axis.size <= 0) return -1;
    if (axis.size == 1) continue;
    int at = count++;
    for (; at > 0 && magnitude(axes[at - 1].dst) < magnitude(axis.dst); --at) axes[at] = axes[at - 1];
    axes[at] = axis;
  }
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    Axis* last = kept > 0 ? &axes[kept - 1] : nullptr;
    if (last && last->dst == axes[i].dst * axes[i].size && last->src == axes[i].src * axes[i].size) {
      *last = {last->size * axes[i].size, axes[i].dst, axes[i].src};
    } else {
      axes[kept++] = axes[i];
    }
  }
  return kept;
}

int simplify(const View& dst, const View& src, Axis* axes) {
  return simplify(dst.rank, axes, [&](int d) { return Axis{dst.sizes[d], dst.strides[d], src.strides[d]}; });
}

/// Walks the outer axes: offsets of line `index`, counting the last axis fastest.
void line_offsets(const Axis* axes, int count, int64_t index, int64_t* dst, int64_t* src) {
  *dst = 0;
  *src = 0;
  for (int d = count - 1; d >= 0; --d) {
    const int64_t i = index % axes[d].size;
    index /= axes[d].size;
    *dst += i * axes[d].dst;
    *src += i * axes[d].src;
  }
}

constexpr int64_t kGrainElements = 1 << 15;
constexpr int64_t kTile = 32;

/// body(dst offset, src offset, first, count) over lines of `line`; one long line is cut in pieces.
template <typename Body>
void for_each_line(KernelContext& context, const Axis* outer, int num_outer, const Axis& line, const Body& body) {
  int64_t lines = 1;
  for (int d = 0; d < num_outer; ++d) lines *= outer[d].size;
  if (lines == 1) {
    context.parallel_for(line.size, kGrainElements,
                         [&](int64_t begin, int64_t end) { body(begin * line.dst, begin * line.src, end - begin); });
    return;
  }
  const int64_t grain = line.size >= kGrainElements ? 1 : kGrainElements / line.size + 1;
  context.parallel_for(lines, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t dst_offset, src_offset;
      line_offsets(outer, num_outer, i, &dst_offset, &src_offset);
      body(dst_offset, src_offset, line.size);
    }
  });
}

template <typename T>
void copy_line(T* dst, int64_t dst_stride, const T* src, int64_t src_stride, int64_t count) {
  if (dst_stride == 1 && src_stride == 0) {
    const T value = *src;
    for (int64_t i = 0; i < count; ++i) dst[i] = value;
    return;
  }
  if (dst_stride == 1) {
    for (int64_t i = 0; i < count; ++i) dst[i] = src[i * src_stride];
    return;
  }
  // With pointer-sized integers: 64-bit multiplications are slow on small processors.
  const ptrdiff_t to = static_cast<ptrdiff_t>(dst_stride), from = static_cast<ptrdiff_t>(src_stride);
  int64_t left = count;
  for (; left >= 4; left -= 4, dst += 4 * to, src += 4 * from) {
    const T a = src[0], b = src[from], c = src[2 * from], d = src[3 * from];
    dst[0] = a;
    dst[to] = b;
    dst[2 * to] = c;
    dst[3 * to] = d;
  }
  for (; left > 0; --left, dst += to, src += from) *dst = *src;
}

/// Transposes in square tiles: dst runs along axes[count-1], src along axes[column].
template <typename T>
void copy_tiled(KernelContext& context, T* dst, const T* src, Axis* axes, int count, int column) {
  const Axis row = axes[count - 1];
  const Axis col = axes[column];
  for (int d = column; d + 2 < count; ++d) axes[d] = axes[d + 1];
  const int num_outer = count - 2;
  int64_t planes = 1;
  for (int d = 0; d < num_outer; ++d) planes *= axes[d].size;
  // Short rows, such as the channels of a picture, run along the columns; a tile then has more columns.
  const bool short_rows = row.size < kTile;
  const int64_t tile = short_rows ? kTile * kTile / row.size : kTile;
  const int64_t col_tiles = (col.size + tile - 1) / tile;
  const int64_t grain = kGrainElements / (tile * row.size) + 1;
  context.parallel_for(planes * col_tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t dst_offset, src_offset;
      line_offsets(axes, num_outer, unit / col_tiles, &dst_offset, &src_offset);
      const int64_t c0 = unit % col_tiles * tile;
      const int64_t c1 = c0 + tile < col.size ? c0 + tile : col.size;
      T* to = dst + dst_offset + c0 * col.dst;
      const T* from = src + src_offset + c0 * col.src;
      if (short_rows) {
        for (int64_t r = 0; r < row.size; ++r)
          copy_line(to + r * row.dst, col.dst, from + r * row.src, col.src, c1 - c0);
        continue;
      }
      for (int64_t r0 = 0; r0 < row.size; r0 += kTile) {
        const int64_t rows_here = row.size - r0 < kTile ? row.size - r0 : kTile;
        for (int64_t c = 0; c < c1 - c0; ++c)
          copy_line(to + c * col.dst + r0 * row.dst, row.dst, from + c * col.src + r0 * row.src, row.src, rows_here);
      }
    }
  });
}

template <typename T>
void copy_elements(KernelContext& context, T* dst, const T* src, Axis* axes, int count) {
  if (count == 0) {
    *dst = *src;
    return;
  }
  const Axis line = axes[count - 1];
  if (line.dst == 1 && line.src == 1) {
    for_each_line(context, axes, count - 1, line, [&](int64_t d, int64_t s, int64_t n) {
      memmove(dst + d, src + s, static_cast<size_t>(n) * sizeof(T));
    });
    return;
  }
  for (int d = count - 2; d >= 0 && line.src != 0; --d) {
    if (axes[d].src == 1 && axes[d].size >= 4) {
      copy_tiled(context, dst, src, axes, count, d);
      return;
    }
  }
  for_each_line(context, axes, count - 1, line,
                [&](int64_t d, int64_t s, int64_t n) { copy_line(dst + d, line.dst, src + s, line.src, n); });
}

DType unit_of_size(size_t element_size) {
  switch (element_size) {
    case 1: return DType::u8;
    case 2: return DType::i16;
    case 4: return DType::i32;
    case 8: return DType::i64;
    default: return DType::c128;
  }
}

void copy_axes(KernelContext& context, size_t element_size, uint8_t* dst, const uint8_t* src, Axis* axes, int count) {
  dispatch_size(unit_of_size(element_size), [&](auto unit) {
    using T = decltype(unit);
    copy_elements(context, reinterpret_cast<T*>(dst), reinterpret_cast<const T*>(src), axes, count);
  });
}

/// Requires: `axes` has room for at least one axis.
void convert_axes(KernelContext& context, uint8_t* dst, DType dst_dtype, const uint8_t* src, DType src_dtype,
                  Axis* axes, int count) {
  if (dst_dtype == src_dtype && dst_dtype != DType::boolean)
    return copy_axes(context, dtype_size_bytes(dst_dtype), dst, src, axes, count);
  if (count == 0) axes[count++] = {1, 1, 1};
  const Axis line = axes[count - 1];
  const int64_t dst_size = static_cast<int64_t>(dtype_size_bytes(dst_dtype));
  const int64_t src_size = static_cast<int64_t>(dtype_size_bytes(src_dtype));
  for_each_line(context, axes, count - 1, line, [&](int64_t d, int64_t s, int64_t n) {
    convert_elements(dst + d * dst_size, dst_dtype, line.dst, src + s * src_size, src_dtype, line.src, n);
  });
}

}  // namespace

void View::insert(int dim, int64_t size, int64_t stride) {
  for (int d = rank; d > dim; --d) {
    sizes[d] = sizes[d - 1];
    strides[d] = strides[d - 1];
  }
  ++rank;
  sizes[dim] = size;
  strides[dim] = stride;
}

void View::erase(int dim) {
  --rank;
  for (int d = dim; d < rank; ++d) {
    sizes[d] = sizes[d + 1];
    strides[d] = strides[d + 1];
  }
}

void View::split(int dim, int64_t inner) {
  insert(dim, sizes[dim] / inner, strides[dim] * inner);
  sizes[dim + 1] = inner;
}

void View::permute(const int* order) {
  const View before = *this;
  for (int d = 0; d < rank; ++d) {
    sizes[d] = before.sizes[order[d]];
    strides[d] = before.strides[order[d]];
  }
}

View view_of(const Tensor& tensor) {
  View view;
  view.data = static_cast<uint8_t*>(tensor.data);
  view.rank = tensor.rank;
  for (int d = 0; d < tensor.rank; ++d) {
    view.sizes[d] = tensor.sizes[d];
    view.strides[d] = tensor.strides[d];
  }
  return view;
}

void make_contiguous(View& view) {
  int64_t stride = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    view.strides[d] = stride;
    stride *= view.sizes[d] > 0 ? view.sizes[d] : 1;
  }
}

View contiguous_view(void* data, const int64_t* sizes, int rank) {
  View view;
  view.data = static_cast<uint8_t*>(data);
  view.rank = rank;
  for (int d = 0; d < rank; ++d) view.sizes[d] = sizes[d];
  make_contiguous(view);
  return view;
}

bool broadcast_view(const View& view, const int64_t* sizes, int rank, View* out) {
  if (view.rank > rank) return false;
  View result;
  result.data = view.data;
  result.rank = rank;
  const int lead = rank - view.rank;
  for (int d = 0; d < rank; ++d) {
    const int64_t have = d < lead ? 1 : view.sizes[d - lead];
    if (have != sizes[d] && have != 1) return false;
    result.sizes[d] = sizes[d];
    result.strides[d] = d < lead || have == 1 ? 0 : view.strides[d - lead];
  }
  *out = result;
  return true;
}

void copy_view(KernelContext& context, size_t element_size, const View& dst, const View& src) {
  Axis axes[kMaxViewRank];
  const int count = simplify(dst, src, axes);
  if (count >= 0) copy_axes(context, element_size, dst.data, src.data, axes, count);
}

void convert_view(KernelContext& context, const View& dst, DType dst_dtype, const View& src, DType src_dtype) {
  Axis axes[kMaxViewRank];
  const int count = simplify(dst, src, axes);
  if (count >= 0) convert_axes(context, dst.data, dst_dtype, src.data, src_dtype, axes, count);
}

void convert_tensor(KernelContext& context, const Tensor& dst, const Tensor& src) {
  Axis axes[kMaxRank + 1];
  const int count = simplify(dst.rank, axes, [&](int d) { return Axis{dst.sizes[d], dst.strides[d], src.strides[d]}; });
  if (count < 0) return;
  convert_axes(context, static_cast<uint8_t*>(dst.data), dst.dtype, static_cast<const uint8_t*>(src.data), src.dtype,
               axes, count);
}

void fill_view(KernelContext& context, size_t element_size, const View& dst, const void* value) {
  View src = dst;
  src.data = static_cast<uint8_t*>(const_cast<void*>(value));
  for (int d = 0; d < src.rank; ++d) src.strides[d] = 0;
  copy_view(context, element_size, dst, src);
}

const void* contiguous_data(KernelContext& context, const Tensor& tensor) {
  static const uint64_t kNothing[2] = {};
  if (tensor.numel == 0) return kNothing;
  if (is_contiguous(tensor)) return tensor.data;
  void* copy = context.allocate_temp(tensor.nbytes());
  if (!copy) return nullptr;
  const View src = view_of(tensor);
  copy_view(context, dtype_size_bytes(tensor.dtype), contiguous_view(copy, src.sizes, src.rank), src);
  return copy;
}

void* contiguous_target(KernelContext& context, Tensor& tensor) {
  static uint64_t nothing[2];
  if (tensor.numel == 0) return nothing;
  return is_contiguous(tensor) ? tensor.data : context.allocate_temp(tensor.nbytes());
}

void store_contiguous(KernelContext& context, Tensor& tensor, const void* data) {
  if (data == tensor.data || tensor.numel == 0) return;
  const View dst = view_of(tensor);
  copy_view(context, dtype_size_bytes(tensor.dtype), dst,
            contiguous_view(const_cast<void*>(data), dst.sizes, dst.rank));
}

}  // namespace kernels
}  // namespace wick
