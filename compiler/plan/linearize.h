// From a graph of primitives to a statement: storage decided once, control flow flattened, symbolic sizes computed.
#pragma once
#include "compiler/plan/statement.h"
#include "compiler/support/result.h"

namespace wick::compiler {

struct LinearizeOptions {
  bool stock_only = false;  // refuse operators without a stock kernel, naming all of them
};

/// Turns every node into instructions. A view costs none where its bytes are one contiguous range; a concatenation
/// costs none where its operands can be written in place; a state update is written in place when no later reader needs
/// the old version. Errors: unsupported_model for a size without upper bound, a node without kernel ..
Result<Statement> linearize(const Function& function, const LinearizeOptions& options);

}  // namespace wick::compiler
