// Loads every method of a .pte from memory of exactly its size and executes it, for the sanitizers to watch.
#pragma once
#include <cstdint>

#include "wick/program.h"
#include "wick/span.h"

namespace wick::fuzz {

/// Any outcome is fine, but a step outside a buffer. `data` may be null. Methods with arenas above 1 MB are not run.
/// Arenas on devices are checked as wick::Module does, and cannot be touched. Each method runs three times: with
/// `inputs`, where they have the sizes of its inputs, else zeros; with what kernels trip over; with zeros. Returns
/// whether any execution succeeded. `device`: DelegateOptions::device.
bool run_program(Span<const uint8_t> file, const DataMap* data = nullptr, Span<const Span<const uint8_t>> inputs = {},
                 const char* device = "");

}  // namespace wick::fuzz
