// Numbers for the symbols of a method whose inputs nobody gave.
#pragma once
#include "cli/program/program_metadata.h"
#include "compiler/support/result.h"

namespace wick::cli {

/// Small numbers that obey the ranges and rules: 2 where allowed, as 0 and 1 are special in many programs. First all
/// move in step, since programs ask for equal sizes more often than they say; then each moves on its own. The work is
/// limited, whatever the file says. Errors: usage.
compiler::Result<compiler::SymValues> choose_symbols(const MethodFacts& facts);

}  // namespace wick::cli
