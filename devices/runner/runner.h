// The firmware that loads and calls methods for the tool: see devices/protocol.h.
#pragma once
#include "wick/kernel.h"

namespace wick::device {

/// The kernels that programs may call. Each firmware defines its own.
Span<const KernelTable> runner_kernels();

}  // namespace wick::device
