// Operators without a row.
#pragma once
#include <string_view>

namespace wick::compiler {

/// What to write instead of an operator that Wick does not know, or null.
const char* way_out(std::string_view name);

}  // namespace wick::compiler
