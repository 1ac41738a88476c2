// Clamps by tensors. The contract: tensor_bounds.cpp. C++20.
#pragma once
#include "compiler/passes/pipeline.h"

namespace wick::cortex_m {

compiler::Result<compiler::Changed> tensor_bounds(compiler::Graph& graph);

}  // namespace wick::cortex_m
