// The operands of quantized_add and quantized_mul: both have the same sizes, or one is a row of channels. C++17,
// freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

/// Which element of each operand belongs to element i of the output: i itself, or i % period for a row of channels.
struct Operands {
  size_t period_a = SIZE_MAX, period_b = SIZE_MAX;
};

/// Reads int8 tensors. Both operands and the output have the same sizes and layout; or one operand is [1, C, 1, 1], and
/// the other one and the output are channels-last with C channels.
bool read_operands(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, Operands* operands);

/// Calls run(a, b, y, count) for pieces in which the elements of both operands are contiguous; a, b and y are the
/// indices of their first elements.
template <typename Run>
void for_each_run(const Operands& operands, size_t count, const Run& run) {
  const size_t smaller = operands.period_a < operands.period_b ? operands.period_a : operands.period_b;
  const size_t period = smaller < count ? smaller : count;
  for (size_t at = 0; at < count; at += period)
    run(operands.period_a == SIZE_MAX ? at : 0, operands.period_b == SIZE_MAX ? at : 0, at,
        static_cast<int32_t>(period));
}

}  // namespace wick::cortex_m
