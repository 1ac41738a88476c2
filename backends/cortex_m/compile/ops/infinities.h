// Division by 0. C++20.
#pragma once
#include "compiler/ir/builder.h"

namespace wick::cortex_m {

/// Corrects `quotient`, the elements that stock's kernel computes for the division `node`, where the divisor is 0. The
/// kernel gives 0 there; a nonzero dividend must give the largest or least element, as an infinite quotient does.
compiler::Value* with_infinities(compiler::Builder& builder, const compiler::Node& node, compiler::Value* quotient);

}  // namespace wick::cortex_m
