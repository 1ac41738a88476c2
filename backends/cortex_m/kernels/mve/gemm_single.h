// Matmul of a single row on MVE. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/mve/gemm.h"

namespace wick::cortex_m::mve {

/// Computes y [channels] from the row x [terms]. Requires: terms > 0.
void multiply_row(const Gemm& gemm, const int8_t* x, int8_t* y);

}  // namespace wick::cortex_m::mve
