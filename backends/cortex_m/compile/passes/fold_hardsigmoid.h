// C++20.
#pragma once
#include "compiler/passes/pass.h"

namespace wick::cortex_m {

// Contract: fold_hardsigmoid.cpp.
compiler::Result<compiler::Changed> fold_hardsigmoid(compiler::Graph& graph);

}  // namespace wick::cortex_m
