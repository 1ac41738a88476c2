#include "backends/runtime_table.h"
#include "wick/xnnpack_backend.h"

namespace wick::xnnpack {

extern const BackendRuntime kRuntime;
const BackendRuntime kRuntime = {xnnpack_backend, nullptr};

}  // namespace wick::xnnpack
