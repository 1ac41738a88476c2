// Conversions of an operand before it is reduced. C++20.
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/ops/compose.h"

namespace wick::compiler {

/// Whether eager converts `self` to the dtype of the result first: one of 16 bits that it does not have.
bool converts_first(const Node& node);
/// A call of the same operator with `self` in the dtype of the result.
std::vector<Value*> of_converted(Builder& b, Node& node);

/// x with a row of `element` behind each of `dims` that may be empty: a maximum over none is `element` then.
Value* with_an_element(Compose& c, Value* x, const std::vector<int64_t>& dims, double element);

}  // namespace wick::compiler
