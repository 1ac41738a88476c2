// Branches of conditional selects that may be NaN or infinite where they are not selected, such as log(x) for x > 0.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/passes/regions/bounds.h"

namespace wick::compiler {

/// A few pointwise nodes between finite f32 values, the leaves, and `end`.
struct GuardedChain {
  const Value* end = nullptr;
  std::vector<const Node*> nodes;  // operands first
  double safe = 0;                 // where all leaves are this, all nodes are finite
};

/// Empty if there is no such chain, or no number that is safe.
std::optional<GuardedChain> guarded_chain(const Value* end, Bounds& bounds);

/// Rebuilds the chain over other leaves: leaf(x) replaces x and is called once for each x.
Value* rebuilt(Builder& b, const GuardedChain& chain, const std::function<Value*(Value*)>& leaf);

}  // namespace wick::compiler
