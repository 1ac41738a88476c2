// Triangular masks: they hide, or show, the columns after a row's own.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// A tensor of which the elements of each matrix, the last two dims, are `number` in a triangle and 0 elsewhere.
struct TriangularMask {
  bool is_lower = true;  // the triangle is where the column is not after the row; else where it is
  double number = 1;     // not 0; of bools 1
};

/// Recognises constants of bools or numbers, comparisons of counted numbers, selects between 0 and another number, and
/// views, slices, casts and logic of these. Empty if `value` is no such mask, or if that is not known.
std::optional<TriangularMask> triangular_mask(const Value& value);

}  // namespace wick::compiler
