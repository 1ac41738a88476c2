// The checked arguments of the linear operators. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

struct Linear {
  int64_t rows = 0, num_inputs = 0, num_outputs = 0;
  int32_t input_offset = 0, filter_offset = 0;
  OutputStage stage;                                        // of all outputs, unless each has its own:
  const int32_t *multipliers = nullptr, *shifts = nullptr;  // both or neither
  const int32_t* addend = nullptr;                          // bias or kernel_sum
  bool is_summed = false;                                   // whether it is kernel_sum
  const int8_t *x = nullptr, *weights = nullptr;            // weights of linear_int4: int4.h
  int8_t* y = nullptr;
};
bool read_linear(KernelContext& context, Span<EValue*> args, Linear* linear);
bool read_linear_per_channel(KernelContext& context, Span<EValue*> args, Linear* linear);
bool read_linear_int4(KernelContext& context, Span<EValue*> args, Linear* linear);

struct KernelSum {
  int64_t num_inputs = 0, num_outputs = 0;
  int32_t input_offset = 0, filter_offset = 0;
  const int8_t* weights = nullptr;
  const int32_t* bias = nullptr;
  int32_t* sums = nullptr;
};
bool read_kernel_sum(KernelContext& context, Span<EValue*> args, KernelSum* c);

}  // namespace wick::cortex_m
