// How conv2d_int4 on MVE divides its scratch between unpacked weights and windows. The kernel and the compiler, which
// sizes the scratch, share it. C++17, freestanding.
#pragma once
#include <stdint.h>

namespace wick::cortex_m {

/// Scratch bytes for windows beside unpacked weights: as in arm_convolve_s8 on MVE, none if the kernel is 1x1.
inline constexpr int64_t unpacked_window_bytes(int64_t terms, bool pixels) {
  return pixels ? 0 : 4 * ((terms + 15) / 16 * 16);
}

/// How many channels' weights are unpacked at a time: all, or a multiple of 3; 0 if scratch has no room.
inline constexpr int64_t unpacked_channels(int64_t scratch_bytes, int64_t terms, int64_t outputs, bool pixels) {
  const int64_t room = (scratch_bytes - unpacked_window_bytes(terms, pixels)) / terms;
  return room >= outputs ? outputs : room < 3 ? 0 : room / 3 * 3;
}

}  // namespace wick::cortex_m
