// The reference kernels by name, for variants that leave unusual parameters to them. C++17, freestanding.
#pragma once
#include "wick/kernel.h"

namespace wick::cortex_m::reference {

#define KERNEL(name, signature, function, ...) void function(KernelContext& context, Span<EValue*> args);
#include "backends/cortex_m/kernels/kernels.inc"
#undef KERNEL

}  // namespace wick::cortex_m::reference
