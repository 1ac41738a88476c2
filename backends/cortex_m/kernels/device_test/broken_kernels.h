// Kernels that leave their tensors, to show that this is noticed. C++17, no heap.
#pragma once
#include "backends/cortex_m/kernels/device_test/call.h"

namespace wick::cortex_m {

struct BrokenKernel {
  const char* name;
  Side side;  // where it leaves a tensor
  void (*run)(KernelContext&, Span<EValue*>);
};

Span<const BrokenKernel> broken_kernels();
/// Arguments of all of them: an operand and an output of as many bytes, and no whole number of vectors.
void make_broken(Call& call);

}  // namespace wick::cortex_m
