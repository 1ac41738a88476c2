// Rows at positions that are data, as a product with a matrix of 0 and 1.
#pragma once
#include <optional>
#include <unordered_set>

#include "compiler/ir/builder.h"

namespace wick::xnnpack {

/// Positions along a dimension of a tensor.
struct RowPositions {
  compiler::Value* index = nullptr;  // integers; as many elements as there are positions
  size_t dim = 0;
  bool from_end = false;  // negative ones count from the end; otherwise they are refused
};

/// The positions in an index that has one for each element, if they are the same along all dimensions but `dim`.
std::optional<RowPositions> positions_of(compiler::Value* index, size_t dim);

/// The only index among those of aten.index or aten.index_put, if it is a vector.
std::optional<RowPositions> only_position(const compiler::Values& indices);

/// The values that depend on a matmul or a convolution, which backends compute.
std::unordered_set<const compiler::Value*> depends_on_matmul(const compiler::Graph& graph);

/// Whether a product with the matrix of `count` rows costs no more than a call of a delegate.
bool is_small_product(const compiler::Sym& count, const compiler::Sizes& sizes);

/// A matrix [count, length] of f32 with a 1 at each position; transposed: [length, count]. The operator that refuses
/// positions outside the range stays.
compiler::Value* row_matrix(compiler::Builder& b, const RowPositions& at, const compiler::Sym& length, bool transposed);

/// `matrix` [rows, sizes[dim]] times x along dimension `dim`.
compiler::Value* times_rows(compiler::Builder& b, compiler::Value* matrix, compiler::Value* x, size_t dim);

}  // namespace wick::xnnpack
