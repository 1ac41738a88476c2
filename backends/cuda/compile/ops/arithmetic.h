// Arithmetic on expressions in the type of the first operand, with the vocabulary's meaning: integers wrap. C++20.
#pragma once
#include "backends/cuda/compile/expression/expression.h"

namespace wick::cuda {

inline constexpr char kAdd[] = "op_add({0}, {1})", kMultiply[] = "op_mul({0}, {1})";

inline ExpressionPtr add(ExpressionPool& pool, ExpressionPtr a, ExpressionPtr b) {
  return pool.call(a->type, kAdd, {a, b});
}
inline ExpressionPtr sub(ExpressionPool& pool, ExpressionPtr a, ExpressionPtr b) {
  return pool.call(a->type, "op_sub({0}, {1})", {a, b});
}
inline ExpressionPtr mul(ExpressionPool& pool, ExpressionPtr a, ExpressionPtr b) {
  return pool.call(a->type, kMultiply, {a, b});
}
inline ExpressionPtr div(ExpressionPool& pool, ExpressionPtr a, ExpressionPtr b) {
  return pool.call(a->type, "op_div({0}, {1})", {a, b});
}

/// The weights of the four taps of a cubic convolution. {0}: the distance, 0 to 1, of the position from the second tap.
inline constexpr const char* kCubicWeights[4] = {"cubic_far({0} + 1)", "cubic_near({0})", "cubic_near(1 - {0})",
                                                 "cubic_far(2 - {0})"};

}  // namespace wick::cuda
