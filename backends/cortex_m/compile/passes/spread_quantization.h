// C++20.
#pragma once
#include "compiler/passes/pass.h"

namespace wick::cortex_m {

// Contract: spread_quantization.cpp.
compiler::Result<compiler::Changed> spread_quantization(compiler::Graph& graph);

}  // namespace wick::cortex_m
