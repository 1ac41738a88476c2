// Philox4x32-10: random words as a pure function of a key and a counter. C++17, freestanding.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
#pragma once
#include <stdint.h>

#include "common/math/math.h"

namespace wick {

/// Four independent uniform words.
struct RandomBlock {
  uint32_t words[4];
};

/// Block number `counter` of the stream keyed by `seed`.
inline RandomBlock philox4x32(uint64_t seed, uint64_t counter) {
  uint32_t c0 = static_cast<uint32_t>(counter), c1 = static_cast<uint32_t>(counter >> 32), c2 = 0, c3 = 0;
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// In [0, 1), a multiple of 2^-24, from one word.
inline float uniform_float(uint32_t word) { return static_cast<float>(word >> 8) * 5.9604644775390625e-8f; }
/// In [0, 1), a multiple of 2^-53, from two words.
inline double uniform_double(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}
/// One of two normal numbers, by `lane` 0 or 1, from two words. Source: Box and Muller, "A note on the generation of
/// random normal deviates" (1958).
inline double normal_double(uint32_t radius_word, uint32_t angle_word, int64_t lane) {
  const double u = (static_cast<double>(radius_word) + 1) * 0x1p-32;  // (0, 1]
  const double angle = 2 * math::kPi * (static_cast<double>(angle_word) * 0x1p-32);
  const double radius = math::sqrt(-2 * math::log(u));
  return radius * (lane == 0 ? math::cos(angle) : math::sin(angle));
}

}  // namespace wick
