// quantized_decomposed::{quantize,dequantize}_per_{tensor,channel,token} and add.
//   q = clamp(round_half_even(x * (1 / scale)) + zero_point, min, max)     x = (q - zero_point) * scale
// per_token adds the zero point before it rounds.
#include "common/math/float_math.h"
#include "common/math/math.h"
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

bool is_quantized_dtype(DType dtype) {
  return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16 || dtype == DType::u16 || dtype == DType::i32;
}

bool check_range(KernelContext& context, int64_t min, int64_t max, int64_t dtype, const Tensor& quantized) {
  if (!is_quantized_dtype(quantized.dtype) || dtype != static_cast<int64_t>(quantized.dtype)) {
    context.fail(Error::InvalidType, "the quantized tensor does not have the dtype named (i8, u8, i16, u16 or i32)");
    return false;
  }
  int64_t lowest = 0, highest = 0;
  switch (quantized.dtype) {
    case DType::i8: lowest = INT8_MIN, highest = INT8_MAX; break;
    case DType::u8: highest = UINT8_MAX; break;
    case DType::i16: lowest = INT16_MIN, highest = INT16_MAX; break;
    case DType::u16: highest = UINT16_MAX; break;
    default: lowest = INT32_MIN, highest = INT32_MAX; break;
  }
  return require(context, lowest <= min && min <= max && max <= highest, "quant_min and quant_max exceed the dtype");
}

bool check_out_dtype(KernelContext& context, const EValue& asked, const Tensor& out) {
  const bool wanted = asked.is_none() ? out.dtype == DType::f32 : asked.integer == static_cast<int64_t>(out.dtype);
  if (!is_floating(out.dtype) || dtype_size_bytes(out.dtype) < 2 || !wanted) {
    context.fail(Error::InvalidType, "out does not have the floating dtype asked for (f32 unless named)");
    return false;
  }
  return true;
}

/// Applies convert(line in, line out, count, parameters index) to lines that share one scale. The parameter index runs
/// over dimension `axis`; over all positions of the other dimensions (rows) if axis is kRows; it is 0 if axis is kOne.
constexpr int kOne = -1, kRows = -2;

template <typename Body>
void for_each_parameter(KernelContext& context, const View& in, const View& out, int axis, const Body& body) {
  // Lines run along the last dimension, or along the one before it if that is the axis.
  const int last = in.rank - 1;
  const int run = axis == last ? last - 1 : last;
  int64_t lines = 1;
  for (int d = 0; d < in.rank; ++d) lines *= d == run ? 1 : in.sizes[d];
  const int64_t length = run < 0 ? 1 : in.sizes[run];
  if (length == 0) return;
  context.parallel_for(lines, 8192 / length + 1, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      int64_t rest = line, from = 0, to = 0, parameter = axis == kRows ? line : 0;
      for (int d = last; d >= 0; --d) {
        if (d == run) continue;
        const int64_t i = rest % in.sizes[d];
        rest /= in.sizes[d];
        from += i * in.strides[d];
        to += i * out.strides[d];
        if (d == axis) parameter = i;
      }
      body(from, run < 0 ? 1 : in.strides[run], to, run < 0 ? 1 : out.strides[run], length, parameter);
    }
  });
}

constexpr int64_t kChunk = 64;

/// Scales and zero points as double and int64, one for each parameter index, row-major in temp.
struct Parameters {
  double* scales = nullptr;
  double* inverses = nullptr;  // 1 / scale, rounded as the scales' dtype does
  int64_t* zero_points = nullptr;
  bool wide = false;  // f64 scales: the arithmetic is double

