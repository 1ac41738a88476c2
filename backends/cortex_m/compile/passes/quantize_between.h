// Integers for what a model leaves in floats between quantized values. The contract: quantize_between.cpp. C++20.
#pragma once
#include "compiler/passes/pipeline.h"

namespace wick::cortex_m {

compiler::Result<compiler::Changed> quantize_between(compiler::Graph& graph, const compiler::PipelineOptions& options);

}  // namespace wick::cortex_m
