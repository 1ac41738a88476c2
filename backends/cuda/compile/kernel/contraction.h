// Sums of products as tiles of a matrix product. C++20.
#pragma once
#include <optional>
#include <vector>

#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

/// A kernel whose only reduction adds products of two factors. Loops over rows that only one factor reads are the rows
/// and columns of a matrix product; the others count independent products.
struct Contraction {
  std::vector<Loop> batch, m, n;                     // of the kernel's rows, in order
  ExpressionPtr left = nullptr, right = nullptr;     // mention m, and n
  bool left_along_k = false, right_along_k = false;  // neighbours along the innermost column are neighbours in memory
  /// The dtype of both factors if matrix instructions take it: bf16 or f16; else f32.
  DType factors = DType::f32;
};

/// Nothing if the kernel is none.
std::optional<Contraction> find_contraction(const LoopKernel& kernel);

KernelSource write_contraction(LoweredGraph& graph, const LoopKernel& kernel, const Contraction& contraction);

}  // namespace wick::cuda
