// All passes. Each is a function from graph to graph that keeps what the program computes. Its contract stands above
// its definition, in the file of the same name. The table in pipeline.cpp says when each one runs, and why then.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/passes/pipeline.h"
#include "compiler/support/result.h"

namespace wick::compiler {

Result<Changed> additive_masks(Graph& graph);
Result<Changed> arithmetic_selects(Graph& graph);
Result<Changed> avoid_views(Graph& graph, const TargetFacts& facts);
Result<Changed> band_by_slices(Graph& graph);
Result<Changed> block_attention(Graph& graph);
Result<Changed> round_numbers(Graph& graph);
Result<Changed> cancel_permutations(Graph& graph);
Result<Changed> canonicalize(Graph& graph);
Result<Changed> captured_constants(Graph& graph);
Result<Changed> center_residual(Graph& graph);
Result<Changed> common_subexpressions(Graph& graph);
Result<Changed> complex_as_pairs(Graph& graph, const TargetFacts& facts);
Result<Changed> dead_code(Graph& graph);
Result<Changed> defer_row_writes(Graph& graph);
Result<Changed> fit_numbers(Graph& graph);
Result<Changed> fold_batch_norm(Graph& graph);
Result<Changed> fold_constants(Graph& graph, const FoldOptions& options, const ReleaseFn& release);
Result<Changed> fold_norm_affine(Graph& graph);
Result<Changed> fold_scale(Graph& graph);
Result<Changed> gather_by_products(Graph& graph);
Result<Changed> gather_by_slices(Graph& graph);
Result<Changed> interleave_by_products(Graph& graph, const TargetFacts& facts);
Result<Changed> invert_exponentials(Graph& graph);
Result<Changed> mask_groups(Graph& graph);
Result<Changed> merge_dims(Graph& graph, const TargetFacts& facts);
Result<Changed> merge_parts(Graph& graph);
Result<Changed> merge_views(Graph& graph);
Result<Changed> narrow_early(Graph& graph);
Result<Changed> gather_quantized(Graph& graph);
Result<Changed> quantize_by_rows(Graph& graph);
Result<Changed> recognize_attention(Graph& graph, const PipelineOptions& options);
Result<Changed> recognize_linears(Graph& graph, const PipelineOptions& options);
Result<Changed> recognize_norms(Graph& graph);
Result<Changed> recognize_quantization(Graph& graph, const PipelineOptions& options);
Result<Changed> respell(Graph& graph);
Result<Changed> respell_dequantized(Graph& graph);
Result<Changed> scatter_by_products(Graph& graph);
Result<Changed> scatter_by_slices(Graph& graph);
Result<Changed> widen_numbers(Graph& graph);
Result<Changed> signed_elements(Graph& graph);
Result<Changed> simplify_pointwise(Graph& graph);
Result<Changed> sink_transposes(Graph& graph);
Result<Changed> split_linears(Graph& graph);
Result<Changed> split_rows_early(Graph& graph, const TargetFacts& facts);

}  // namespace wick::compiler
