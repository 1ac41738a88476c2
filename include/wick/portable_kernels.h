// All portable kernels as one table. Linking this links every kernel; `wick ops --emit-table` writes a smaller one.
#pragma once
#include "wick/kernel.h"

namespace wick {
KernelTable portable_kernels();
}  // namespace wick
