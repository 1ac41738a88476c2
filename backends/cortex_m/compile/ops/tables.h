// Functions from elements to elements, and conversion of elements between scales. C++20.
#pragma once
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

/// The rule of element-wise operators with one operand that is not a single constant number.
extern const OpRule kTableRule;
bool is_tabulated(const compiler::Node& node);
/// The nodes of the model that one table stands for: "mul_2, tanh".
std::string names_of_nodes(const compiler::Node& node);

/// Converts int8 elements from one scale to another, by a table.
compiler::Value* requantized(compiler::Builder& builder, compiler::Value* x, const Affine& from, const Affine& to);
/// Converts elements to `dtype` (int8, int16) and to the scale and range of `to`. They stand for the same numbers.
compiler::Value* converted(compiler::Builder& builder, compiler::Value* x, const Affine& from, const Affine& to,
                           DType dtype);
/// Whether `converted` can do it, where one side is int16.
bool is_convertible(const Affine& from, const Affine& to);
/// Why `converted` cannot do it, or "".
Refusal refuse_conversion(const compiler::Value& from, const compiler::Value& to, const Configuration& configuration);
/// Clamps elements to the range of `to`, which has the scale of `from`; `x` itself if its range lies inside.
compiler::Value* clamped(compiler::Builder& builder, compiler::Value* x, const Affine& from, const Affine& to);

}  // namespace wick::cortex_m
