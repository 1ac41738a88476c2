// Branches of conditional selects that may be NaN or infinite where they are not selected, such as log(x) for x > 0.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/passes/match/bounds.h"

namespace wick::xnnpack {

/// A few pointwise nodes between finite f32 values, the leaves, and `end`.
struct GuardedChain {
  const compiler::Value* end = nullptr;
  std::vector<const compiler::Node*> nodes;  // operands first
  double safe = 0;                           // where all leaves are this, all nodes are finite
};

/// Empty if there is no such chain, or no number that is safe.
std::optional<GuardedChain> guarded_chain(const compiler::Value* end, compiler::Bounds& bounds);

/// Rebuilds the chain over other leaves: leaf(x) replaces x and is called once for each x.
compiler::Value* rebuilt(compiler::Builder& b, const GuardedChain& chain,
                         const std::function<compiler::Value*(compiler::Value*)>& leaf);

}  // namespace wick::xnnpack
