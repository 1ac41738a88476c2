// Writes of rows to positions that are known only at run time, as in a key-value cache.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/ops/compose.h"

namespace wick::xnnpack {

/// result = old, except that index `position i` of dimension `dim` is index i of `rows`.
struct RowWrite {
  compiler::Node* node = nullptr;
  compiler::Value* old = nullptr;
  compiler::Value* rows = nullptr;  // broadcasts to the sizes of what it replaces
  compiler::Value* positions =
      nullptr;  // `count` integers in any shape, negative ones count from the end; null: start, start + 1 ..
  compiler::Sym start;
  compiler::Sym count;
  size_t dim = 0;

  int64_t length() const { return old->sizes()[dim].value(); }
  bool is_at_same_positions(const RowWrite& other) const {
    return positions == other.positions && start == other.start && count == other.count && length() == other.length();
  }
};

/// Matches a write of floating-point rows along one dimension of known size above 1: an index_put; a slice_scatter from
/// a position known only at run time; or a scatter whose index is the same in all rows and columns. The number of rows
/// is a number or a symbol.
std::optional<RowWrite> match_row_write(compiler::Node& node);

/// The rows, with all sizes.
compiler::Value* written_rows(compiler::Builder& b, const RowWrite& write);
/// int[count]: positions counted from the front.
compiler::Value* from_front(compiler::Compose& c, const RowWrite& write);
/// bool[length, count]: position `i` is written with row `j`. Where rows have equal positions, the last one counts.
compiler::Value* is_written_with(compiler::Compose& c, const RowWrite& write);
/// bool[length]: the positions that are written.
compiler::Value* is_written(compiler::Compose& c, const RowWrite& write);
/// bool[count]: rows that a later one replaces; null: there are none, whatever the positions are.
compiler::Value* is_replaced(compiler::Compose& c, const RowWrite& write);

}  // namespace wick::xnnpack
