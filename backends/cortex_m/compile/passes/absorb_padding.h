// C++20.
#pragma once
#include "compiler/passes/pass.h"

namespace wick::cortex_m {

// Contract: absorb_padding.cpp.
compiler::Result<compiler::Changed> absorb_padding(compiler::Graph& graph);

}  // namespace wick::cortex_m
