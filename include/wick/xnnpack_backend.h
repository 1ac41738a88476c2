// The XNNPACK delegate, for MethodOptions::backends and ModuleOptions::backends.
#pragma once
#include "wick/backend.h"

namespace wick {

/// Runs delegates with the id "XnnpackBackend" on the XNNPACK library. Hosted: it allocates from the heap besides the
/// method arena. Like all backends, it needs one method per thread. In a build without the library its `init` fails
/// with DelegateInvalidCompatibility and a message that says so.
const Backend& xnnpack_backend();
/// False in a build without the library.
bool has_xnnpack_library();
/// Whether the library has all its kernels for this processor. On x86-64 that takes AVX2, FMA and F16C. Without them,
/// delegates with f16 tensors or with 4-bit weights in blocks are refused at load.
bool xnnpack_has_all_kernels();

}  // namespace wick