  bool init(KernelContext& context, int64_t count) {
    scales = context.allocate_temp_array<double>(static_cast<size_t>(count));
    inverses = context.allocate_temp_array<double>(static_cast<size_t>(count));
    zero_points = context.allocate_temp_array<int64_t>(static_cast<size_t>(count));
    return scales && inverses && zero_points;
  }
  bool load(KernelContext& context, const Tensor& scale, const Tensor* zero_point, int64_t count) {
    if (!require(context, static_cast<int64_t>(scale.numel) == count, "there is not one scale for each slice"))
      return false;
    if (!require(context, !zero_point || static_cast<int64_t>(zero_point->numel) == count,
                 "there is not one zero point for each slice")) {
      return false;
    }
    const bool floats = scale.dtype == DType::f32 || scale.dtype == DType::f64;
    const bool points = !zero_point || is_integral(zero_point->dtype) || is_floating(zero_point->dtype);
    if (!floats || !points) {
      context.fail(Error::InvalidType, "scales must be f32 or f64, zero points numbers");
      return false;
    }
    if (!init(context, count)) return false;
    wide = scale.dtype == DType::f64;
    const View s = view_of(scale);
    convert_view(context, contiguous_view(scales, s.sizes, s.rank), DType::f64, s, scale.dtype);
    for (int64_t i = 0; i < count; ++i) {
      inverses[i] = wide ? 1.0 / scales[i] : static_cast<double>(1.0f / static_cast<float>(scales[i]));
      zero_points[i] = 0;
    }
    if (!zero_point) return true;
    const View z = view_of(*zero_point);
    convert_view(context, contiguous_view(zero_points, z.sizes, z.rank), DType::i64, z, zero_point->dtype);
    return true;
  }
  bool single(KernelContext& context, double scale, int64_t zero_point) {
    if (!init(context, 1)) return false;
    scales[0] = scale;
    inverses[0] = 1.0 / scale;
    zero_points[0] = zero_point;
    return true;
  }
};

struct ElementRange {
  int64_t min;
  int64_t max;
};

int64_t clamp_to(double value, ElementRange range) {
  if (value != value) return 0;
  if (value < static_cast<double>(range.min)) return range.min;
  if (value > static_cast<double>(range.max)) return range.max;
  return static_cast<int64_t>(value);
}

bool is_small(int64_t value) { return value >= -(1 << 20) && value <= 1 << 20; }

/// The loop for packed f32 to 8 bits: rounds, then adds the zero point. All sums are exact in float and int32.
template <typename T>
void quantize_packed(const float* x, float inverse, int32_t point, ElementRange range, T* out, int64_t count) {
  const float lower = static_cast<float>(range.min - point), upper = static_cast<float>(range.max - point);
  for (int64_t i = 0; i < count; ++i) {
    const float scaled = x[i] * inverse;
    const float rounded = math::round_even_f(scaled);
    const float above = rounded < lower ? lower : rounded;
    const float inside = above > upper ? upper : above;
    const int32_t value = static_cast<int32_t>(scaled == scaled ? inside : 0.0f) + point;
    out[i] = static_cast<T>(scaled == scaled ? value : 0);
  }
}
template <typename T>
void dequantize_packed(const T* x, int32_t point, float scale, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(static_cast<int32_t>(x[i]) - point) * scale;
}

