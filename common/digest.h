// Tells whether bytes are those that were there before. C++17, freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wick/span.h"

namespace wick {

/// Sums of the words of 32 bits and of these sums, both modulo 2^32; bytes behind the last word count as one with
/// zeros. Every change of a single word changes it. It says nothing to someone who may change the digest, too.
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
