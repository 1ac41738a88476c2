// Writes of rows to positions that are known only at run time, as in a key-value cache.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/ops/compose.h"

namespace wick::compiler {

/// result = old, except that index `position i` of dimension `dim` is index i of `rows`.
struct RowWrite {
  Node* node = nullptr;
  Value* old = nullptr;
  Value* rows = nullptr;  // broadcasts to the sizes of what it replaces
  Value* positions =
      nullptr;  // `count` integers in any shape, negative ones count from the end; null: start, start + 1 ..
  Sym start;
  Sym count;
  size_t dim = 0;

  int64_t length() const { return old->sizes()[dim].value(); }
  bool is_at_same_positions(const RowWrite& other) const {
    return positions == other.positions && start == other.start && count == other.count && length() == other.length();
  }
};

/// Matches a write of floating-point rows along one dimension of known size above 1: an index_put; a slice_scatter from
/// a position known only at run time; or a scatter whose index is the same in all rows and columns. The number of rows
/// is a number or a symbol.
std::optional<RowWrite> match_row_write(Node& node);

/// The rows, with all sizes.
Value* written_rows(Builder& b, const RowWrite& write);
/// int[count]: positions counted from the front.
Value* from_front(Compose& c, const RowWrite& write);
/// bool[length, count]: position `i` is written with row `j`. Where rows have equal positions, the last one counts.
Value* is_written_with(Compose& c, const RowWrite& write);
/// bool[length]: the positions that are written.
Value* is_written(Compose& c, const RowWrite& write);
/// bool[count]: rows that a later one replaces; null: there are none, whatever the positions are.
Value* is_replaced(Compose& c, const RowWrite& write);

}  // namespace wick::compiler
