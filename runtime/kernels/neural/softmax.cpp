// softmax(x)_i = exp(x_i - m) / sum_j exp(x_j - m) over one dimension, m the maximum; and its logarithm.
// Source: aten::_softmax, aten::_log_softmax, Core ATen IR.
#include "common/math/math.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/hot/hot_kernels.h"
#include "runtime/kernels/movement/strided.h"
#include "runtime/kernels/neural/window.h"

namespace wick {
namespace kernels {
namespace {

/// All positions but `dim` as one index; strides of both tensors for each.
struct Rows {
  int rank = 0;
  int dim = 0;
  const Tensor* in;
  const Tensor* out;
  int64_t count = 1;  // rows

  void offsets(int64_t row, int64_t* in_offset, int64_t* out_offset) const {
    *in_offset = *out_offset = 0;
    for (int d = rank - 1; d >= 0; --d) {
      if (d == dim) continue;
      const int64_t at = row % in->sizes[d];
      row /= in->sizes[d];
      *in_offset += at * in->strides[d];
      *out_offset += at * out->strides[d];
    }
  }
};

template <typename In, typename Out, typename Sum>
void softmax_strided(const In* in, int64_t in_stride, Out* out, int64_t out_stride, int64_t size, bool logarithm) {
  Sum top = Sum(-INFINITY);
  for (int64_t i = 0; i < size; ++i) {
    const Sum x = static_cast<Sum>(in[i * in_stride]);
    if (x > top || x != x) top = x;
  }
  Sum sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += static_cast<Sum>(math::exp(static_cast<Sum>(in[i * in_stride]) - top));
  const Sum log_sum = logarithm ? static_cast<Sum>(math::log(sum)) : Sum(0);
  for (int64_t i = 0; i < size; ++i) {
    const Sum x = static_cast<Sum>(in[i * in_stride]) - top;
    out[i * out_stride] = Out(logarithm ? x - log_sum : static_cast<Sum>(math::exp(x)) / sum);
  }
}

/// `width` <= kWidth neighbouring columns of [size, width], rows in_stride and out_stride apart.
constexpr int64_t kWidth = 64;
void softmax_columns(const HotKernels& kernels, const float* in, int64_t in_stride, float* out, int64_t out_stride,
                     int64_t size, int64_t width, bool logarithm) {
  float top[kWidth], sum[kWidth], shifted[kWidth];
  for (int64_t j = 0; j < width; ++j) {
    top[j] = -INFINITY;
    sum[j] = 0.0f;
  }
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < width; ++j) {
      const float x = in[i * in_stride + j];
      top[j] = x > top[j] || x != x ? x : top[j];
    }
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j < width; ++j) shifted[j] = in[i * in_stride + j] - top[j];
    kernels.exp(shifted, out + i * out_stride, width);
    for (int64_t j = 0; j < width; ++j) sum[j] += out[i * out_stride + j];
  }
  for (int64_t j = 0; j < width; ++j) sum[j] = logarithm ? static_cast<float>(math::log(sum[j])) : 1.0f / sum[j];
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < width; ++j) {
      float& y = out[i * out_stride + j];
      y = logarithm ? (in[i * in_stride + j] - top[j]) - sum[j] : y * sum[j];
    }
}

/// f32 whose last dimension is contiguous in both tensors; false in other cases.
bool softmax_f32(KernelContext& context, const Rows& rows, bool logarithm) {
  const Tensor &in = *rows.in, &out = *rows.out;
  const int last = rows.rank - 1;
  if (in.dtype != DType::f32 || out.dtype != DType::f32 || in.strides[last] != 1 || out.strides[last] != 1)
    return false;
  const HotKernels& kernels = hot(context.isa());
  const int64_t size = in.sizes[rows.dim];
  if (rows.dim == last) {
    context.parallel_for(rows.count, 2048 / (size + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t from, to;
        rows.offsets(row, &from, &to);
        (logarithm ? kernels.log_softmax_row : kernels.softmax_row)(in.as<float>() + from, out.as<float>() + to, size);
      }
    });
    return true;
  }
  const int64_t inner = in.sizes[last], chunks = (inner + kWidth - 1) / kWidth;
  context.parallel_for(rows.count / inner * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % chunks * kWidth, width = inner - first < kWidth ? inner - first : kWidth;
      int64_t from, to;
      rows.offsets(item / chunks * inner + first, &from, &to);
      softmax_columns(kernels, in.as<float>() + from, in.strides[rows.dim], out.as<float>() + to, out.strides[rows.dim],
                      size, width, logarithm);
    }
  });
  return true;
}

