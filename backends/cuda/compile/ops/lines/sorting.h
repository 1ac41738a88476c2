// The lines of a tensor along a dimension, sorted: as many kernels as their length takes. C++20.
#pragma once
#include <functional>

#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

struct LineSort {
  Sizes sizes;
  size_t dim = 0;
  DType dtype = DType::f32;
  Element element;
  bool descending = false;
  Sym kept;  // how many of the first elements of each sorted line are wanted
};
/// Of a tensor, or of all its elements as one line.
LineSort sort_of(Lowering& lowering, const Value& x, size_t dim, bool descending, const Sym& kept);
LineSort flat_sort_of(Lowering& lowering, const Value& x, bool descending, const Sym& kept);
/// How many elements a line has.
Sym length_of_line(const Sizes& sizes, size_t dim);

/// A draft with one loop over columns, even if there is a single one.
Draft draft_of_lines(Lowering& lowering, const Sizes& rows, const Sym& columns);

/// The type in which keys are compared and lie in memory.
ScalarType key_type(DType dtype);
DType dtype_of(ScalarType type);

/// Equal elements keep their order; NaN is the largest. `store` adds to the last kernel what is stored of the element
/// `key` that stands at `at` of a tensor of these sizes, and was at `position` (an i64) of its line. `inside`: where it
/// is one of those that are kept.
using StoreSorted = std::function<void(Draft& draft, const Indices& at, ExpressionPtr key, ExpressionPtr position,
                                       ExpressionPtr inside)>;
void sort_lines(Lowering& lowering, const LineSort& sort, const StoreSorted& store);

/// The same in memory: of each line, in the order of the other dimensions, `kept` keys and positions (i32).
struct SortedLines {
  uint32_t keys = 0, positions = 0;
  ScalarType type = ScalarType::f32;
  Sym kept;
};
SortedLines sorted_in_memory(Lowering& lowering, const LineSort& sort);

}  // namespace wick::cuda
