// Sums of products as tiles of a matrix product. C++20.
#pragma once
#include <optional>
#include <vector>

#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

/// A kernel whose last reduction adds products of two factors. Reductions before it are norms of the lines of one
/// factor, which reads them. Loops over rows that only one factor reads are the rows
/// and columns of a matrix product; the others count independent products.
struct Contraction {
  std::vector<Loop> batch, m, n;                  // of the kernel's rows, in order; results lie along the last of n
  ExpressionPtr left = nullptr, right = nullptr;  // mention m, and n
  bool left_is_normed = false, right_is_normed = false;
  /// The dtype of both factors if matrix instructions take it: bf16 or f16; else f32.
  DType factors = DType::f32;
};

/// The factors of a kernel that sums products, of any size. Nothing if the kernel does something else.
std::optional<Contraction> find_factors(const LoopKernel& kernel);
/// Nothing if the kernel is none, or too small to gain from tiles.
std::optional<Contraction> find_contraction(const LoopKernel& kernel);

KernelSource write_contraction(LoweredGraph& graph, const LoopKernel& kernel, const Contraction& contraction);

}  // namespace wick::cuda
