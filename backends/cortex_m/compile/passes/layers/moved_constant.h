// Moves constants at compile time: through views, permutes and other data movement. C++20.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "compiler/analysis/evaluate.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// Whether `moved`, which is made from the constant, has more than four times its elements, or an unknown number of
/// them.
bool grows_too_much(const compiler::Value& constant, const compiler::Value& moved);

/// Calls the operator of `node` with `x` as its first argument.
compiler::Value* call_on(compiler::Builder& builder, const compiler::Node& node, compiler::Value* x);

/// Adds data-movement nodes to `x` and returns the result.
using MoveFn = std::function<compiler::Value*(compiler::Builder& builder, compiler::Value* x)>;
/// The elements of a constant after data movement, without quantization. Nullopt: no kernel can move them, or the
/// result would exceed the memory limit of folding.
std::optional<compiler::HostTensor> moved_elements(compiler::TensorType type, compiler::ConstantData data,
                                                   const MoveFn& move);

/// Whether the value is a constant, or dequantizes one.
bool is_constant_numbers(const compiler::Value& value);

/// Whether the value is one of these, behind any number of data-movement nodes.
bool is_moved_constant(const compiler::Value& value);

/// The numbers of `value`, viewed as `sizes` and permuted, as a constant. If `value` comes from a dequantized constant,
/// the new one is dequantized, too, provided it has one scale, or one for each position of the first dimension;
/// otherwise it is in floats. Null if it has more than four times the elements that are stored.
/// Requires: is_moved_constant(value).
compiler::Value* moved_constant(compiler::Builder& builder, const compiler::Value& value, const compiler::Sizes& sizes,
                                const std::vector<int64_t>& perm);

}  // namespace wick::cortex_m
