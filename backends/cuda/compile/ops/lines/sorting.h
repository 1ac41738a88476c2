// Sorts the lines of a tensor along a dimension, by as many kernels as their length takes. C++20.
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
  Sym kept;  // the number of first elements of each sorted line that are wanted
};
/// For the lines of a tensor along `dim`, or for all its elements as one line.
LineSort sort_of(Lowering& lowering, const Value& x, size_t dim, bool descending, const Sym& kept);
LineSort flat_sort_of(Lowering& lowering, const Value& x, bool descending, const Sym& kept);
/// The number of elements of a line.
Sym length_of_line(const Sizes& sizes, size_t dim);

/// A draft with exactly one column loop, even if its extent is 1.
Draft draft_of_lines(Lowering& lowering, const Sizes& rows, const Sym& columns);

/// The type in which keys are compared, and that they have in memory.
ScalarType key_type(DType dtype);
DType dtype_of(ScalarType type);

/// Sorts stably; NaN is the largest. `store` is called once, to add stores to the last kernel: sorted element `key`
/// belongs at `at` in a tensor of these sizes, and was at `position` (i64) in its line. `inside`: whether it is among
/// the kept ones.
using StoreSorted = std::function<void(Draft& draft, const Indices& at, ExpressionPtr key, ExpressionPtr position,
                                       ExpressionPtr inside)>;
void sort_lines(Lowering& lowering, const LineSort& sort, const StoreSorted& store);

/// The sorted lines in memory: for each line, in the order of the other dimensions, `kept` keys and `kept` positions
/// (i32).
struct SortedLines {
  uint32_t keys = 0, positions = 0;
  ScalarType type = ScalarType::f32;
  Sym kept;
};
SortedLines sorted_in_memory(Lowering& lowering, const LineSort& sort);

}  // namespace wick::cuda
