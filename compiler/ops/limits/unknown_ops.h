// Advice for operators without a row.
#pragma once
#include <string_view>

namespace wick::compiler {

/// Tells the user what to write instead of an operator that Wick does not know; null if there is no advice.
const char* way_out(std::string_view name);

}  // namespace wick::compiler
