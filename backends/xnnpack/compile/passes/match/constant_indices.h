// Indices that are constants, as pieces and as places along one dimension.
#pragma once
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::xnnpack {

/// Elements start, start + step ..
struct Piece {
  int64_t start, step, count;
  bool operator==(const Piece&) const = default;
};
/// The fewest pieces, greedily.
std::vector<Piece> pieces_of(const std::vector<int64_t>& indices);

/// The size of a dimension, if it is known and not 0.
std::optional<int64_t> known_size(const compiler::Value& x, size_t dim);

/// The elements of a constant of integers, counted from the front of `size`; nothing if one lies outside, which is for
/// the kernel to refuse.
std::optional<std::vector<int64_t>> constant_indices(const compiler::Value& index, int64_t size);

/// The indexed dimensions of index and index_put, if they lie side by side; else none.
std::vector<size_t> indexed_dims(const compiler::Values& indices);
/// Dimensions, counted from the last, in which an index is not 1: each index has its own, and those of a later one are
/// further back. Then the elements are those of a grid.
bool spans_grid(const compiler::Values& indices);
/// The elements of x that several constant indices mean, as places in `dims` read as one dimension. Nothing where one
/// is no constant, or they are many.
std::optional<std::vector<int64_t>> flat_indices(const compiler::Value& x, const compiler::Values& indices,
                                                 const std::vector<size_t>& dims);
/// The sizes of x with `dims`, which lie side by side, as one.
compiler::Sizes merged_dims(const compiler::Sizes& sizes, const std::vector<size_t>& dims);

}  // namespace wick::xnnpack
