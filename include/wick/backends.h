// All backends and kernels of this build, for programs that need not be small. C++17.
#pragma once
#include "wick/backend.h"

namespace wick {

/// For MethodOptions::backends and ModuleOptions::backends: runs the delegates of every backend of this build. A
/// backend whose hardware or library is missing refuses its delegates at load.
Span<const Backend* const> all_backends();
/// For MethodOptions::kernels and ModuleOptions::kernels: the kernels of every backend, then the portable ones.
Span<const KernelTable> all_kernels();

}  // namespace wick
