// C = A B in double or in integers that wrap, over operands that are packed tile by tile. C++17, freestanding.
#pragma once
#include <type_traits>

#include "runtime/kernels/hot/hot_kernels.h"
#include "wick/kernel.h"

namespace wick {

/// What elements of type T are summed in. Integers wrap, and the low bits of a sum are those of the sum in more bits.
template <typename T>
using ProductSum =
    std::conditional_t<!std::is_integral<T>::value, T, std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>>;

inline auto product_tile(const HotKernels& kernels, double) { return kernels.tile_f64; }
inline auto product_tile(const HotKernels& kernels, uint32_t) { return kernels.tile_u32; }
inline auto product_tile(const HotKernels& kernels, uint64_t) { return kernels.tile_u64; }

constexpr int64_t kProductNumbers = kProductRows * kMostProductColumns;

/// Rows of tile `t` of m.
inline int64_t rows_of_tile(int64_t m, int64_t t) {
  return m - t * kProductRows < kProductRows ? m - t * kProductRows : kProductRows;
}

/// `batch` products of [m, k] and [k, n].
///   pack_a(index, row, rows, out)        out[i * kProductRows + r] = A[row + r, i], 0 for r >= rows
///   pack_b(index, column, columns, width, out)    out[i * width + j] = B[i, column + j], 0 for j >= columns
///   store(index, row, column, sum)       takes the results
/// False, and nothing was done, if temp memory has no room for A and a panel of B.
template <typename Sum, typename PackA, typename PackB, typename Store>
bool multiply_tiled(KernelContext& context, int64_t batch, int64_t m, int64_t n, int64_t k, const PackA& pack_a,
                    const PackB& pack_b, const Store& store) {
  const HotKernels& kernels = hot(context.isa());
  const auto tile = product_tile(kernels, Sum());
  const int64_t width = kernels.gemm_columns * static_cast<int64_t>(sizeof(float)) / static_cast<int64_t>(sizeof(Sum));
  const int64_t panels = (n + width - 1) / width, tiles = (m + kProductRows - 1) / kProductRows;
  const int64_t tasks = context.num_threads() < 1 ? 1 : context.num_threads();
  const double numbers = static_cast<double>(k) * static_cast<double>(tiles * kProductRows + tasks * width);
  if (k <= 0 || numbers * sizeof(Sum) + 64 > static_cast<double>(context.temp_available())) return false;
  Sum* const left = context.allocate_temp_array<Sum>(static_cast<size_t>(numbers));
  if (!left) return true;
  Sum* const panel = left + tiles * kProductRows * k;
  for (int64_t index = 0; index < batch; ++index) {
    context.parallel_for(tiles, 4096 / k + 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        pack_a(index, t * kProductRows, rows_of_tile(m, t), left + t * kProductRows * k);
    });
    context.parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        Sum* const right = panel + task * k * width;
        for (int64_t p = panels * task / tasks; p < panels * (task + 1) / tasks; ++p) {
          const int64_t column = p * width, columns = n - column < width ? n - column : width;
          pack_b(index, column, columns, width, right);
          for (int64_t t = 0; t < tiles; ++t) {
            Sum sums[kProductNumbers];
            tile(left + t * kProductRows * k, right, k, sums);
            for (int64_t r = 0; r < rows_of_tile(m, t); ++r)
              for (int64_t j = 0; j < columns; ++j) store(index, t * kProductRows + r, column + j, sums[r * width + j]);
          }
        }
      }
    });
  }
  return true;
}

}  // namespace wick
