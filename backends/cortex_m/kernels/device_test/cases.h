// Seeded calls of each operator: shapes and parameters that its checks accept. C++17, no heap.
#pragma once
#include "backends/cortex_m/kernels/device_test/call.h"

namespace wick::cortex_m {

struct CaseSource {
  const char* name;  // of the kernel's row
  int32_t count;     // of cases
  void (*make)(Call& call);
};

/// One source for each row of kernels.inc.
Span<const CaseSource> case_sources();

}  // namespace wick::cortex_m
