// Products of a few rows with a matrix of packed integers, which is read once. C++20.
#pragma once
#include <optional>
#include <vector>

#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

/// Sums of products of which one factor is a matrix of 8-bit or 4-bit integers with k innermost, in memory 16 bytes by
/// 16 bytes, and the other one has at most 8 rows. A warp computes one column of the result for all rows: each thread
/// loads 16 bytes of the matrix at once. Several sums have several matrices, and one row.
struct Matvec {
  struct Matrix {
    ExpressionPtr element = nullptr;  // mentions n
    ExpressionPtr packed = nullptr;   // the load in it
  };
  std::vector<Loop> m, n;        // of the kernel's rows, in order; m has constant extents
  ExpressionPtr left = nullptr;  // mentions m
  std::vector<Matrix> matrices;  // of each sum
  uint32_t count = 0;            // elements in 16 bytes
};

/// Nothing if the kernel is none.
std::optional<Matvec> find_matvec(LoweredGraph& graph, const LoopKernel& kernel);

KernelSource write_matvec(LoweredGraph& graph, const LoopKernel& kernel, const Matvec& matvec);

}  // namespace wick::cuda
