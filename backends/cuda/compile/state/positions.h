// A pass of the CUDA backend. C++20.
#pragma once
#include "compiler/passes/pass.h"

namespace wick::cuda {

/// Replaces numbers that the program reads from tensors by these tensors, where they are positions or operands of
/// arithmetic, so that a node needs no number of the program. Turns operators of ExecuTorch's library for language
/// models into attention and writes of rows.
///   before: n = _local_scalar_dense(p); y = slice(x, 0, n, n + 4)
///   after:  y = index_select(x, 0, arange(4) + p)
/// Requires: a number that is a position is known not to be negative; other positions stay numbers. Ensures: nodes that
/// still read such numbers have sizes that depend on them, or are arithmetic without a tensor form.
/// Keeps: every value that eager gives. Kernels report rows that are out of bounds, like other bad indices.
compiler::Result<compiler::Changed> positions_as_tensors(compiler::Graph& graph);

}  // namespace wick::cuda
