#include "compiler/support/content_hash.h"

#include <cstring>

namespace wick::compiler {

uint64_t content_hash(Span<const uint8_t> bytes) {
  // Four multiply-and-fold lanes over 32 bytes a step.
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15ull;
  auto fold = [](uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  uint64_t lanes[4] = {1, 2, 3, 4};
  size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) {
    for (int i = 0; i < 4; ++i) {
      uint64_t word;
      memcpy(&word, bytes.data() + at + 8 * i, 8);
      lanes[i] = fold(lanes[i] ^ word, kMultiplier + static_cast<uint64_t>(2 * i));
    }
  }
  uint64_t hash = bytes.size();
  for (; at < bytes.size(); ++at) hash = fold(hash ^ bytes[at], kMultiplier);
  for (uint64_t lane : lanes) hash = fold(hash ^ lane, kMultiplier);
  return hash;
}

}  // namespace wick::compiler
