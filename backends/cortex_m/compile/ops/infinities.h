// Quotients by 0. C++20.
#pragma once
#include "compiler/ir/builder.h"

namespace wick::cortex_m {

/// `quotient`, the elements that stock's kernel computes for the division `node`, which are 0 where the divisor is 0.
/// There dividends but 0 give the largest or least element, as infinite quotients do.
compiler::Value* with_infinities(compiler::Builder& builder, const compiler::Node& node, compiler::Value* quotient);

}  // namespace wick::cortex_m
