// What the operators of linear have in common. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

struct Linear {
  int64_t rows = 0, num_inputs = 0, num_outputs = 0;
  int32_t input_offset = 0, filter_offset = 0;
  OutputStage stage;
  const int32_t* addend = nullptr;  // bias or kernel_sum
  bool is_summed = false;           // it is kernel_sum
};

/// int8, contiguous: an input [.., K], weights [N, K] and an output [.., N].
bool read_linear_sizes(KernelContext& context, const Tensor& input, const Tensor& weights, const Tensor& out,
                       Linear* linear);
/// Bias and kernel_sum, each None or int32 with one element per output; the sum counts.
bool read_linear_addend(KernelContext& context, const EValue& bias, const EValue& kernel_sum, Linear* linear);
/// The accumulator of output n for one row.
int32_t accumulate_linear(const Linear& linear, const int8_t* x, const int8_t* w, int64_t n);

}  // namespace wick::cortex_m
