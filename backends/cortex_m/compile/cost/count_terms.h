// How often a kernel does what, from the sizes of its arguments. C++20.
#pragma once
#include <string_view>

#include "compiler/partition/call_cost.h"

namespace wick::cortex_m {

/// Adds the terms of a call, without their instructions. `is_own`: an operator of the backend, otherwise a portable
/// one. kernels/costs.inc says what each term counts.
void count_terms(const compiler::OperatorCall& call, bool is_own, compiler::CallCost& cost);

}  // namespace wick::cortex_m