/// in [..] real -> out [..] quantized.
void quantize(KernelContext& context, const Tensor& in, const Parameters& parameters, int axis, bool point_first,
              ElementRange range, Tensor& out) {
  const View src = view_of(in);
  const DType in_dtype = in.dtype;
  if (!require(context, is_floating(in_dtype), "only floating tensors are quantized")) return;
  if (!resize_out(context, out, src.sizes, src.rank) || out.numel == 0) return;
  const View dst = view_of(out);
  const int64_t in_size = static_cast<int64_t>(dtype_size_bytes(in_dtype));
  const int64_t out_size = static_cast<int64_t>(dtype_size_bytes(out.dtype));
  const bool fast = !parameters.wide && !point_first && in_dtype == DType::f32 &&
                    (out.dtype == DType::i8 || out.dtype == DType::u8) && is_small(range.min) && is_small(range.max);
  for_each_parameter(
      context, src, dst, axis,
      [&](int64_t from, int64_t from_step, int64_t to, int64_t to_step, int64_t count, int64_t p) {
        const double inverse = parameters.inverses[p];
        const float inverse32 = static_cast<float>(inverse);
        const int64_t point = parameters.zero_points[p];
        if (fast && from_step == 1 && to_step == 1 && is_small(point)) {
          const float* x = reinterpret_cast<const float*>(src.data) + from;
          const int32_t point32 = static_cast<int32_t>(point);
          if (out.dtype == DType::i8)
            return quantize_packed(x, inverse32, point32, range, reinterpret_cast<int8_t*>(dst.data) + to, count);
          return quantize_packed(x, inverse32, point32, range, dst.data + to, count);
        }
        for (int64_t begin = 0; begin < count; begin += kChunk) {
          const int64_t n = count - begin < kChunk ? count - begin : kChunk;
          float values[kChunk];
          int64_t results[kChunk];
          convert_elements(values, DType::f32, 1, src.data + (from + begin * from_step) * in_size, in_dtype, from_step,
                           n);
          for (int64_t i = 0; i < n; ++i) {
            const double scaled = parameters.wide ? values[i] * inverse : static_cast<double>(values[i] * inverse32);
            double rounded;
            if (point_first) {
              const double moved = parameters.wide
                                       ? scaled + static_cast<double>(point)
                                       : static_cast<double>(static_cast<float>(scaled) + static_cast<float>(point));
              rounded = math::round_even(moved);
            } else {
              rounded = math::round_even(scaled) + static_cast<double>(point);
            }
            results[i] = clamp_to(rounded, range);
          }
          convert_elements(dst.data + (to + begin * to_step) * out_size, out.dtype, to_step, results, DType::i64, 1, n);
        }
      });
}

/// in [..] quantized -> out [..] floating.
void dequantize(KernelContext& context, const Tensor& in, const Parameters& parameters, int axis, Tensor& out) {
  const View src = view_of(in);
  const DType in_dtype = in.dtype;
  if (!resize_out(context, out, src.sizes, src.rank) || out.numel == 0) return;
  const View dst = view_of(out);
  const int64_t in_size = static_cast<int64_t>(dtype_size_bytes(in_dtype));
  const int64_t out_size = static_cast<int64_t>(dtype_size_bytes(out.dtype));
  const bool wide = parameters.wide || out.dtype == DType::f64;
  const bool fast = !wide && out.dtype == DType::f32 && (in_dtype == DType::i8 || in_dtype == DType::u8);
  for_each_parameter(
      context, src, dst, axis,
      [&](int64_t from, int64_t from_step, int64_t to, int64_t to_step, int64_t count, int64_t p) {
        const double scale = parameters.scales[p];
        const float scale32 = static_cast<float>(scale);
        const uint64_t point = static_cast<uint64_t>(parameters.zero_points[p]);
        if (fast && from_step == 1 && to_step == 1 && is_small(parameters.zero_points[p])) {
          float* y = reinterpret_cast<float*>(dst.data) + to;
          const int32_t point32 = static_cast<int32_t>(parameters.zero_points[p]);
          if (in_dtype == DType::i8)
            return dequantize_packed(reinterpret_cast<const int8_t*>(src.data) + from, point32, scale32, y, count);
          return dequantize_packed(src.data + from, point32, scale32, y, count);
        }
        for (int64_t begin = 0; begin < count; begin += kChunk) {
          const int64_t n = count - begin < kChunk ? count - begin : kChunk;
          int64_t values[kChunk];
          double results[kChunk];
          convert_elements(values, DType::i64, 1, src.data + (from + begin * from_step) * in_size, in_dtype, from_step,
                           n);
          for (int64_t i = 0; i < n; ++i) {
            const int64_t moved = static_cast<int64_t>(static_cast<uint64_t>(values[i]) - point);
            results[i] =
                wide ? static_cast<double>(moved) * scale : static_cast<double>(static_cast<float>(moved) * scale32);
          }
          convert_elements(dst.data + (to + begin * to_step) * out_size, out.dtype, to_step, results, DType::f64, 1, n);
        }
      });
}

