// A digest that detects changed bytes. C++17, freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wick/span.h"

namespace wick {

/// The sum of the size and all 32-bit words, and the sum of its partial sums, both modulo 2^32. The bytes after the
/// last whole word count as a word padded with zeros. Every change of a single word changes the digest. It does not
/// protect against someone who can also change the digest.
inline uint64_t digest(Span<const uint8_t> bytes) {
  uint32_t sum = static_cast<uint32_t>(bytes.size()), sum_of_sums = 0;
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint32_t)) {
    const size_t left = bytes.size() - at;
    uint32_t word = 0;
    if (left >= sizeof word)
      memcpy(&word, bytes.data() + at, sizeof word);
    else
      memcpy(&word, bytes.data() + at, left);
    sum += word;
    sum_of_sums += sum;
  }
  return static_cast<uint64_t>(sum_of_sums) << 32 | sum;
}

}  // namespace wick
