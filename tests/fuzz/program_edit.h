// Changes what a .pte or .ptd says and keeps its tables well formed.
#pragma once
#include <cstdint>
#include <vector>

#include "tests/fuzz/random.h"
#include "wick/span.h"

namespace wick::fuzz {

/// The program changed in one to four places: instructions, arguments, lists, sizes, dim orders, places in arenas, jump
/// targets, kinds of values, segments. Empty if the file has no valid tables.
std::vector<uint8_t> edit_program(Span<const uint8_t> file, Random& random);

/// The same for a .ptd: keys, sizes, dtypes, dim orders, segments.
std::vector<uint8_t> edit_data(Span<const uint8_t> file, Random& random);

}  // namespace wick::fuzz
