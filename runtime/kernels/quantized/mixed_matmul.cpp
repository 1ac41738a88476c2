// Floating activations times int8 weights.
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

/// Row-major f32 copy of a floating or integer tensor in temp.
const float* as_floats(KernelContext& context, const Tensor& tensor) {
  float* copy = context.allocate_temp_array<float>(tensor.numel);
  if (!copy) return nullptr;
  const View src = view_of(tensor);
  convert_view(context, contiguous_view(copy, src.sizes, src.rank), DType::f32, src, tensor.dtype);
  return copy;
}

/// The operands of both ops; groups divide the columns of weight.
struct Operands {
  const float* x = nullptr;
  const int8_t* weight = nullptr;
  const float* scales = nullptr;
  const float* zero_points = nullptr;
  int64_t m = 0, k = 0, rows = 0, columns = 0, groups = 1;

  bool init(KernelContext& context, Span<EValue*> args) {
    const Tensor& input = *args[0]->tensor;
    const Tensor& w = *args[1]->tensor;
    const Tensor& scale = *args[2]->tensor;
    const Tensor* point = args[3]->is_none() ? nullptr : args[3]->tensor;
    if (!require(context, input.rank == 2 && w.rank == 2, "input and weight must have two dimensions")) return false;
    if (!require(context, is_floating(input.dtype) && w.dtype == DType::i8 && is_floating(scale.dtype),
                 "input and scales must be floating, weight i8"))
      return false;
    if (!require(context, (scale.rank == 1 || scale.rank == 2) && scale.sizes[0] == w.sizes[0],
                 "there is not one scale for each row of weight"))
      return false;
    groups = scale.rank == 2 ? scale.sizes[1] : 1;
    columns = w.sizes[1];
    rows = w.sizes[0];
    m = input.sizes[0];
    k = input.sizes[1];
    if (!require(context, groups > 0 && columns % groups == 0, "the groups do not divide the columns of weight"))
      return false;
    if (!require(context, !point || point->numel == scale.numel, "there is not one zero point for each scale"))
      return false;
    x = as_floats(context, input);
    weight = static_cast<const int8_t*>(contiguous_data(context, w));
    scales = as_floats(context, scale);
    zero_points = point ? as_floats(context, *point) : nullptr;
    return context.ok();
  }
  float point(int64_t index) const { return zero_points ? zero_points[index] : 0; }
};

/// out[m, n] = sums(i, j), converted.
template <typename Sum>
void store_product(KernelContext& context, int64_t m, int64_t n, Tensor& out, const Sum& sum) {
  const int64_t sizes[2] = {m, n};
  if (!require(context, is_floating(out.dtype), "out must be floating")) return;
  if (!resize_out(context, out, sizes, 2) || out.numel == 0) return;
  const View dst = view_of(out);
  const int64_t size = static_cast<int64_t>(dtype_size_bytes(out.dtype));
  context.parallel_for(m * n, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float value = sum(i / n, i % n);
      convert_elements(dst.data + (i / n * dst.strides[0] + i % n * dst.strides[1]) * size, out.dtype, 1, &value,
                       DType::f32, 1, 1);
    }
  });
}

}  // namespace

/// input [m, k] x weight [k, n]; a scale for each row of weight.
void mixed_mm_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[4]->tensor;
  Operands a;
  if (!a.init(context, args)) return;
  if (!require(context, a.k == a.rows && a.groups == 1, "input and weight do not fit, or there are groups")) return;
  if (!require_dtype(context, out, args[0]->tensor->dtype, "out has a different dtype than the input")) return;
  store_product(context, a.m, a.columns, out, [&](int64_t i, int64_t j) {
    float sum = 0;
    for (int64_t p = 0; p < a.k; ++p) {
      sum += a.x[i * a.k + p] * ((static_cast<float>(a.weight[p * a.columns + j]) - a.point(p)) * a.scales[p]);
    }
    return sum;
  });
}

/// input [m, k] x transposed weight [n, k]; a scale for each group of each row of weight.
void mixed_linear_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[5]->tensor;
  Operands a;
  const int64_t wanted = args[4]->is_none() ? static_cast<int64_t>(args[0]->tensor->dtype) : args[4]->integer;
  if (!a.init(context, args)) return;
  if (!require(context, a.k == a.columns, "input and weight do not fit")) return;
  if (!require(context, wanted == static_cast<int64_t>(out.dtype), "out does not have the dtype asked for")) return;
  store_product(context, a.m, a.rows, out, [&](int64_t i, int64_t j) {
    const int64_t group = a.columns / a.groups;
    float sum = 0;
    for (int64_t g = 0; g < a.groups; ++g) {
      float partial = 0;
      for (int64_t p = g * group; p < (g + 1) * group; ++p) {
        partial += a.x[i * a.k + p] * (static_cast<float>(a.weight[j * a.columns + p]) - a.point(j * a.groups + g));
      }
      sum += partial * a.scales[j * a.groups + g];
    }
    return sum;
  });
}

}  // namespace kernels
}  // namespace wick
