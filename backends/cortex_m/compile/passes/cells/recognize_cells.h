// Turns recurrent layers that an export has unrolled back into cells. C++20.
#pragma once
#include "compiler/passes/pass.h"

namespace wick::cortex_m {

compiler::Result<compiler::Changed> recognize_cells(compiler::Graph& graph);

}  // namespace wick::cortex_m
