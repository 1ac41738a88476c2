// Probabilities: what is divided by its sum, and whose largest is of ordinary size.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Whether the node is x / (the sum of x along its last dimension), where x is a softmax along that dimension, the
/// largest elements of one, or exp(z - the largest z). Then the sum is above 0, and the result lies between 0 and 1. If
/// a positive number is added to the sum, or limits it from below, x may also be elements of a softmax or sigmoid.
bool is_share_of_sum(const Node& node);

/// Whether the elements of `value` along the dimension hold a number of ordinary size each time, because they add up to
/// 1 or the largest is 1: a softmax, the largest elements of one, exp(z - the largest z), also moved or times a number.
bool has_ordinary_element(const Value* value, size_t dim);

}  // namespace wick::compiler
