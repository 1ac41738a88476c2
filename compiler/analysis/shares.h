// Recognises probabilities: values that are divided by their sum, and rows with an element of ordinary size.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Whether the node is x / (the sum of x along its last dimension), where x is a softmax along that dimension, the
/// largest elements of one, or exp(z - the largest z). Then the sum is above 0, and the result lies between 0 and 1. If
/// a positive constant is added to the sum or is its lower clamp, x may also be elements of a softmax or sigmoid.
bool is_share_of_sum(const Node& node);

/// Whether each row of `value` along `dim` has an element of ordinary size (far above the subnormal numbers), because
/// the row adds up to 1 or its largest element is 1: a softmax, the largest elements of one, exp(z - the largest z),
/// also after views and multiplications by constants.
bool has_ordinary_element(const Value* value, size_t dim);

}  // namespace wick::compiler
