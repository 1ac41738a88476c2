// C++20.
#pragma once
#include "backends/cortex_m/compile/ops/op_rule.h"

namespace wick::cortex_m {

/// The rule of operators that only move elements.
extern const OpRule kMovementRule;
bool only_moves(const compiler::Node& node);

/// Int8 elements in another dim order by the operator transpose, between views. Null for other values.
compiler::Value* copy_to_dim_order(compiler::Builder& b, compiler::Value* value,
                                   const compiler::layout::DimOrder& order);

}  // namespace wick::cortex_m
