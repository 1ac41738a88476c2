// Constants behind nodes that only move them. C++20.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "compiler/analysis/evaluate.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// Whether `moved`, which is made of the constant, has more than four times its elements, or a number that is not
/// known.
bool grows_too_much(const compiler::Value& constant, const compiler::Value& moved);

/// The call of `node` with `x` as its first argument.
compiler::Value* call_on(compiler::Builder& builder, const compiler::Node& node, compiler::Value* x);

/// Adds nodes that only move the elements of a tensor.
using MoveFn = std::function<compiler::Value*(compiler::Builder& builder, compiler::Value* x)>;
/// A constant, as elements without quantization, behind such nodes. Nothing: a kernel refuses them, or they take more
/// memory than folding may.
std::optional<compiler::HostTensor> moved_elements(compiler::TensorType type, compiler::ConstantData data,
                                                   const MoveFn& move);

/// The numbers of a constant, or what dequantizing a constant gives.
bool is_constant_numbers(const compiler::Value& value);

/// Whether the value is such numbers, behind any number of nodes that only move them.
bool is_moved_constant(const compiler::Value& value);

/// The same numbers as those of `value`, viewed as `sizes` and permuted: a constant, dequantized if that of `value` is
/// and has one scale, or one for each position of the first dimension; else floats. Null if the constant has more than
/// four times the elements that are stored.
/// Requires: is_moved_constant(value).
compiler::Value* moved_constant(compiler::Builder& builder, const compiler::Value& value, const compiler::Sizes& sizes,
                                const std::vector<int64_t>& perm);

}  // namespace wick::cortex_m
