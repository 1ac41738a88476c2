// Products of a few rows with a matrix of packed integers, which is read once. C++20.
#pragma once
#include <optional>
#include <vector>

#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

/// k = count * group + inner, for a loop over k.
struct Groups {
  Sym group, inner;
  int64_t count;

  Groups(LoweredGraph& graph, const Loop& loop, int64_t size, const std::string& name);
  /// The expression in terms of group and inner.
  Sym of(LoweredGraph& graph, const Sym& sym, const Loop& loop) const;
};

/// What 16 bytes of a matrix hold.
enum class Chunk : uint8_t { other, floats, bytes, nibbles, signed_nibbles };

/// Sums of products of which one factor is a matrix of 8-bit or 4-bit integers with k innermost, in memory 16 bytes by
/// 16 bytes, and the other one has at most 8 rows. A warp computes one column of the result for all rows: each thread
/// loads 16 bytes of the matrix at once. Several sums have several matrices, and one row.
struct Matvec {
  struct Matrix {
    ExpressionPtr element = nullptr;  // mentions n
    ExpressionPtr packed = nullptr;   // the load in it
    Chunk chunk = Chunk::other;
    ExpressionPtr scale = nullptr;  // that the integers of a chunk are multiplied by
  };
  std::vector<Loop> m, n;        // of the kernel's rows, in order; m has constant extents
  ExpressionPtr left = nullptr;  // mentions m
  std::vector<Matrix> matrices;  // of each sum
  uint32_t count = 0;            // elements in 16 bytes
  /// bf16 or f16 if both factors are, and matrix instructions take them: a warp computes 16 columns.
  DType factors = DType::f32;

  /// An expression of row `number`.
  Sym in_row(const Sym& sym, int64_t number) const;
};

/// Nothing if the kernel is none.
std::optional<Matvec> find_matvec(LoweredGraph& graph, const LoopKernel& kernel);
/// The same of one row, which a prologue computes, and of matrices of 16-bit floats, so few columns that warps have to
/// share k.
std::optional<Matvec> find_matvec_of_floats(LoweredGraph& graph, const LoopKernel& kernel);

KernelSource write_matvec(LoweredGraph& graph, const LoopKernel& kernel, const Matvec& matvec);

/// Sets chunks, scales and `factors` if matrix instructions can take the factors.
void find_chunks(LoweredGraph& graph, const Loop& k, Matvec& matvec);
/// Bytes of shared memory that such a kernel takes at most, besides its prologues.
int64_t shared_bytes(const LoopKernel& kernel, const Matvec& matvec);
/// If they can.
KernelSource write_matvec_by_matrices(LoweredGraph& graph, const LoopKernel& kernel, const Matvec& matvec);

}  // namespace wick::cuda
