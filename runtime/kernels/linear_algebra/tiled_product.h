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

/// `batch` products of [m, k] and [k, n]. a(index, row, i) and b(index, i, column) give elements as Sum,
/// store(index, row, column, sum) takes the results. False, and nothing was done, if temp memory has no room for tiles.
template <typename Sum, typename A, typename B, typename Store>
bool multiply_tiled(KernelContext& context, int64_t batch, int64_t m, int64_t n, int64_t k, const A& a, const B& b,
                    const Store& store) {
  constexpr int64_t kMostColumns = 32;  // of a tile, at any instruction set
  const HotKernels& kernels = hot(context.isa());
  const auto tile = product_tile(kernels, Sum());
  const int64_t width = kernels.gemm_columns * static_cast<int64_t>(sizeof(float)) / static_cast<int64_t>(sizeof(Sum));
  const int64_t panels = (n + width - 1) / width, tasks = context.num_threads() < 1 ? 1 : context.num_threads();
  const int64_t each = k * (width + kProductRows);
  const uint64_t bytes = static_cast<uint64_t>(tasks) * static_cast<uint64_t>(each) * sizeof(Sum);
  if (k <= 0 || bytes + 64 > context.temp_available()) return false;
  Sum* memory = context.allocate_temp_array<Sum>(static_cast<size_t>(tasks * each));
  if (!memory) return true;
  const int64_t items = batch * panels;
  context.parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      Sum* const right = memory + task * each;
      Sum* const left = right + k * width;
      for (int64_t item = items * task / tasks; item < items * (task + 1) / tasks; ++item) {
        const int64_t index = item / panels, column = item % panels * width;
        const int64_t columns = n - column < width ? n - column : width;
        for (int64_t i = 0; i < k; ++i)
          for (int64_t j = 0; j < width; ++j) right[i * width + j] = j < columns ? b(index, i, column + j) : Sum(0);
        for (int64_t row = 0; row < m; row += kProductRows) {
          const int64_t rows = m - row < kProductRows ? m - row : kProductRows;
          for (int64_t i = 0; i < k; ++i)
            for (int64_t r = 0; r < kProductRows; ++r)
              left[i * kProductRows + r] = r < rows ? a(index, row + r, i) : Sum(0);
          Sum sums[kProductRows * kMostColumns];
          tile(left, right, k, sums);
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t j = 0; j < columns; ++j) store(index, row + r, column + j, sums[r * width + j]);
        }
      }
    }
  });
  return true;
}

}  // namespace wick
