// The checksum of zip archives.
#pragma once
#include <cstdint>

#include "wick/span.h"

namespace wick::compiler {

/// CRC-32 of `bytes` as in zip and gzip (reflected, polynomial 04c11db7). Uses carry-less multiplication if the
/// processor has it.
uint32_t crc32(Span<const uint8_t> bytes);

}  // namespace wick::compiler
