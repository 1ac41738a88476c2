// Kernels that access memory outside of their tensors, to show that the test detects it. C++17, no heap.
#pragma once
#include "backends/cortex_m/kernels/device_test/call.h"

namespace wick::cortex_m {

struct BrokenKernel {
  const char* name;
  Side side;  // where it leaves a tensor
  void (*run)(KernelContext&, Span<EValue*>);
};

Span<const BrokenKernel> broken_kernels();
/// Makes the arguments of all of them: an operand and an output of equally many bytes, which are no whole vectors.
void make_broken(Call& call);

}  // namespace wick::cortex_m
