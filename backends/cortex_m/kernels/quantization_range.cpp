#include "backends/cortex_m/kernels/quantization_range.h"

namespace wick::cortex_m {

bool read_range(KernelContext& context, Span<EValue*> args, const Tensor& quantized, QuantizationRange* range) {
  const bool narrow = quantized.dtype == DType::i8;
  if (args[4]->integer != static_cast<int64_t>(quantized.dtype) || (!narrow && quantized.dtype != DType::i16)) {
    context.fail(Error::InvalidType, "the quantized tensor does not have the dtype named, int8 or int16");
    return false;
  }
  const int64_t lowest = narrow ? INT8_MIN : INT16_MIN, highest = narrow ? INT8_MAX : INT16_MAX;
  range->scale = static_cast<float>(args[0]->real);
  return require(context, range->scale > 0 && range->scale <= 3.4028234663852886e38f && 1.0f / range->scale > 0,
                 "the scale is not positive and finite") &&
         read_int(context, *args[1], lowest, highest, &range->zero_point, "zero_point is outside the dtype") &&
         read_int(context, *args[2], lowest, highest, &range->min, "quant_min is outside the dtype") &&
         read_int(context, *args[3], lowest, highest, &range->max, "quant_max is outside the dtype") &&
         require(context, range->min <= range->max, "quant_min is greater than quant_max");
}

}  // namespace wick::cortex_m
