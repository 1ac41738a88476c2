// The XNNPACK delegate, for MethodOptions::backends and ModuleOptions::backends.
#pragma once
#include "wick/backend.h"

namespace wick {

/// Runs delegates with the id "XnnpackBackend" on the XNNPACK library. Hosted: takes memory from the heap besides the
/// method arena; needs one method per thread, like all backends. In a build without the library its `init` fails with
/// DelegateInvalidCompatibility and a sentence that says so.
const Backend& xnnpack_backend();
/// False in a build without the library.
bool has_xnnpack_library();
/// Has the library all its kernels for this processor? On x86-64 that takes AVX2, FMA and F16C; without them, delegates
/// with f16 tensors or with weights of 4 bits in blocks are refused at load.
bool xnnpack_has_all_kernels();

}  // namespace wick
