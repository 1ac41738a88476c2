// The halves at run time of all backends. C++17.
#pragma once
#include "wick/backend.h"

namespace wick {

/// What a backend gives the executor; either may be null.
struct BackendRuntime {
  const Backend& (*delegates)();
  KernelTable (*kernels)();
};

}  // namespace wick
