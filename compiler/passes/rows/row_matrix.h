// Rows at positions that are data, as a product with a matrix of 0 and 1.
#pragma once
#include <optional>
#include <unordered_set>

#include "compiler/ir/builder.h"

namespace wick::compiler {

/// Positions along a dimension of a tensor.
struct RowPositions {
  Value* index = nullptr;  // integers; as many elements as there are positions
  size_t dim = 0;
  bool from_end = false;  // negative ones count from the end; otherwise they are refused
};

/// The same positions for all else, of an index that names a position along `dim` for each element.
std::optional<RowPositions> positions_of(Value* index, size_t dim);

/// The only index among those of aten.index or aten.index_put, if it is a vector.
std::optional<RowPositions> only_position(const Values& indices);

/// The values that depend on a matmul or a convolution, which backends compute.
std::unordered_set<const Value*> behind_products(const Graph& graph);

/// Whether a product with the matrix of `count` rows costs no more than a call of a delegate.
bool is_small_product(const Sym& count, const Sizes& sizes);

/// A matrix [count, length] of f32 with a 1 at each position; transposed: [length, count]. What refuses positions
/// outside the range stays.
Value* row_matrix(Builder& b, const RowPositions& at, const Sym& length, bool transposed);

/// `matrix` [rows, sizes[dim]] times x along dimension `dim`.
Value* times_rows(Builder& b, Value* matrix, Value* x, size_t dim);

}  // namespace wick::compiler
