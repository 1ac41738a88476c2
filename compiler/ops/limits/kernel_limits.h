// Calls that our own kernel of a composite operator does not take: profile native decomposes them, as profile auto
// does.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// True if the kernel that `node.op` names (kNoStock, with a decomposition) takes dtypes and sizes of this call.
bool kernel_takes(const Node& node);

}  // namespace wick::compiler
