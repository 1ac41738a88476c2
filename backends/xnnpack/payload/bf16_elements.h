// bf16 elements as f32 ones and back: the library computes bf16 tensors in f32.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace wick::xnnpack {

inline void widen_bf16(const void* from, void* to, size_t count) {
  const auto* in = static_cast<const uint16_t*>(from);
  auto* out = static_cast<uint32_t*>(to);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<uint32_t>(in[i]) << 16;
}
/// To nearest, ties to even; NaN stays NaN.
inline void narrow_to_bf16(const void* from, void* to, size_t count) {
  const auto* in = static_cast<const uint32_t*>(from);
  auto* out = static_cast<uint16_t*>(to);
  for (size_t i = 0; i < count; ++i) {
    const bool is_nan = (in[i] & 0x7fffffff) > 0x7f800000;
    out[i] = static_cast<uint16_t>(is_nan ? (in[i] >> 16) | 0x40 : (in[i] + 0x7fff + ((in[i] >> 16) & 1)) >> 16);
  }
}

}  // namespace wick::xnnpack
