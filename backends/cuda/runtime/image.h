// Checks of device code before the driver sees it: it takes an address without a size. C++17.
#pragma once
#include <stdint.h>

#include "wick/span.h"

namespace wick::cuda {

/// Whether `bytes` are a cubin for `architecture` (90: 9.0) whose tables and sections lie inside them. Null if so, else
/// what is wrong.
const char* check_cubin(Span<const uint8_t> bytes, uint32_t architecture);
/// Whether `bytes` are text, with or without a NUL at its end. Null if so, else what is wrong.
const char* check_ptx(Span<const uint8_t> bytes);

}  // namespace wick::cuda
