// dequantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype of input): int8 or int16 -> f32.
//   x = (q - zero_point) * scale, in f32
#include "backends/cortex_m/kernels/dequantize/dequantize.h"

namespace wick::cortex_m::reference {
namespace {

template <typename T>
void dequantize(const Dequantize& c) {
  const T* q = static_cast<const T*>(c.q);
  for (size_t i = 0; i < c.count; ++i) c.x[i] = static_cast<float>(q[i] - c.range.zero_point) * c.range.scale;
}

}  // namespace

void dequantize_per_tensor(KernelContext& context, Span<EValue*> args) {
  Dequantize c;
  if (!read_dequantize(context, args, &c)) return;
  if (c.dtype == DType::i8) return dequantize<int8_t>(c);
  dequantize<int16_t>(c);
}

}  // namespace wick::cortex_m::reference
