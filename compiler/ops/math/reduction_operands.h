// Conversions of an operand before it is reduced. C++20.
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/ops/compose.h"

namespace wick::compiler {

/// Whether eager converts `self` to the result's dtype first: that is a 16-bit float other than the dtype of `self`.
bool converts_first(const Node& node);
/// Calls the same operator with `self` converted to the dtype of the result.
std::vector<Value*> of_converted(Builder& b, Node& node);

/// `x` with one `element` appended along each of `dims` that may be empty: a maximum over no elements is then
/// `element`.
Value* with_an_element(Compose& c, Value* x, const std::vector<int64_t>& dims, double element);

}  // namespace wick::compiler
