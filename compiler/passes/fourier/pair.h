// A complex tensor as two real ones. C++20.
#pragma once
#include "compiler/ops/compose.h"

namespace wick::compiler {

/// Real and imaginary part; a null imaginary part means zeros. In the functions below, a null argument or result is
/// zeros.
struct Pair {
  Value* re = nullptr;
  Value* im = nullptr;
};

inline Value* sum(Builder& b, Value* x, Value* y) { return x && y ? b.call("aten.add.Tensor", {x, y}) : x ? x : y; }
inline Value* negative(Builder& b, Value* x) { return x ? b.call("aten.neg", {x}) : nullptr; }
inline Value* difference(Builder& b, Value* x, Value* y) {
  return x && y ? b.call("aten.sub.Tensor", {x, y}) : x ? x : negative(b, y);
}
inline Value* product(Builder& b, Value* x, Value* y, std::string_view op = "aten.mul.Tensor") {
  return x && y ? b.call(op, {x, y}) : nullptr;
}
/// The complex product. `op` multiplies real tensors: element by element, or as matrices.
inline Pair product(Builder& b, const Pair& x, const Pair& y, std::string_view op = "aten.mul.Tensor") {
  return {difference(b, product(b, x.re, y.re, op), product(b, x.im, y.im, op)),
          sum(b, product(b, x.re, y.im, op), product(b, x.im, y.re, op))};
}

}  // namespace wick::compiler
