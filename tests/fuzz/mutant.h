// Small changes to the bytes of a file.
#pragma once
#include <algorithm>
#include <vector>

#include "tests/fuzz/random.h"

namespace wick::fuzz {

/// `seed` with bits flipped, bytes or numbers replaced, a range moved, or its end cut off.
inline std::vector<uint8_t> mutant(const std::vector<uint8_t>& seed, Random& random) {
  std::vector<uint8_t> bytes = seed;
  if (random.one_in(5)) {
    bytes.resize(random.below(bytes.size()));
    return bytes;
  }
  for (size_t count = 1 + random.below(4); count > 0 && !bytes.empty(); --count) {
    const size_t at = random.below(bytes.size());
    switch (random.below(4)) {
      case 0: bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1u << random.below(8))); break;
      case 1: bytes[at] = static_cast<uint8_t>(random.bits()); break;
      case 2: {
        const uint32_t number = static_cast<uint32_t>(random.number(bytes[at]));
        for (size_t i = 0; i < 4 && at + i < bytes.size(); ++i) bytes[at + i] = static_cast<uint8_t>(number >> (8 * i));
        break;
      }
      default: {
        const size_t size = std::min<size_t>(1 + random.below(16), bytes.size() - at);
        const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(random.below(bytes.size() - size + 1));
        const std::vector<uint8_t> moved(from, from + static_cast<std::ptrdiff_t>(size));
        std::copy(moved.begin(), moved.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  }
  return bytes;
}

}  // namespace wick::fuzz
