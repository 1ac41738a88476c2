#include "backends/cortex_m/compile/int4.h"

#include <algorithm>

#include "backends/cortex_m/kernels/int4.h"
#include "compiler/ir/quantization.h"
#include "compiler/layout/constant_elements.h"

namespace wick::cortex_m {

bool is_int4(const compiler::Value& weights) {
  const compiler::Quantization& q = *weights.tensor().quantization;
  if (!weights.is_constant() || weights.dtype() != DType::i8 || q.quant_min < -8 || q.quant_max > 7) return false;
  const std::vector<int8_t> elements = compiler::layout::elements_of<int8_t>(weights);
  return std::all_of(elements.begin(), elements.end(), [](int8_t each) { return each >= -8 && each <= 7; });
}

std::vector<uint8_t> pack_int4(const std::vector<int8_t>& elements, size_t count) {
  if (count == 0) return {};
  const auto row_bytes = static_cast<size_t>(int4_row_bytes(static_cast<int64_t>(count)));
  constexpr uint8_t kNone = kInt4Zero << 4 | kInt4Zero;
  std::vector<uint8_t> packed(elements.size() / count * row_bytes, kNone);
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t k = i % count, half = k % 8 / 4 * 4;
    uint8_t& byte = packed[i / count * row_bytes + k / 8 * 4 + k % 4];
    const auto code = static_cast<uint32_t>(elements[i] + kInt4Zero);
    byte = static_cast<uint8_t>((byte & ~(15u << half)) | code << half);
  }
  return packed;
}

}  // namespace wick::cortex_m
