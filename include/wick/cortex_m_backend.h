// The operators of stock's namespace cortex_m, for MethodOptions::kernels and ModuleOptions::kernels. C++17,
// freestanding.
#pragma once
#include "wick/kernel.h"

namespace wick {

/// Kernels with the results of CMSIS-NN, to the bit, for programs of ExecuTorch's Cortex-M flow for any of its
/// instruction sets.
KernelTable cortex_m_kernels();

}  // namespace wick
