// Data movement on elements. C++20.
#pragma once
#include "backends/cortex_m/compile/ops/op_rule.h"

namespace wick::cortex_m {

/// The rule of data-movement operators.
extern const OpRule kMovementRule;
bool only_moves(const compiler::Node& node);

/// Copies int8 elements to another dim order by the operator transpose, between views. Null for values that it cannot
/// copy.
compiler::Value* copy_to_dim_order(compiler::Builder& b, compiler::Value* value,
                                   const compiler::layout::DimOrder& order);

}  // namespace wick::cortex_m
