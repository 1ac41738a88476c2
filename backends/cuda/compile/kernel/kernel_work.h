// The work of a kernel: operations and bytes. C++20.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

/// The work of one launch with all sizes at their upper bounds. Numbers saturate.
struct KernelWork {
  uint64_t flops = 0;  // floating-point operations: each real operator, and each product and sum of a reduction
  /// Distinct bytes of buffers: each is counted once, however often the kernel reads or writes it.
  uint64_t read_bytes = 0, written_bytes = 0;
  std::vector<std::pair<uint32_t, uint64_t>> written;  // written_bytes by buffer
  bool uses_f64 = false;
};

/// Requires: a SymScope with the graph's ranges is open.
KernelWork work_of(const LoweredGraph& graph, const LoopKernel& kernel);

}  // namespace wick::cuda
