// What calls do that only move elements. C++20.
#pragma once
#include "backends/cortex_m/compile/cost/terms.h"

namespace wick::cortex_m {

/// (x, before, after, value): in the order of memory.
void count_pad(const compiler::OperatorCall& call, Terms& terms);
/// (x, permutation): `aten::permute_copy`.
void count_permuted(const compiler::OperatorCall& call, Terms& terms);
/// The same: `cortex_m::transpose`, for which dimensions that lie side by side in both are one.
void count_turned(const compiler::OperatorCall& call, Terms& terms);
/// (tensors, dimension): `aten::cat`.
void count_joined(const compiler::OperatorCall& call, Terms& terms);
/// Copies that keep the dimensions: another layout, or a part.
void count_copied(const compiler::OperatorCall& call, Terms& terms);

}  // namespace wick::cortex_m
