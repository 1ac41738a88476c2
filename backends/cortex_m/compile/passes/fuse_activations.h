// C++20.
#pragma once
#include "compiler/passes/pass.h"

namespace wick::cortex_m {

// Contract: fuse_activations.cpp.
compiler::Result<compiler::Changed> fuse_activations(compiler::Graph& graph);

}  // namespace wick::cortex_m
