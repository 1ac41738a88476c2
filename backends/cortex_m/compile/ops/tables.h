// From elements to elements. C++20.
#pragma once
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

/// The rule of element-wise operators that read one tensor, besides numbers.
extern const OpRule kTableRule;
bool is_tabulated(const compiler::Node& node);
/// The nodes of the model that one table stands for: "mul_2, tanh".
std::string names_of_nodes(const compiler::Node& node);

/// Elements that stand for the same numbers on another scale: a table.
compiler::Value* requantized(compiler::Builder& builder, compiler::Value* x, const Affine& from, const Affine& to);
/// Elements of `dtype` (int8, int16) that stand for the same numbers as those of `x`, within the range of `to`.
compiler::Value* converted(compiler::Builder& builder, compiler::Value* x, const Affine& from, const Affine& to,
                           DType dtype);
/// Whether `converted` can make elements of `to` from those of `from` where one of them is int16.
bool is_convertible(const Affine& from, const Affine& to);
/// Why `converted` cannot make elements of `to` from those of `from`, or "".
Refusal refuse_conversion(const compiler::Value& from, const compiler::Value& to, const Configuration& configuration);
/// Elements bounded to the range of `to`, on the scale of `from`; `x` itself where its range lies inside.
compiler::Value* clamped(compiler::Builder& builder, compiler::Value* x, const Affine& from, const Affine& to);

}  // namespace wick::cortex_m
