// C++20.
#pragma once
#include "backends/cortex_m/compile/ops/op_rule.h"

namespace wick::cortex_m {

/// The rule of operators that only move elements.
extern const OpRule kMovementRule;
bool only_moves(const compiler::Node& node);

}  // namespace wick::cortex_m
