// Checks device code before the driver gets it, which takes an address without a size. C++17.
#pragma once
#include <stdint.h>

#include "wick/span.h"

namespace wick::cuda {

/// Checks that `bytes` are a cubin for `architecture` (90: 9.0) with tables and sections inside the bytes. Returns
/// null, or what is wrong.
const char* check_cubin(Span<const uint8_t> bytes, uint32_t architecture);
/// Checks that `bytes` are text, with or without NUL at the end. Returns null, or what is wrong.
const char* check_ptx(Span<const uint8_t> bytes);

}  // namespace wick::cuda
