// Probabilities that are divided by their sum.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Is the node x / (the sum of x along its last dimension), x being what a softmax along that gives, or the largest of
/// it? Then the sum is above 0, and the result between 0 and 1.
bool is_share_of_sum(const Node& node);

}  // namespace wick::compiler
