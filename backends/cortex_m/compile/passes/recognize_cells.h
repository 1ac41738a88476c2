// Recurrent layers that an export has unrolled are cells again. C++20.
#pragma once
#include "compiler/passes/pass.h"

namespace wick::cortex_m {

compiler::Result<compiler::Changed> recognize_cells(compiler::Graph& graph);

}  // namespace wick::cortex_m
