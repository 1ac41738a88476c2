// Branches of choices that may not be numbers where they are not chosen: log(x) for x > 0.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/passes/regions/bounds.h"

namespace wick::compiler {

/// A few pointwise nodes between `end` and f32 values that are numbers, its leaves.
struct GuardedChain {
  const Value* end = nullptr;
  std::vector<const Node*> nodes;  // operands first
  double safe = 0;                 // where all leaves are this, all nodes are finite
};

/// Nothing if there is no such chain or no such number.
std::optional<GuardedChain> guarded_chain(const Value* end, Bounds& bounds);

/// The chain once more, over other leaves: leaf(x) in place of x, called once for each.
Value* rebuilt(Builder& b, const GuardedChain& chain, const std::function<Value*(Value*)>& leaf);

}  // namespace wick::compiler
