// C++20.
#pragma once
#include "compiler/passes/pipeline.h"

namespace wick::cortex_m {

compiler::Result<compiler::Changed> merge_tables(compiler::Graph& graph, const compiler::PipelineOptions& options);

}  // namespace wick::cortex_m
