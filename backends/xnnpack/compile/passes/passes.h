// The passes that only this backend asks for. Each keeps what the program computes; its contract stands above its
// definition, in the file of the same name.
#pragma once
#include "compiler/passes/pipeline.h"

namespace wick::xnnpack {

/// Their rows, in the order in which they run; target.cpp puts the shared ones between them.
Span<const compiler::Pass> own_passes();

compiler::Result<compiler::Changed> arithmetic_selects(compiler::Graph& graph);
compiler::Result<compiler::Changed> avoid_views(compiler::Graph& graph, const compiler::TargetFacts& facts);
compiler::Result<compiler::Changed> band_by_slices(compiler::Graph& graph);
compiler::Result<compiler::Changed> block_attention(compiler::Graph& graph);
compiler::Result<compiler::Changed> cancel_permutations(compiler::Graph& graph);
compiler::Result<compiler::Changed> captured_constants(compiler::Graph& graph);
compiler::Result<compiler::Changed> center_residual(compiler::Graph& graph);
compiler::Result<compiler::Changed> defer_row_writes(compiler::Graph& graph);
compiler::Result<compiler::Changed> fold_norm_affine(compiler::Graph& graph);
compiler::Result<compiler::Changed> fold_scale(compiler::Graph& graph);
compiler::Result<compiler::Changed> gather_by_products(compiler::Graph& graph);
compiler::Result<compiler::Changed> gather_by_slices(compiler::Graph& graph);
compiler::Result<compiler::Changed> interleave_by_products(compiler::Graph& graph, const compiler::TargetFacts& facts);
compiler::Result<compiler::Changed> invert_exponentials(compiler::Graph& graph);
compiler::Result<compiler::Changed> mask_groups(compiler::Graph& graph);
compiler::Result<compiler::Changed> merge_dims(compiler::Graph& graph, const compiler::TargetFacts& facts);
compiler::Result<compiler::Changed> merge_parts(compiler::Graph& graph);
compiler::Result<compiler::Changed> narrow_early(compiler::Graph& graph);
compiler::Result<compiler::Changed> quantize_by_rows(compiler::Graph& graph);
compiler::Result<compiler::Changed> respell(compiler::Graph& graph);
compiler::Result<compiler::Changed> scatter_by_products(compiler::Graph& graph);
compiler::Result<compiler::Changed> scatter_by_slices(compiler::Graph& graph);
compiler::Result<compiler::Changed> split_linears(compiler::Graph& graph);
compiler::Result<compiler::Changed> split_rows_early(compiler::Graph& graph, const compiler::TargetFacts& facts);

}  // namespace wick::xnnpack
