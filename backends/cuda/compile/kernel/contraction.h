// Contractions: kernels that are matmuls in general form, computed by tiles. C++20.
#pragma once
#include <optional>
#include <vector>

#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

/// A kernel whose last reduction is a sum of products of two factors. Row loops that only one factor depends on are the
/// rows and columns (m and n) of a matmul; the other row loops count independent matmuls (batch). A line of a factor is
/// its elements for one m or n. Reductions before the last one are norms of one factor's lines, which only this factor
/// reads.
struct Contraction {
  // loops of the kernel's rows, in their order; results are contiguous along the last of n
  std::vector<Loop> batch, m, n;
  ExpressionPtr left = nullptr, right = nullptr;  // `left` depends on m, `right` on n
  bool left_is_normed = false, right_is_normed = false;
  /// bf16 or f16 if both factors have this dtype, so that matrix instructions take them; else f32.
  DType factors = DType::f32;
};

/// The factors of a kernel that is a sum of products, of any size. Nothing if it is another kernel.
std::optional<Contraction> find_factors(const LoopKernel& kernel);
/// The same, with m and n exchanged if results are contiguous along m. Nothing also if the kernel is too small to be
/// faster by tiles.
std::optional<Contraction> find_contraction(const LoopKernel& kernel);

KernelSource write_contraction(LoweredGraph& graph, const LoopKernel& kernel, const Contraction& contraction);

}  // namespace wick::cuda
