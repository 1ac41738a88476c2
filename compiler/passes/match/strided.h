// Elements at regular distances, as slices, views, permutes and expands.
#pragma once
#include <optional>
#include <vector>

#include "compiler/ir/builder.h"

namespace wick::compiler {

/// Positions offset + sum(i_k * strides[k]) for 0 <= i_k < sizes[k] along one dimension.
struct Grid {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
};

/// The grid whose positions, with the last axis fastest, are `indices`. Empty if there is none. `indices` is not empty.
std::optional<Grid> grid_of(const std::vector<int64_t>& indices);

/// A way to the elements of a grid by slices, views, permutes and expands, without indices.
class Strided {
 public:
  /// For a dimension of `size` elements. Empty if axes overlap, run backwards or leave the dimension, and for grids
  /// without elements.
  static std::optional<Strided> plan(int64_t size, const Grid& grid);

  /// The number of nodes that copy: slices, a permute, an expand. Views do not copy.
  size_t num_copies() const;
  /// `x` with the axes of the grid, each as a dimension, in place of dimension `dim`.
  Value* build(Builder& b, Value* x, size_t dim) const;

 private:
  struct Axis {
    size_t at;  // index of the axis in the grid
    int64_t size, stride;
    int64_t start = 0;  // of the part of the dimension that is seen as `size` rows of `stride` elements
  };

  Grid grid_;
  int64_t size_ = 0;
  std::vector<Axis> axes_;  // axes with more than one position, the largest stride first
  int64_t rest_ = 0;        // the position where the last axis starts, or that of the only element
};

}  // namespace wick::compiler
