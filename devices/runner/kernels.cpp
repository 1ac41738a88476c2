// Every kernel that runs on a microcontroller.
#include "devices/runner/runner.h"
#include "runtime/exec/prim_ops.h"
#include "wick/cortex_m_backend.h"
#include "wick/portable_kernels.h"

namespace wick::device {

Span<const KernelTable> runner_kernels() {
  static KernelTable tables[3];
  tables[0] = cortex_m_kernels();
  tables[1] = portable_kernels();
  tables[2] = prim_kernels();
  return {tables, 3};
}

}  // namespace wick::device
