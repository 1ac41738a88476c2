// Constants behind nodes that only move them. C++20.
#pragma once
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// The numbers of a constant, or what dequantizing a constant gives.
bool is_constant_numbers(const compiler::Value& value);

/// Whether the value is such numbers, behind any number of nodes that only move them.
bool is_moved_constant(const compiler::Value& value);

/// The same numbers as those of `value`, viewed as `sizes` and permuted: a constant, dequantized if that of `value` is.
/// Scales by channels follow their channels. Null if they end up along several dimensions, or if the constant has more
/// elements than four times those that are stored.
/// Requires: is_moved_constant(value).
compiler::Value* moved_constant(compiler::Builder& builder, const compiler::Value& value, const compiler::Sizes& sizes,
                                const std::vector<int64_t>& perm);

}  // namespace wick::cortex_m
