// The report of `wick inspect` about a .pt2, as the file states it: nothing is imported, so any readable model can be
// shown.
#pragma once
#include <string>

#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::cli {

/// Prints tables, or with `as_json` one object "wick.inspect.1". Errors: those of reading the archive.
compiler::Status print_model(const std::string& path, Span<const uint8_t> bytes, bool as_json);

}  // namespace wick::cli
