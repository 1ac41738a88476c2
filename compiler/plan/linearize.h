// Turns a graph of primitives into a method plan: decides storage once, flattens control flow, computes symbolic sizes.
#pragma once
#include "compiler/plan/method_plan.h"
#include "compiler/support/result.h"

namespace wick::compiler {

struct LinearizeOptions {
  bool stock_only = false;  // refuse what stock's runtime cannot run: operators without a kernel there, all named, and
                            // values without an upper bound
};

/// Turns every node into instructions. A view costs none if its bytes are one contiguous range. A concatenation costs
/// none if its operands can be written in place. A state update is written in place if no later reader needs the old
/// version. A value without an upper bound gets no place in an arena, and is freed behind its last read. Errors:
/// unsupported_model for a node without kernel, with `stock_only` for a value without an upper bound ..
Result<MethodPlan> linearize(const Function& function, const LinearizeOptions& options);

}  // namespace wick::compiler
