#include "backends/runtime_table.h"
#include "wick/cortex_m_backend.h"

namespace wick::cortex_m {

extern const BackendRuntime kRuntime;
const BackendRuntime kRuntime = {nullptr, cortex_m_kernels};

}  // namespace wick::cortex_m
