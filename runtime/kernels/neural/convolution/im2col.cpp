// Windows as columns and back.   Source: aten::im2col, aten::col2im.
// columns [n, c * kh * kw, positions] <-> image [n, c, h, w]; both also without n.
#include <string.h>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/neural/pooling/pool_geometry.h"

namespace wick {
namespace kernels {
namespace {

struct Columns {
  int64_t kernel[3], dilation[3], padding[3], stride[3], output[3];  // output: windows along each dimension
  int64_t taps() const { return kernel[1] * kernel[2]; }
  int64_t positions() const { return output[1] * output[2]; }
};

bool read_columns(KernelContext& context, const EValue& kernel, const EValue& dilation, const EValue& padding,
                  const EValue& stride, const int64_t* image, Columns* c) {
  const char* const message = "im2col: wanted two positive kernel, dilation and stride entries and two paddings";
  if (!read_window(context, kernel, 2, 1, 1, nullptr, message, c->kernel) ||
      !read_window(context, dilation, 2, 1, 1, nullptr, message, c->dilation) ||
      !read_window(context, padding, 2, 0, 0, nullptr, message, c->padding) ||
      !read_window(context, stride, 2, 1, 1, nullptr, message, c->stride))
    return false;
  c->output[0] = 1;
  for (int d = 1; d < 3; ++d) {
    c->output[d] = window_outputs(image[d], c->kernel[d], c->stride[d], c->padding[d], c->dilation[d], false);
    if (!require(context, image[d] >= 1 && c->output[d] >= 1 && c->output[d] < INT32_MAX && c->kernel[d] < INT32_MAX,
                 Error::InvalidArgument, "im2col: kernel does not fit the padded image"))
      return false;
  }
  return true;
}

/// Walks the elements of one channel, a row of windows at a time. inside(tap, position, count, y, x) is for `count`
/// windows from `position` on whose elements lie in row y of the image, stride[2] columns apart from column x on.
/// outside(tap, position, count) is for windows whose elements lie outside.
template <typename F, typename G>
void for_each_tap(const Columns& c, const int64_t* image, F&& inside, G&& outside) {
  for (int64_t tap = 0; tap < c.taps(); ++tap) {
    const int64_t x = tap % c.kernel[2] * c.dilation[2] - c.padding[2];
    int64_t first = x < 0 ? (-x + c.stride[2] - 1) / c.stride[2] : 0;
    int64_t end = x < image[2] ? (image[2] - x + c.stride[2] - 1) / c.stride[2] : 0;
    if (end > c.output[2]) end = c.output[2];
    if (first > end) first = end;
    for (int64_t row = 0; row < c.output[1]; ++row) {
      const int64_t y = row * c.stride[1] - c.padding[1] + tap / c.kernel[2] * c.dilation[1];
      const int64_t position = row * c.output[2];
      if (y < 0 || y >= image[1]) {
        outside(tap, position, c.output[2]);
      } else {
        outside(tap, position, first);
        if (first < end) inside(tap, position + first, end - first, y, x + first * c.stride[2]);
        outside(tap, position + end, c.output[2] - end);
      }
    }
  }
}

/// Strides of a [n, rows, positions] or [rows, positions] tensor.
struct Table {
  int64_t batch = 1, batch_stride = 0, rows = 0, row_stride = 0, count = 0, step = 0;
};
bool table_of(const Tensor& t, Table* table) {
  if (t.rank != 2 && t.rank != 3) return false;
  const int row = t.rank - 2;
  if (t.rank == 3) {
    table->batch = t.sizes[0];
    table->batch_stride = t.strides[0];
  }
  table->rows = t.sizes[row];
  table->row_stride = t.strides[row];
  table->count = t.sizes[row + 1];
  table->step = t.strides[row + 1];
  return true;
}

}  // namespace

void im2col(KernelContext& context, Span<EValue*> args) {
  const Tensor& image = *args[0]->tensor;
  Tensor& out = *args[5]->tensor;
  Planes in;
  Columns c;
  Table table;
  if (!require(context, planes_of(image, 2, &in), Error::InvalidArgument, "im2col: wanted an image of rank 3 or 4") ||
      !require(context, image.dtype == out.dtype, Error::InvalidType, "im2col: out must have the input's dtype") ||
      !read_columns(context, *args[1], *args[2], *args[3], *args[4], in.size, &c))
    return;
  const int64_t rows = in.channels <= INT32_MAX / c.kernel[1] ? in.channels * c.kernel[1] : INT32_MAX;
  const bool fits = rows <= INT32_MAX / c.kernel[2] && c.positions() <= INT32_MAX;
  if (!require(context, fits, Error::InvalidArgument, "im2col: too many columns")) return;
  const int32_t sizes[3] = {static_cast<int32_t>(in.batch), static_cast<int32_t>(rows * c.kernel[2]),
                            static_cast<int32_t>(c.positions())};
  if (!resize_or_fail(context, out, image.rank == 4 ? sizes : sizes + 1, image.rank - 1,
                      "im2col: out has a different shape") ||
      out.numel == 0)
    return;
  table_of(out, &table);
  const bool known = dispatch_size(image.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_plane(context, in, c.taps() * c.positions(), [&](int64_t plane) {
      const T* from = image.as<T>() + in.plane_offset(plane);
      T* to =
          out.as<T>() + plane / in.channels * table.batch_stride + plane % in.channels * c.taps() * table.row_stride;
      const int64_t step = in.offset(0, 0, 1) * c.stride[2];
      for_each_tap(
          c, in.size,
          [&](int64_t tap, int64_t position, int64_t count, int64_t y, int64_t x) {
            T* column = to + tap * table.row_stride + position * table.step;
            const T* element = from + in.offset(0, y, x);
            if (table.step == 1 && step == 1) {
              for (int64_t i = 0; i < count; ++i) column[i] = element[i];
            } else {
              for (int64_t i = 0; i < count; ++i) column[i * table.step] = element[i * step];
            }
          },
          [&](int64_t tap, int64_t position, int64_t count) {
            T* column = to + tap * table.row_stride + position * table.step;
            for (int64_t i = 0; i < count; ++i) column[i * table.step] = T();
          });
    });
  });
  require(context, known, Error::InvalidType, "im2col of this dtype is not defined");
}

void col2im(KernelContext& context, Span<EValue*> args) {
  const Tensor& columns = *args[0]->tensor;
  Tensor& out = *args[6]->tensor;
  Table table;
  Columns c;
  Planes to;
  int64_t image[3];
  if (!require(context, table_of(columns, &table), Error::InvalidArgument, "col2im: wanted columns of rank 2 or 3") ||
      !require(context, columns.dtype == out.dtype, Error::InvalidType, "col2im: out must have the input's dtype") ||
      !read_window(context, *args[1], 2, 1, 1, nullptr, "col2im: wanted two positive output sizes", image) ||
      !read_columns(context, *args[2], *args[3], *args[4], *args[5], image, &c))
    return;
  const bool fits = c.kernel[1] <= table.rows && c.kernel[2] <= table.rows && table.rows % c.taps() == 0 &&
                    table.count == c.positions() && image[1] <= INT32_MAX && image[2] <= INT32_MAX;
  if (!require(context, fits, Error::InvalidArgument, "col2im: columns do not fit the output size")) return;
  const int32_t sizes[4] = {static_cast<int32_t>(table.batch), static_cast<int32_t>(table.rows / c.taps()),
                            static_cast<int32_t>(image[1]), static_cast<int32_t>(image[2])};
  if (!resize_or_fail(context, out, columns.rank == 3 ? sizes : sizes + 1, columns.rank + 1,
                      "col2im: out has a different shape") ||
      out.numel == 0)
    return;
  planes_of(out, 2, &to);
  memset(out.data, 0, out.nbytes());
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    for_each_plane(context, to, c.taps() * c.positions(), [&](int64_t plane) {
      const T* from = columns.as<T>() + plane / to.channels * table.batch_stride +
                      plane % to.channels * c.taps() * table.row_stride;
      T* target = out.as<T>() + to.plane_offset(plane);
      const int64_t step = to.offset(0, 0, 1) * c.stride[2];
      for_each_tap(
          c, to.size,
          [&](int64_t tap, int64_t position, int64_t count, int64_t y, int64_t x) {
            const T* column = from + tap * table.row_stride + position * table.step;
            T* element = target + to.offset(0, y, x);
            for (int64_t i = 0; i < count; ++i) element[i * step] = T(element[i * step] + column[i * table.step]);
          },
          [](int64_t, int64_t, int64_t) {});
    });
  };
  require(context, dispatch_floating(columns.dtype, run) || dispatch_complex(columns.dtype, run), Error::InvalidType,
          "col2im of this dtype is not defined");
}

}  // namespace kernels
}  // namespace wick
