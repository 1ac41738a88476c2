// All passes. Each is a function from graph to graph that keeps what the program computes. Its contract stands above
// its definition, in the file of the same name. The table in pipeline.cpp says when each one runs, and why then.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/passes/pipeline.h"
#include "compiler/support/result.h"

namespace wick::compiler {

Result<Changed> additive_masks(Graph& graph);
Result<Changed> round_numbers(Graph& graph);
Result<Changed> canonicalize(Graph& graph);
Result<Changed> common_subexpressions(Graph& graph);
Result<Changed> complex_as_pairs(Graph& graph, const TargetFacts& facts);
Result<Changed> dead_code(Graph& graph);
Result<Changed> fit_numbers(Graph& graph);
Result<Changed> fold_batch_norm(Graph& graph);
Result<Changed> fold_constants(Graph& graph, const FoldOptions& options, const ReleaseFn& release);
Result<Changed> merge_views(Graph& graph);
Result<Changed> gather_quantized(Graph& graph);
Result<Changed> recognize_attention(Graph& graph, const PipelineOptions& options);
Result<Changed> recognize_linears(Graph& graph, const PipelineOptions& options);
Result<Changed> recognize_norms(Graph& graph);
Result<Changed> recognize_quantization(Graph& graph, const PipelineOptions& options);
Result<Changed> respell_dequantized(Graph& graph);
Result<Changed> widen_numbers(Graph& graph);
Result<Changed> signed_elements(Graph& graph);
Result<Changed> simplify_pointwise(Graph& graph);
Result<Changed> sink_transposes(Graph& graph);

}  // namespace wick::compiler
