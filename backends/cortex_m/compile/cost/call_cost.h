// Predicted instructions of calls on Cortex-M. C++20.
#pragma once
#include "compiler/partition/target.h"

namespace wick::cortex_m {

/// The cost of a call in a program that was prepared for `prepared_for` ("cortex_m.isa=mve" and the like; without an
/// instruction set: MVE). Knows the backend's operators and many portable ones; of others only the number of elements.
compiler::CallCost call_cost(const compiler::OperatorCall& call, Span<const std::string> prepared_for);

}  // namespace wick::cortex_m
