// The checksum of zip archives.
#pragma once
#include <cstdint>

#include "wick/span.h"

namespace wick::compiler {

/// CRC-32 as zip and gzip use it (reflected, polynomial 04c11db7) of `bytes`. By carry-less products where the
/// processor has them.
uint32_t crc32(Span<const uint8_t> bytes);

}  // namespace wick::compiler