int64_t rows_of(const Tensor& tensor) {
  int64_t rows = 1;
  for (int d = 0; d + 1 < tensor.rank; ++d) rows *= tensor.sizes[d];
  return rows;
}

bool valid_scale(KernelContext& context, double scale) {
  return require(context, scale > 0 && math::is_finite(scale), "the scale must be positive and finite");
}

/// Loads scales and zero points along `axis`. If there is one scale for all channels, `axis` becomes kOne.
bool load_channels(KernelContext& context, const Tensor& in, const Tensor& scales, const Tensor* zero_points, int* axis,
                   Parameters* parameters) {
  const int64_t channels = in.sizes[*axis];
  const bool one = scales.numel == 1;
  if (one) *axis = kOne;
  return parameters->load(context, scales, zero_points, one ? 1 : channels);
}

/// One-element scale and zero point tensors.
bool load_single(KernelContext& context, const Tensor& scale, const Tensor& zero_point, Parameters* parameters) {
  Parameters loaded;
  if (!loaded.load(context, scale, &zero_point, 1)) return false;
  return valid_scale(context, loaded.scales[0]) && parameters->single(context, loaded.scales[0], loaded.zero_points[0]);
}

}  // namespace

void quantize_per_tensor_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[6]->tensor;
  const ElementRange range = {args[3]->integer, args[4]->integer};
  Parameters parameters;
  if (!check_range(context, range.min, range.max, args[5]->integer, out) || !valid_scale(context, args[1]->real))
    return;
  if (!parameters.single(context, args[1]->real, args[2]->integer)) return;
  quantize(context, *args[0]->tensor, parameters, kOne, false, range, out);
}

void quantize_per_tensor_tensor_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[6]->tensor;
  const ElementRange range = {args[3]->integer, args[4]->integer};
  Parameters parameters;
  if (!check_range(context, range.min, range.max, args[5]->integer, out)) return;
  if (!load_single(context, *args[1]->tensor, *args[2]->tensor, &parameters)) return;
  quantize(context, *args[0]->tensor, parameters, kOne, false, range, out);
}

void dequantize_per_tensor_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[7]->tensor;
  Parameters parameters;
  if (!check_range(context, args[3]->integer, args[4]->integer, args[5]->integer, in)) return;
  if (!check_out_dtype(context, *args[6], out) || !parameters.single(context, args[1]->real, args[2]->integer)) return;
  dequantize(context, in, parameters, kOne, out);
}

void dequantize_per_tensor_tensor_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[7]->tensor;
  Parameters parameters;
  if (!check_range(context, args[3]->integer, args[4]->integer, args[5]->integer, in)) return;
  if (!check_out_dtype(context, *args[6], out) ||
      !load_single(context, *args[1]->tensor, *args[2]->tensor, &parameters))
    return;
  dequantize(context, in, parameters, kOne, out);
}

void quantize_per_channel_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[7]->tensor;
  const ElementRange range = {args[4]->integer, args[5]->integer};
  Parameters parameters;
  int axis;
  if (!require(context, in.rank > 0, "per-channel tensors need a dimension")) return;
  if (!wrap_dim(context, args[3]->integer, in.rank, &axis)) return;
  if (!check_range(context, range.min, range.max, args[6]->integer, out)) return;
  if (!load_channels(context, in, *args[1]->tensor, args[2]->tensor, &axis, &parameters)) return;
  quantize(context, in, parameters, axis, false, range, out);
}

void dequantize_per_channel_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[8]->tensor;
  Parameters parameters;
  int axis;
  if (!require(context, in.rank > 0, "per-channel tensors need a dimension")) return;
  if (!wrap_dim(context, args[3]->integer, in.rank, &axis)) return;
  if (!check_range(context, args[4]->integer, args[5]->integer, args[6]->integer, in)) return;
  if (!check_out_dtype(context, *args[7], out)) return;
  const Tensor* points = args[2]->is_none() ? nullptr : args[2]->tensor;
  if (!load_channels(context, in, *args[1]->tensor, points, &axis, &parameters)) return;
  dequantize(context, in, parameters, axis, out);
}

