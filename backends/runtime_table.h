// The runtime halves of all backends. C++17.
#pragma once
#include "wick/backends.h"

namespace wick {

/// The parts of a backend that the executor uses; either may be null. `devices`: for delegates that do not run on the
/// processor.
struct BackendRuntime {
  const Backend& (*delegates)();
  KernelTable (*kernels)();
  Span<const DeviceKind> devices = {};
};

}  // namespace wick
