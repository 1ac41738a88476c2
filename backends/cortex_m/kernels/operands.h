// The operands of quantized_add and quantized_mul: of equal sizes, or one of them a row of channels. C++17,
// freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

/// Which element of each operand belongs to element i of the output: i itself, or i % period for a row of channels.
struct Operands {
  size_t period_a = SIZE_MAX, period_b = SIZE_MAX;
};

/// All are int8. The output has the sizes and layout of both operands; or one operand is [1, C, 1, 1], and the other
/// and the output are channels-last with C channels.
bool read_operands(KernelContext& context, const Tensor& a, const Tensor& b, const Tensor& out, Operands* operands);

}  // namespace wick::cortex_m
