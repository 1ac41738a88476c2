// Symbolic sizes as formulas of the plan. C++20.
#pragma once
#include <map>
#include <string>

#include "backends/cuda/payload/plan.h"
#include "compiler/ir/sym/sym.h"

namespace wick::cuda {

/// The formula that gives each symbol's value.
using SymbolFormulas = std::map<std::string, Formula, std::less<>>;

/// Throws Failure(internal) for a symbol that is not in the map.
Formula formula_of(const compiler::Sym& size, const SymbolFormulas& symbols);

/// Whether a plan may compute it: for all values of the symbols, nothing overflows and no divisor is 0. Requires: a
/// SymScope with their ranges is open.
bool is_computable(const compiler::Sym& size);

}  // namespace wick::cuda
