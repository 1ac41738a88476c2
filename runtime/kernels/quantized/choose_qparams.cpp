// Scales and zero points from the values of a tensor.
#include "common/math/math.h"
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

/// Smallest and largest of `count` elements and 0; NaN if one is NaN.
struct Extremes {
  float low = 0;
  float high = 0;
};

Extremes extremes_of(const View& in, DType dtype, int64_t offset, int64_t count) {
  constexpr int64_t kChunk = 64;
  const int64_t size = static_cast<int64_t>(dtype_size_bytes(dtype));
  Extremes result;
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t n = count - begin < kChunk ? count - begin : kChunk;
    float values[kChunk];
    convert_elements(values, DType::f32, 1, in.data + (offset + begin) * size, dtype, 1, n);
    for (int64_t i = 0; i < n; ++i) {
      if (values[i] != values[i]) return {values[i], values[i]};
      result.low = values[i] < result.low ? values[i] : result.low;
      result.high = values[i] > result.high ? values[i] : result.high;
    }
  }
  return result;
}

bool check_outs(KernelContext& context, const Tensor& in, const Tensor& scale, const Tensor& zero_point) {
  if (!require(context, is_floating(in.dtype) && dtype_size_bytes(in.dtype) >= 2,
               "quantization parameters come from a floating tensor"))
    return false;
  const bool scales = scale.dtype == DType::f64 || scale.dtype == DType::f32;
  if (scales && is_index_dtype(zero_point.dtype)) return true;
  context.fail(Error::InvalidType, "scale_out must be f64 or f32, zero_point_out i64 or i32");
  return false;
}

void store(const Tensor& scale, const Tensor& zero_point, int64_t scale_at, int64_t zero_point_at, double s,
           int64_t z) {
  convert_elements(scale.as<uint8_t>() + scale_at * static_cast<int64_t>(dtype_size_bytes(scale.dtype)), scale.dtype, 1,
                   &s, DType::f64, 1, 1);
  convert_elements(zero_point.as<uint8_t>() + zero_point_at * static_cast<int64_t>(dtype_size_bytes(zero_point.dtype)),
                   zero_point.dtype, 1, &z, DType::i64, 1, 1);
}

int64_t clamp(int64_t value, int64_t low, int64_t high) { return value < low ? low : value > high ? high : value; }

}  // namespace

/// scale = max((high - low) / (qmax - qmin), eps) and zero_point = clamp(qmin - round(low / scale)), both of shape [1].
void choose_qparams_tensor_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  const int64_t qmin = args[1]->integer, qmax = args[2]->integer;
  Tensor& scale = *args[5]->tensor;
  Tensor& zero_point = *args[6]->tensor;
  const View src = view_of(in);
  const int64_t count = static_cast<int64_t>(in.numel);
  if (!check_outs(context, in, scale, zero_point)) return;
  const bool sane = qmin >= INT32_MIN && qmax <= INT32_MAX && qmin <= 0 && qmax >= 0 && qmin < qmax;
  if (!require(context, sane, "quant_min and quant_max must enclose 0")) return;
  if (!require(context, count > 0, "an empty tensor has no range")) return;
  // The order does not matter, and a tensor is dense.
  const Extremes range = extremes_of(src, in.dtype, 0, count);
  const int64_t one = 1;
  if (!resize_out(context, scale, &one, 1) || !resize_out(context, zero_point, &one, 1)) return;
  if (!require(context, range.low - range.low == 0 && range.high - range.high == 0, "the values are not all finite"))
    return;
  const float step = (range.high - range.low) / static_cast<float>(qmax - qmin);
  const float eps = static_cast<float>(args[3]->real);
  const float chosen = step > eps ? step : eps;
  if (!require(context, chosen > 0, "eps must be positive")) return;
  const double offset = math::round_even(static_cast<double>(range.low / chosen));
  store(scale, zero_point, 0, 0, chosen, clamp(qmin - static_cast<int64_t>(offset < -4e9 ? -4e9 : offset), qmin, qmax));
}

/// For each row (last dimension): the asymmetric int8 parameters that torchao uses; scale and zero point get shape [..,
/// 1].
void choose_qparams_per_token_asymmetric_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& scale = *args[2]->tensor;
  Tensor& zero_point = *args[3]->tensor;
  if (!check_outs(context, in, scale, zero_point)) return;
  if (!require(context, in.rank > 0 && in.sizes[in.rank - 1] > 0, "per-token tensors need a non-empty last dimension"))
    return;
  const DType dtype = in.dtype;
  View src = view_of(in);
  const int64_t width = src.sizes[src.rank - 1];
  const int64_t rows = static_cast<int64_t>(in.numel) / width;
  const void* data = contiguous_data(context, in);
  if (!data) return;
  src.data = static_cast<uint8_t*>(const_cast<void*>(data));
  src.sizes[src.rank - 1] = 1;
  if (!resize_out(context, scale, src.sizes, src.rank) || !resize_out(context, zero_point, src.sizes, src.rank)) return;
  if (!require(context, is_contiguous(scale) && is_contiguous(zero_point),
               "scale_out and zero_point_out must be row-major"))
    return;
  constexpr float kEpsilon = 1.1920928955078125e-07f;
  for (int64_t row = 0; row < rows; ++row) {
    const Extremes range = extremes_of(src, dtype, row * width, width);
    if (!require(context, range.low - range.low == 0 && range.high - range.high == 0, "the values are not all finite"))
      return;
    const float step = (range.high - range.low) / 255.0f;
    const float chosen = step > kEpsilon ? step : kEpsilon;
    const float low = range.low / chosen, high = range.high / chosen;
    const float point = (-128.0f + low) + (127.0f + high) > 0 ? -128.0f - low : 127.0f - high;
    const float clamped = point < -128.0f ? -128.0f : point > 127.0f ? 127.0f : point;
    store(scale, zero_point, row, row, chosen, static_cast<int64_t>(math::round_even(static_cast<double>(clamped))));
  }
}

}  // namespace kernels
}  // namespace wick
