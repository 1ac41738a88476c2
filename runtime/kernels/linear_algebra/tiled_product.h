// C = A B in double or in integers that wrap, over operands that are packed tile by tile. C++17, freestanding.
#pragma once
#include <complex>
#include <type_traits>

#include "runtime/kernels/hot/hot_kernels.h"
#include "wick/kernel.h"

namespace wick {

/// The type in which elements of type T are summed. Integers wrap: the low bits of a sum do not depend on its width.
template <typename T, typename = void>
struct ProductSumOf {
  using type = std::complex<double>;
};
template <typename T>
struct ProductSumOf<T, std::enable_if_t<std::is_arithmetic<T>::value>> {
  using type =
      std::conditional_t<!std::is_integral<T>::value, T, std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>>;
};
template <typename T>
using ProductSum = typename ProductSumOf<T>::type;

inline auto product_tile(const HotKernels& kernels, double) { return kernels.tile_f64; }
inline auto product_tile(const HotKernels& kernels, uint32_t) { return kernels.tile_u32; }
inline auto product_tile(const HotKernels& kernels, uint64_t) { return kernels.tile_u64; }

/// Rows of tile `t` of m.
inline int64_t rows_of_tile(int64_t m, int64_t t) {
  return m - t * kProductRows < kProductRows ? m - t * kProductRows : kProductRows;
}

/// How `batch` products of `tiles` by `panels` tiles are computed in rounds. The operands of a round are packed first.
struct TiledRounds {
  int64_t tasks = 1;
  int64_t indices = 1, tiles = 0;  // of A in a round; one of the two is 1 or everything. tiles is 0 if there is no room
};

/// `lines`: the number of rows or columns of k numbers for which there is room.
inline TiledRounds plan_tiled_rounds(int64_t threads, int64_t batch, int64_t tiles, int64_t panels, int64_t k,
                                     int64_t width, int64_t lines) {
  constexpr double kTaskWork = 16384;  // tiles * k that are worth a task
  constexpr int64_t kTilesPerTask = 4;
  const double item_work = static_cast<double>(panels * tiles) * static_cast<double>(k);
  const double most_tasks = static_cast<double>(batch) * item_work / kTaskWork + 1;
  TiledRounds r;
  r.tasks = static_cast<double>(threads) < most_tasks ? threads : static_cast<int64_t>(most_tasks);
  if (r.tasks < 1) r.tasks = 1;
  // A may take as much memory as the panels of B before the number of tasks is reduced.
  const auto wanted = [&] {
    const int64_t right = r.tasks * width, left = tiles * kProductRows;
    return right + (left < right ? left : right);
  };
  while (r.tasks > 1 && wanted() > lines) r.tasks /= 2;
  const int64_t rest = (lines - r.tasks * width) / kProductRows;
  if (rest < tiles) {
    r.tiles = rest < 0 ? 0 : rest;
    return r;
  }
  r.tiles = tiles;
  const double by_work = static_cast<double>(r.tasks) * kTaskWork / item_work;
  const double by_tiles = static_cast<double>(r.tasks * kTilesPerTask) / static_cast<double>(panels * tiles);
  const double most = static_cast<double>(rest / tiles < batch ? rest / tiles : batch);
  const double indices = r.tasks == 1 ? 1 : by_work < by_tiles ? by_tiles : by_work;
  r.indices = indices < 1 ? 1 : static_cast<int64_t>(indices < most ? indices : most);
  return r;
}

/// The products of multiply_tiled.
template <typename Sum, typename PackA, typename PackB, typename Store>
struct TiledProduct {
  static constexpr int64_t kSumBytes = static_cast<int64_t>(sizeof(Sum));
  static constexpr int64_t kMostColumns = kMostProductColumns * static_cast<int64_t>(sizeof(float)) / kSumBytes;
  KernelContext& context;
  int64_t batch, m, n, k;
  const PackA& pack_a;
  const PackB& pack_b;
  const Store& store;
  const HotKernels& kernels = hot(context.isa());
  const int64_t width = kernels.gemm_columns * static_cast<int64_t>(sizeof(float)) / kSumBytes;
  const int64_t panels = (n + width - 1) / width, tiles = (m + kProductRows - 1) / kProductRows;

