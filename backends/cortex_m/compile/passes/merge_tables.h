// C++20.
#pragma once
#include "compiler/passes/pass.h"

namespace wick::cortex_m {

compiler::Result<compiler::Changed> merge_tables(compiler::Graph& graph);

}  // namespace wick::cortex_m
