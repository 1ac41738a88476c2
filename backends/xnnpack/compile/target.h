// XNNPACK as the compiler sees it. C++20.
#pragma once
#include "compiler/partition/target.h"

namespace wick::xnnpack {

extern const compiler::Target kTarget;

inline constexpr compiler::TargetOption kGroupScales = {
    "group-scales", "exact|bf16",
    "scales of 4-bit weights in groups: exact, or rounded to bf16 (faster, up to 0.4 % off)"};

}  // namespace wick::xnnpack