  int64_t columns_of(int64_t panel) const { return n - panel * width < width ? n - panel * width : width; }
  void pack_tile(int64_t index, int64_t t, int64_t first, int64_t count, Sum* out) const {
    pack_a(index, t * kProductRows, rows_of_tile(m, t), first, count, out);
  }
  void pack_panel(int64_t index, int64_t panel, int64_t first, int64_t count, Sum* out) const {
    pack_b(index, panel * width, columns_of(panel), width, first, count, out);
  }
  void store_tile(int64_t index, int64_t t, int64_t panel, const Sum* sums) const {
    for (int64_t r = 0; r < rows_of_tile(m, t); ++r)
      for (int64_t j = 0; j < columns_of(panel); ++j)
        store(index, t * kProductRows + r, panel * width + j, sums[r * width + j]);
  }

  /// Computes without temp memory: blocks of k on the stack.
  void run_without_memory() const {
    constexpr int64_t kBlock = 16;
    context.parallel_for(batch * panels * tiles, 4096 / (k + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t t = item % tiles, panel = item / tiles % panels, index = item / tiles / panels;
        Sum sums[kProductRows * kMostColumns] = {}, left[kBlock * kProductRows], right[kBlock * kMostColumns];
        for (int64_t first = 0; first < k; first += kBlock) {
          const int64_t count = k - first < kBlock ? k - first : kBlock;
          pack_tile(index, t, first, count, left);
          pack_panel(index, panel, first, count, right);
          product_tile(kernels, Sum())(left, right, count, sums);
        }
        store_tile(index, t, panel, sums);
      }
    });
  }

  /// A [first_index + indices, first_tile + count] times everything.
  void run_round(int64_t tasks, int64_t first_index, int64_t indices, int64_t first_tile, int64_t count, Sum* left,
                 Sum* rights) const {
    context.parallel_for(indices * count, 4096 / k + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        pack_tile(first_index + i / count, first_tile + i % count, 0, k, left + i * kProductRows * k);
    });
    const auto tile = product_tile(kernels, Sum());
    const int64_t items = indices * panels * count;
    context.parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        Sum* const right = rights + task * width * k;
        int64_t packed = -1;
        for (int64_t item = items * task / tasks; item < items * (task + 1) / tasks; ++item) {
          const int64_t i = item % count, panel = item / count % panels, local = item / count / panels;
          if (packed != item / count) pack_panel(first_index + local, panel, 0, k, right);
          packed = item / count;
          Sum sums[kProductRows * kMostColumns] = {};
          tile(left + (local * count + i) * kProductRows * k, right, k, sums);
          store_tile(first_index + local, first_tile + i, panel, sums);
        }
      }
    });
  }

  void run() const {
    const int64_t line_bytes = k > 0 ? k * kSumBytes : kSumBytes;
    const int64_t lines = static_cast<int64_t>(context.temp_available()) / line_bytes;
    const TiledRounds rounds = plan_tiled_rounds(context.num_threads(), batch, tiles, panels, k, width, lines);
    if (k == 0 || rounds.tiles == 0) return run_without_memory();
    const int64_t left_lines = rounds.indices * rounds.tiles * kProductRows;
    Sum* const left = context.allocate_temp_array<Sum>(static_cast<size_t>((left_lines + rounds.tasks * width) * k));
    if (!left) return;
    for (int64_t index = 0; index < batch; index += rounds.indices)
      for (int64_t t = 0; t < tiles; t += rounds.tiles)
        run_round(rounds.tasks, index, batch - index < rounds.indices ? batch - index : rounds.indices, t,
                  tiles - t < rounds.tiles ? tiles - t : rounds.tiles, left, left + left_lines * k);
  }
};

/// `batch` products of [m, k] and [k, n]. Each sum is that of one tile function over ascending k, whatever the number
/// of threads and the temp memory.
///   pack_a(index, row, rows, first, count, out)    out[i * kProductRows + r] = A[row + r, first + i], 0 for r >= rows
///   pack_b(index, column, columns, width, first, count, out)    out[i * width + j] = B[first + i, column + j], 0 for
///                                                               j >= columns
///   store(index, row, column, sum)       takes the results
/// i < count; first and count are even for even k.
template <typename Sum, typename PackA, typename PackB, typename Store>
void multiply_tiled(KernelContext& context, int64_t batch, int64_t m, int64_t n, int64_t k, const PackA& pack_a,
                    const PackB& pack_b, const Store& store) {
  TiledProduct<Sum, PackA, PackB, Store>{context, batch, m, n, k, pack_a, pack_b, store}.run();
}

}  // namespace wick
