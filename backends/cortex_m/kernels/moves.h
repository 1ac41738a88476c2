// Moves elements between layouts: what pad and transpose share. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/positions.h"

namespace wick::cortex_m {

/// y[position by `to`] = x[position by `from`] for each position below `sizes`, in the order of y's memory: dimensions
/// that lie behind each other in both are one, and runs of neighbours in both are copied as a whole.
void move_elements(const Sizes& sizes, const Steps& from, const Steps& to, const int8_t* x, int8_t* y);

}  // namespace wick::cortex_m
