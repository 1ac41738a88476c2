// Rows of a tensor that are replaced at positions known only when the program runs: what a key-value cache takes.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/ops/compose.h"

namespace wick::compiler {

/// result = old, but index positions[i] of dimension `dim` is index i of `rows`.
struct RowWrite {
  Node* node = nullptr;
  Value* old = nullptr;
  Value* rows = nullptr;
  Value* positions = nullptr;  // a vector of integers; negative ones count from the end
  size_t dim = 0;

  int64_t length() const { return old->sizes()[dim].value(); }
  const Sym& count() const { return positions->sizes()[0]; }
};

/// An index_put of numbers along one dimension of known size above 1, whose values have the sizes of what they replace.
std::optional<RowWrite> match_row_write(Node& node);

/// Positions counted from the front.
Value* from_front(Compose& c, const RowWrite& write);
/// bool[length, count]: position `i` is written with row `j`. Where rows have equal positions, the last one counts.
Value* is_written_with(Compose& c, const RowWrite& write);
/// bool[length]: the positions that are written.
Value* is_written(Compose& c, const RowWrite& write);
/// bool[count]: rows that a later one replaces; null: there are none, whatever the positions are.
Value* is_replaced(Compose& c, const RowWrite& write);

}  // namespace wick::compiler
