// Symbolic sizes as formulas of the plan. C++20.
#pragma once
#include <map>
#include <string>

#include "backends/cuda/payload/plan.h"
#include "compiler/ir/sym/sym.h"

namespace wick::cuda {

/// What each symbol is worth.
using SymbolFormulas = std::map<std::string, Formula, std::less<>>;

/// Throws Failure(internal) for a symbol that is not in the map.
Formula formula_of(const compiler::Sym& size, const SymbolFormulas& symbols);

/// Whether a plan may compute it: nothing overflows, and no divisor is 0, for any values of its symbols. A SymScope
/// with their ranges is open.
bool is_computable(const compiler::Sym& size);

}  // namespace wick::cuda
