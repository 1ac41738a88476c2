// The passes of this backend alone. The contract of each is above its definition, in the file of the same name. C++20.
#pragma once
#include "compiler/passes/pipeline.h"

namespace wick::cortex_m {

/// The backend's own passes, in the order in which they run; target.cpp puts the shared ones between them.
Span<const compiler::Pass> own_passes();

compiler::Result<compiler::Changed> absorb_padding(compiler::Graph& graph);
compiler::Result<compiler::Changed> fold_elements(compiler::Graph& graph);
compiler::Result<compiler::Changed> fold_hardsigmoid(compiler::Graph& graph);
compiler::Result<compiler::Changed> fuse_activations(compiler::Graph& graph);
compiler::Result<compiler::Changed> join_cells(compiler::Graph& graph);
compiler::Result<compiler::Changed> linear_layers(compiler::Graph& graph);
compiler::Result<compiler::Changed> merge_tables(compiler::Graph& graph, const compiler::PipelineOptions& options);
compiler::Result<compiler::Changed> normalize_rows(compiler::Graph& graph);
compiler::Result<compiler::Changed> quantize_between(compiler::Graph& graph, const compiler::PipelineOptions& options);
compiler::Result<compiler::Changed> recognize_cells(compiler::Graph& graph);
compiler::Result<compiler::Changed> recognize_softmax(compiler::Graph& graph);
compiler::Result<compiler::Changed> split_weights(compiler::Graph& graph, const compiler::PipelineOptions& options);
compiler::Result<compiler::Changed> spread_quantization(compiler::Graph& graph);
compiler::Result<compiler::Changed> tensor_bounds(compiler::Graph& graph);

}  // namespace wick::cortex_m
