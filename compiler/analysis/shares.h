// Probabilities that are divided by their sum.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Whether the node is x / (the sum of x along its last dimension), where x is a softmax along that dimension, the
/// largest elements of one, or exp(z - the largest z). Then the sum is above 0, and the result lies between 0 and 1. If
/// a positive number is added to the sum, or limits it from below, x may also be elements of a softmax or sigmoid.
bool is_share_of_sum(const Node& node);

}  // namespace wick::compiler
