// Linear layers for matmuls with constant weights. The contract: linear_layers.cpp. C++20.
#pragma once
#include "compiler/passes/pipeline.h"

namespace wick::cortex_m {

compiler::Result<compiler::Changed> linear_layers(compiler::Graph& graph);

}  // namespace wick::cortex_m
