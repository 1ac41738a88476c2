// Memory that a firmware gives to a method. C++17, freestanding.
#pragma once
#include "wick/error_text.h"
#include "wick/span.h"
#include "wick/status.h"

namespace wick {

/// Checks memory of the caller, of which `needed` bytes are used. Errors, with a message in `text`: InvalidArgument
/// (null or misaligned), OutOfResources (too small). If `needed` is 0, any memory is accepted.
Error check_memory(const char* name, Span<uint8_t> memory, uint64_t needed, uint32_t alignment, ErrorText& text);

}  // namespace wick
