// A hash of bytes, the same on every host.
#pragma once
#include <cstddef>
#include <cstdint>

#include "wick/span.h"

namespace wick::compiler {

/// A 64-bit hash of bytes for finding equal ones; equality is then checked on the bytes. Not for security.
uint64_t content_hash(Span<const uint8_t> bytes);

/// The same hash, of bytes that come in parts of any sizes.
class ContentHash {
 public:
  void add(Span<const uint8_t> bytes);
  uint64_t value() const;

 private:
  static constexpr size_t kStepBytes = 32;

  uint64_t lanes_[4] = {1, 2, 3, 4};
  uint64_t size_bytes_ = 0;
  uint8_t waiting_[kStepBytes];  // the last bytes, less than a step
};

}  // namespace wick::compiler
