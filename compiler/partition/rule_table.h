// A backend's rows, one per operator, found by the operator of a node. C++20.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "wick/span.h"

namespace wick::compiler {

/// `Row` has a member `op`, the name of its operator. The rows outlive the table.
template <typename Row>
class RuleTable {
 public:
  explicit RuleTable(std::initializer_list<Span<const Row>> families) {
    for (const Span<const Row>& family : families) {
      for (const Row& row : family) rows_.push_back(&row);
    }
    std::sort(rows_.begin(), rows_.end(), [](const Row* a, const Row* b) { return name(a) < name(b); });
  }

  /// Null if the operator has no row.
  const Row* find(const Node& node) const {
    const auto before = [](const Row* row, std::string_view op) { return name(row) < op; };
    const auto found = std::lower_bound(rows_.begin(), rows_.end(), node.op->name(), before);
    return found != rows_.end() && name(*found) == node.op->name() ? *found : nullptr;
  }
  /// Sorted by operator.
  const std::vector<const Row*>& rows() const { return rows_; }

 private:
  static std::string_view name(const Row* row) { return row->op; }
  std::vector<const Row*> rows_;
};

}  // namespace wick::compiler
