// Matmuls of a few rows with a large matrix, which is read once (GEMV). C++20.
#pragma once
#include <optional>
#include <vector>

#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

/// Splits the variable of a loop: k = count * group + inner.
struct Groups {
  Sym group, inner;
  int64_t count;

  Groups(LoweredGraph& graph, const Loop& loop, int64_t size, const std::string& name);
  /// The expression in terms of group and inner.
  Sym of(LoweredGraph& graph, const Sym& sym, const Loop& loop) const;
};

/// The contents of 16 bytes of a matrix. `nibbles` are 4-bit integers from 0, `signed_nibbles` from -8.
enum class Chunk : uint8_t { other, floats, bytes, nibbles, signed_nibbles };

/// Sums of products of a matrix of 8-bit or 4-bit integers and a factor of at most 8 rows. k is the innermost dimension
/// of the matrix in memory, in whole chunks of 16 bytes. A warp computes one column of the result for all rows: each
/// thread loads a chunk of the matrix at once. A kernel of several sums has a matrix for each, and one row.
struct Matvec {
  struct Matrix {
    ExpressionPtr element = nullptr;  // depends on n
    ExpressionPtr packed = nullptr;   // the load within `element`
    Chunk chunk = Chunk::other;
    ExpressionPtr scale = nullptr;  // the factor that the integers of a chunk share; null: none
  };
  std::vector<Loop> m, n;        // loops of the kernel's rows, in their order; m has constant extents
  ExpressionPtr left = nullptr;  // depends on m
  std::vector<Matrix> matrices;  // one for each sum
  uint32_t count = 0;            // elements in 16 bytes
  /// bf16 or f16 if both factors have this dtype and matrix instructions can take them: a warp then computes 16 or 32
  /// columns, and warps may share k.
  DType factors = DType::f32;

  /// The expression with the loop variables of m at row `number`.
  Sym in_row(const Sym& sym, int64_t number) const;
};

/// Nothing if the kernel is no such sum.
std::optional<Matvec> find_matvec(LoweredGraph& graph, const LoopKernel& kernel);
/// The same for matrices of 16-bit floats. Only for one row, which a prologue computes, and so few columns that warps
/// must share k to keep the device busy.
std::optional<Matvec> find_matvec_of_floats(LoweredGraph& graph, const LoopKernel& kernel);

KernelSource write_matvec(LoweredGraph& graph, const LoopKernel& kernel, const Matvec& matvec);

/// Sets `chunk` and `scale` of each matrix, and `factors`, if matrix instructions can take the factors.
void find_chunks(LoweredGraph& graph, const Loop& k, Matvec& matvec);
/// An upper bound of the shared memory that such a kernel takes, in bytes, without its prologues.
int64_t shared_bytes(const LoopKernel& kernel, const Matvec& matvec);
/// Requires: find_chunks() has set `factors` to bf16 or f16.
KernelSource write_matvec_by_matrices(LoweredGraph& graph, const LoopKernel& kernel, const Matvec& matvec);

}  // namespace wick::cuda
