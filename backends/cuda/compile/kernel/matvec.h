// Products of a few rows with a matrix of packed integers, which is read once. C++20.
#pragma once
#include <optional>
#include <vector>

#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

/// A sum of products of which one factor is a matrix of 8-bit or 4-bit integers with k innermost, in memory 16 bytes by
/// 16 bytes, and the other one has at most 8 rows. A warp computes one column of the result for all rows: each thread
/// loads 16 bytes of the matrix at once.
struct Matvec {
  std::vector<Loop> m, n;                         // of the kernel's rows, in order; m has constant extents
  ExpressionPtr left = nullptr, right = nullptr;  // mention m, and n
  ExpressionPtr packed = nullptr;                 // the load in `right`
  uint32_t count = 0;                             // elements in 16 bytes
};

/// Nothing if the kernel is none.
std::optional<Matvec> find_matvec(LoweredGraph& graph, const LoopKernel& kernel);

KernelSource write_matvec(LoweredGraph& graph, const LoopKernel& kernel, const Matvec& matvec);

}  // namespace wick::cuda
