// The halves at run time of all backends. C++17.
#pragma once
#include "wick/backends.h"

namespace wick {

/// What a backend gives the executor; either may be null. Devices, if delegates run on others than the processor.
struct BackendRuntime {
  const Backend& (*delegates)();
  KernelTable (*kernels)();
  Span<const DeviceKind> devices = {};
};

}  // namespace wick
