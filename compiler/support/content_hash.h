// A hash of bytes, the same on every host.
#pragma once
#include <cstdint>

#include "wick/span.h"

namespace wick::compiler {

/// A 64-bit hash of bytes for finding equal ones; equality is then checked on the bytes. Not for security.
uint64_t content_hash(Span<const uint8_t> bytes);

}  // namespace wick::compiler