void quantize_per_token_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[6]->tensor;
  const ElementRange range = {args[3]->integer, args[4]->integer};
  Parameters parameters;
  if (!require(context, in.rank > 0, "per-token tensors need a dimension")) return;
  if (!check_range(context, range.min, range.max, args[5]->integer, out)) return;
  if (!parameters.load(context, *args[1]->tensor, args[2]->tensor, rows_of(in))) return;
  quantize(context, in, parameters, kRows, true, range, out);
}

void dequantize_per_token_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[7]->tensor;
  Parameters parameters;
  if (!require(context, in.rank > 0, "per-token tensors need a dimension")) return;
  if (!check_range(context, args[3]->integer, args[4]->integer, args[5]->integer, in)) return;
  if (!check_out_dtype(context, *args[6], out)) return;
  if (!parameters.load(context, *args[1]->tensor, args[2]->tensor, rows_of(in))) return;
  dequantize(context, in, parameters, kRows, out);
}

/// Dequantizes, adds and quantizes element by element in f32; a and b have one shape.
void quantized_add_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& a = *args[0]->tensor;
  const Tensor& b = *args[5]->tensor;
  Tensor& out = *args[14]->tensor;
  const ElementRange range = {args[12]->integer, args[13]->integer};
  if (!require(context, a.dtype == b.dtype && b.dtype == out.dtype && is_quantized_dtype(a.dtype),
               "a, b and out must have one quantized dtype"))
    return;
  if (!check_range(context, args[3]->integer, args[4]->integer, static_cast<int64_t>(a.dtype), a)) return;
  if (!check_range(context, args[8]->integer, args[9]->integer, static_cast<int64_t>(b.dtype), b)) return;
  if (!check_range(context, range.min, range.max, static_cast<int64_t>(out.dtype), out)) return;
  if (!valid_scale(context, args[10]->real)) return;
  const DType dtype = a.dtype;
  const View va = view_of(a), vb = view_of(b);
  bool same = va.rank == vb.rank;
  for (int d = 0; same && d < va.rank; ++d) same = va.sizes[d] == vb.sizes[d];
  if (!require(context, same, "a and b must have one shape")) return;
  const int64_t count = static_cast<int64_t>(a.numel);
  const uint8_t* pa = static_cast<const uint8_t*>(contiguous_data(context, a));
  const uint8_t* pb = static_cast<const uint8_t*>(contiguous_data(context, b));
  if (!pa || !pb || !resize_out(context, out, va.sizes, va.rank)) return;
  uint8_t* po = static_cast<uint8_t*>(contiguous_target(context, out));
  if (!po) return;
  const float a_scale = static_cast<float>(args[1]->real), b_scale = static_cast<float>(args[6]->real);
  const float inverse = static_cast<float>(1.0 / args[10]->real);
  const float a_point = static_cast<float>(args[2]->integer), b_point = static_cast<float>(args[7]->integer);
  const double out_point = static_cast<double>(args[11]->integer);
  const int64_t size = static_cast<int64_t>(dtype_size_bytes(dtype));
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t n = count - begin < kChunk ? count - begin : kChunk;
    float x[kChunk], y[kChunk];
    int64_t results[kChunk];
    convert_elements(x, DType::f32, 1, pa + begin * size, dtype, 1, n);
    convert_elements(y, DType::f32, 1, pb + begin * size, dtype, 1, n);
    for (int64_t i = 0; i < n; ++i) {
      const float sum = (x[i] - a_point) * a_scale + (y[i] - b_point) * b_scale;
      results[i] = clamp_to(math::round_even(static_cast<double>(sum * inverse)) + out_point, range);
    }
    convert_elements(po + begin * size, dtype, 1, results, DType::i64, 1, n);
  }
  store_contiguous(context, out, po);
}

}  // namespace kernels
}  // namespace wick
