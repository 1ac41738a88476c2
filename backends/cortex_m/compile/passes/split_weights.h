// Integers for layers whose weights a quantizer left in floats. The contract: split_weights.cpp. C++20.
#pragma once
#include "compiler/passes/pipeline.h"

namespace wick::cortex_m {

compiler::Result<compiler::Changed> split_weights(compiler::Graph& graph, const compiler::PipelineOptions& options);

}  // namespace wick::cortex_m
