// Turns a graph of primitives into a method plan: decides storage once, flattens control flow, computes symbolic sizes.
#pragma once
#include "compiler/plan/method_plan.h"
#include "compiler/support/result.h"

namespace wick::compiler {

struct LinearizeOptions {
  bool stock_only = false;  // refuse operators without a stock kernel, naming all of them
};

/// Turns every node into instructions. A view costs none if its bytes are one contiguous range. A concatenation costs
/// none if its operands can be written in place. A state update is written in place if no later reader needs the old
/// version. Errors: unsupported_model for a size without upper bound, a node without kernel ..
Result<MethodPlan> linearize(const Function& function, const LinearizeOptions& options);

}  // namespace wick::compiler
