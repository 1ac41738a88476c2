// What a kernel computes and moves. C++20.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

/// Of one launch, with all sizes at their upper bounds. Saturates.
struct KernelWork {
  uint64_t flops = 0;  // of real numbers: operators, and each product and sum of a reduction
  /// Distinct bytes of buffers: what must come from memory once, and go there.
  uint64_t read_bytes = 0, written_bytes = 0;
  std::vector<std::pair<uint32_t, uint64_t>> written;  // the latter by buffer
  bool uses_f64 = false;
};

/// A SymScope with the graph's ranges is open.
KernelWork work_of(const LoweredGraph& graph, const LoopKernel& kernel);

}  // namespace wick::cuda
