#include "backends/cortex_m/kernels/int16.h"

namespace wick::cortex_m {
namespace {

bool read_bias(KernelContext& context, const EValue& bias, int64_t channels, Int16Channels* out) {
  if (bias.is_none()) return true;
  const Tensor& tensor = *bias.tensor;
  if (!require(context, tensor.dtype == DType::i32 || tensor.dtype == DType::i64, "the bias is not int32 or int64") ||
      !require(context, static_cast<int64_t>(tensor.numel) == channels && is_contiguous(tensor),
               "the bias is not contiguous with one element per channel"))
    return false;
  if (tensor.dtype == DType::i64) {
    out->wide_bias = tensor.as<const int64_t>();
  } else {
    out->bias = tensor.as<const int32_t>();
  }
  return true;
}

}  // namespace

bool read_int16_range(KernelContext& context, const EValue& min, const EValue& max, int32_t* out_min,
                      int32_t* out_max) {
  return read_int(context, min, INT16_MIN, INT16_MAX, out_min, "activation_min is outside [-32768, 32767]") &&
         read_int(context, max, INT16_MIN, INT16_MAX, out_max, "activation_max is outside [-32768, 32767]") &&
         require(context, *out_min <= *out_max, "activation_min is greater than activation_max");
}

bool require_int16(KernelContext& context, const Tensor& a, const Tensor& b) {
  return require_dtype(context, a, DType::i16, "the input is not int16") &&
         require_dtype(context, b, DType::i16, "the output is not int16");
}

bool read_int16_channels(KernelContext& context, const EValue& bias, const Tensor& multipliers, const Tensor& shifts,
                         const EValue& min, const EValue& max, int64_t channels, const Tensor& written,
                         Int16Channels* out) {
  const int64_t count = multipliers.numel == 1 && shifts.numel == 1 ? 1 : channels;
  static constexpr char kRow[] = "multipliers and shifts are not contiguous int32 tensors with one element per channel";
  if (!check_settled_row(context, multipliers, count, written, kRow) ||
      !check_settled_row(context, shifts, count, written, kRow) || !read_bias(context, bias, channels, out) ||
      !read_int16_range(context, min, max, &out->min, &out->max))
    return false;
  out->multipliers = multipliers.as<const int32_t>();
  out->shifts = shifts.as<const int32_t>();
  out->step = count == channels ? 1 : 0;
  OutputStage checked;
  for (int64_t c = 0; c < count; ++c) {
    if (!read_requantization(context, out->multipliers[c], out->shifts[c], &checked) ||
        !require(context, !out->is_wide() || checked.shift <= kMaxWideShift,
                 "a requantization shift is greater than 14 beside a bias of int64"))
      return false;
  }
  return true;
}

}  // namespace wick::cortex_m