template <typename In, typename Out, typename Sum>
void softmax_rows(KernelContext& context, const Rows& rows, bool logarithm) {
  const int dim = rows.dim;
  const int64_t size = rows.in->sizes[dim];
  context.parallel_for(rows.count, 512 / (size + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t from, to;
      rows.offsets(row, &from, &to);
      softmax_strided<In, Out, Sum>(rows.in->as<In>() + from, rows.in->strides[dim], rows.out->as<Out>() + to,
                                    rows.out->strides[dim], size, logarithm);
    }
  });
}

/// 16-bit floats, computed on a row-major f32 copy. False, with nothing done, if temp memory has no room for it.
bool softmax_half(KernelContext& context, const Rows& rows, bool logarithm) {
  const Tensor &in = *rows.in, &out = *rows.out;
  if (in.dtype != DType::f16 && in.dtype != DType::bf16) return false;
  // The copy is computed in place, which the loop over columns of log_softmax does not allow.
  if (logarithm && rows.dim != rows.rank - 1) return false;
  if (in.numel * sizeof(float) + 64 > context.temp_available()) return false;
  float* copy = context.allocate_temp_array<float>(in.numel);
  if (!copy) return true;
  const View from = view_of(in), middle = contiguous_view(copy, from.sizes, from.rank);
  convert_view(context, middle, DType::f32, from, in.dtype);
  int32_t strides[kMaxRank];
  for (int d = 0; d < in.rank; ++d) strides[d] = static_cast<int32_t>(middle.strides[d]);
  Tensor wide = in;
  wide.dtype = DType::f32;
  wide.data = copy;
  wide.strides = strides;
  Rows copies = rows;
  copies.in = copies.out = &wide;
  softmax_f32(context, copies, logarithm);
  convert_view(context, view_of(out), out.dtype, middle, DType::f32);
  return true;
}

void run_softmax(KernelContext& context, Span<EValue*> args, bool logarithm) {
  const Tensor& in = *args[0]->tensor;
  int64_t dim = args[1]->integer;
  const bool half_to_float = args[2]->boolean;
  Tensor& out = *args[3]->tensor;
  const int64_t limit = in.rank == 0 ? 1 : in.rank;
  if (!require(context, dim >= -limit && dim < limit, Error::InvalidArgument, "softmax: dim outside [-rank, rank)"))
    return;
  if (dim < 0) dim += limit;
  const bool fits = half_to_float ? in.dtype == DType::f16 && out.dtype == DType::f32 : in.dtype == out.dtype;
  if (!require(context, fits, Error::InvalidType,
               "softmax: out must have the input's dtype, or f32 for f16 with half_to_float"))
    return;
  if (!resize_or_fail(context, out, in.sizes, in.rank, "softmax: out has a different shape") || in.numel == 0) return;
  int32_t one = 1, unit_stride = 1;
  Tensor in_row = in, out_row = out;
  if (in.rank == 0) {  // a scalar is a row of one
    in_row.rank = out_row.rank = 1;
    in_row.sizes = out_row.sizes = &one;
    in_row.strides = out_row.strides = &unit_stride;
  }
  Rows rows;
  rows.rank = in_row.rank;
  rows.dim = static_cast<int>(dim);
  rows.in = &in_row;
  rows.out = &out_row;
  rows.count = static_cast<int64_t>(in.numel) / in_row.sizes[dim];
  if (softmax_f32(context, rows, logarithm) || softmax_half(context, rows, logarithm)) return;
  switch (in.dtype) {
    case DType::f32: return softmax_rows<float, float, float>(context, rows, logarithm);
    case DType::f64: return softmax_rows<double, double, double>(context, rows, logarithm);
    case DType::bf16: return softmax_rows<BFloat16, BFloat16, float>(context, rows, logarithm);
    case DType::f16:
      return half_to_float ? softmax_rows<Half, float, float>(context, rows, logarithm)
                           : softmax_rows<Half, Half, float>(context, rows, logarithm);
    default: context.fail(Error::InvalidType, "softmax of this dtype is not defined");
  }
}

}  // namespace

void softmax(KernelContext& context, Span<EValue*> args) { run_softmax(context, args, false); }
void log_softmax(KernelContext& context, Span<EValue*> args) { run_softmax(context, args, true); }

}  // namespace kernels
}  // namespace wick
