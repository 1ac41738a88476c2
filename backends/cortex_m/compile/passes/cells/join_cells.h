// C++20.
#pragma once
#include "compiler/passes/pipeline.h"

namespace wick::cortex_m {

compiler::Result<compiler::Changed> join_cells(compiler::Graph& graph);

}  // namespace wick::cortex_m
