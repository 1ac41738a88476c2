// wick_cortex_m::requantize(input, input_zero_point, output_zero_point, multiplier, shift, quant_min, quant_max,
// dtype): input and output are int8, int16 or int32, with the same layout. Zero points of int32 are 0.
//   y = clamp(requantize((x - input_zero_point) 2^14, multiplier, shift) + output_zero_point); no 2^14 for int32 inputs
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m::reference {
namespace {

constexpr int32_t kLeftShift = 14;

struct ElementRange {
  int32_t min, max;
};
ElementRange range_of(DType dtype) {
  return dtype == DType::i8    ? ElementRange{INT8_MIN, INT8_MAX}
         : dtype == DType::i16 ? ElementRange{INT16_MIN, INT16_MAX}
                               : ElementRange{INT32_MIN, INT32_MAX};
}
ElementRange zeros_of(DType dtype) { return dtype == DType::i32 ? ElementRange{0, 0} : range_of(dtype); }
bool is_element(DType dtype) { return dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32; }

struct Requantize {
  int32_t input_zero = 0;
  OutputStage stage;
};

bool read_requantize(KernelContext& context, Span<EValue*> args, Requantize* r) {
  const Tensor& x = *args[0]->tensor;
  Tensor& y = *args[8]->tensor;
  settle_batch(x, y);
  if (!require(context, is_element(x.dtype) && is_element(y.dtype), "input and output are not int8, int16 or int32") ||
      !require(context, args[7]->integer == static_cast<int64_t>(y.dtype),
               "the output is not of the argument's dtype") ||
      !require(context, same_layout(x, y), "input and output differ in size or layout"))
    return false;
  const ElementRange from = zeros_of(x.dtype), zeros = zeros_of(y.dtype), to = range_of(y.dtype);
  static constexpr char kZero[] = "a zero point is outside its dtype", kBounds[] = "a bound is outside its dtype";
  return read_int(context, *args[1], from.min, from.max, &r->input_zero, kZero) &&
         read_int(context, *args[2], zeros.min, zeros.max, &r->stage.offset, kZero) &&
         read_requantization(context, args[3]->integer, args[4]->integer, &r->stage) &&
         read_int(context, *args[5], to.min, to.max, &r->stage.min, kBounds) &&
         read_int(context, *args[6], to.min, to.max, &r->stage.max, kBounds) &&
         require(context, r->stage.min <= r->stage.max, "quant_min is greater than quant_max");
}

template <typename From, typename To>
void write(const Requantize& r, const Tensor& from, const Tensor& to) {
  const From* x = from.as<const From>();
  To* y = to.as<To>();
  for (size_t i = 0; i < from.numel; ++i) {
    const int32_t number =
        sizeof(From) == sizeof(int32_t) ? static_cast<int32_t>(x[i]) : (x[i] - r.input_zero) * (1 << kLeftShift);
    const int32_t scaled = requantize(number, r.stage.multiplier, r.stage.shift);
    const int32_t value = wrapping_add(scaled, r.stage.offset);
    y[i] = static_cast<To>(value < r.stage.min ? r.stage.min : value > r.stage.max ? r.stage.max : value);
  }
}

template <typename From>
void write(const Requantize& r, const Tensor& x, const Tensor& y) {
  if (y.dtype == DType::i8) return write<From, int8_t>(r, x, y);
  if (y.dtype == DType::i16) return write<From, int16_t>(r, x, y);
  write<From, int32_t>(r, x, y);
}

}  // namespace

void requantize(KernelContext& context, Span<EValue*> args) {
  Requantize r;
  if (!read_requantize(context, args, &r)) return;
  const Tensor &x = *args[0]->tensor, &y = *args[8]->tensor;
  if (x.dtype == DType::i8) return write<int8_t>(r, x, y);
  if (x.dtype == DType::i16) return write<int16_t>(r, x, y);
  write<int32_t>(r, x, y);
}

}  // namespace wick::cortex_m::reference
