// Arithmetic on expressions in the type of the first operand, by the vocabulary's meaning: integers wrap. C++20.
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

}  // namespace wick::cuda
