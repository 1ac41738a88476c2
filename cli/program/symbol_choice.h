// Chooses numbers for the symbols of a method if no inputs are given.
#pragma once
#include "cli/program/program_metadata.h"
#include "compiler/support/result.h"

namespace wick::cli {

/// Small numbers that obey the ranges and rules: 2 where allowed, as 0 and 1 are special in many programs. First all
/// numbers move together, because programs require equal sizes more often than they state it; then each moves on its
/// own. The work is limited, whatever the file says. Errors: usage.
compiler::Result<compiler::SymValues> choose_symbols(const MethodFacts& facts);

}  // namespace wick::cli
