// C++20.
#pragma once
#include "compiler/passes/pass.h"

namespace wick::cortex_m {

// Contract: normalize_rows.cpp.
compiler::Result<compiler::Changed> normalize_rows(compiler::Graph& graph);

}  // namespace wick::cortex_m
