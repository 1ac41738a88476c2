// A pass of the CUDA backend. C++20.
#pragma once
#include "compiler/passes/pass.h"

namespace wick::cuda {

/// Where a number that the program reads from a tensor is a position or an operand of arithmetic, the tensor takes its
/// place, so that the node needs no number of the program. Operators of ExecuTorch's library for language models
/// become attention and writes of rows.
///   before: n = _local_scalar_dense(p); y = slice(x, 0, n, n + 4)
///   after:  y = index_select(x, 0, arange(4) + p)
/// Requires: numbers that are positions are known not to be negative; others stay. Ensures: nodes that still read
/// numbers have sizes that depend on them, or are arithmetic that has no tensor form.
/// Keeps: every value that eager gives. Rows that lie outside are found by the kernels, as other bad indices are.
compiler::Result<compiler::Changed> positions_as_tensors(compiler::Graph& graph);

}  // namespace wick::cuda
