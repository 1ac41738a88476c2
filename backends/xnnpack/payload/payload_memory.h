// How much memory a payload asks for, before any is taken. C++17.
#pragma once
#include "backends/xnnpack/payload/payload.h"

namespace wick::xnnpack {

/// An upper bound, not a tight one, of the bytes that running a checked payload takes beyond its file: intermediate
/// values when most of them are alive, packed weights, copies of constants and of arguments, and the tables of windows.
/// `dims`: those of check_payload. Saturates.
uint64_t memory_of(const Payload& payload, const std::vector<std::vector<uint32_t>>& dims);

}  // namespace wick::xnnpack
