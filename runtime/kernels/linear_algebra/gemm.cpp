#include "runtime/kernels/linear_algebra/gemm.h"

#include <string.h>

namespace wick {
namespace {

constexpr int64_t kRowBlock = 240, kColumnBlock = 512, kDepthBlock = 256;
constexpr int64_t kBlockedRows = 96, kBlockedColumns = 256;

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }
int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

void copy_rows(const float* source, int64_t row_stride, int64_t rows, int64_t k_count, float* out) {
  for (int64_t r = 0; r < rows; ++r)
    memcpy(out + r * k_count, source + r * row_stride, static_cast<size_t>(k_count) * 4);
}

/// Rows a large power of two apart fall into few cache sets.
bool rows_collide(const GemmProblem& p) { return p.a_row_stride % 512 == 0; }

struct Blocks {
  float* a;
  float* b;
  float* c;
};

Blocks blocks_of(const GemmScratch& s, int64_t task, int64_t tile_columns) {
  float* a = s.memory + task * s.floats_per_task;
  float* b = a + s.row_block * s.k_block;
  return {a, b, b + round_up(s.column_block, tile_columns) * s.k_block};
}

}  // namespace

GemmScratch make_gemm_scratch(KernelContext& context, int64_t m, int64_t n, int64_t k, bool blocked_c) {
  const HotKernels& kernels = hot(context.isa());
  GemmScratch s;
  s.tasks = context.num_threads() < 1 ? 1 : context.num_threads();
  s.row_block = smaller(m < 1 ? 1 : m, blocked_c ? kBlockedRows : kRowBlock);
  s.column_block = smaller(n < 1 ? 1 : n, blocked_c ? kBlockedColumns : kColumnBlock);
  s.k_block = smaller(k < 1 ? 1 : k, kDepthBlock);
  const auto floats = [&] {
    return s.row_block * s.k_block + round_up(s.column_block, kernels.gemm_columns) * s.k_block +
           (blocked_c ? s.row_block * s.column_block : 0);
  };
  const size_t available = context.temp_available();
  const auto fits = [&] { return static_cast<uint64_t>(s.tasks * round_up(floats(), 16)) * 4 + 64 <= available; };
  while (!fits() && s.tasks > 1) s.tasks = (s.tasks + 1) / 2;
  while (!fits() && s.column_block > kernels.gemm_columns)
    s.column_block = round_up(s.column_block / 2, kernels.gemm_columns);
  while (!fits() && s.row_block > 1) s.row_block /= 2;
  while (!fits() && s.k_block > 1) s.k_block /= 2;
  s.floats_per_task = round_up(floats(), 16);
  s.memory = context.allocate_temp_array<float>(static_cast<size_t>(s.tasks * s.floats_per_task));
  return s;
}

GemmSplit split_gemm(const HotKernels& kernels, int64_t batch, int64_t m, int64_t n, int64_t tasks) {
  GemmSplit split = {m, n, 1, 1};
  if (tasks <= 1 || batch >= 4 * tasks) return split;
  const int64_t wanted = (2 * tasks + batch - 1) / batch;
  const int64_t panels = (n + kernels.gemm_columns - 1) / kernels.gemm_columns;
  const int64_t tiles = (m + kernels.gemm_rows - 1) / kernels.gemm_rows;
  // Columns first: each thread then packs only its own part of B.
  const int64_t column_chunks = smaller(wanted, panels);
  const int64_t row_chunks =
      column_chunks * 2 > wanted ? 1 : smaller((wanted + column_chunks - 1) / column_chunks, tiles);
  split.column_chunk = (panels + column_chunks - 1) / column_chunks * kernels.gemm_columns;
  split.row_chunk = (tiles + row_chunks - 1) / row_chunks * kernels.gemm_rows;
  split.column_chunks = (n + split.column_chunk - 1) / split.column_chunk;
  split.row_chunks = (m + split.row_chunk - 1) / split.row_chunk;
  return split;
}

void run_gemm_part(const HotKernels& kernels, const GemmProblem& p, const GemmScratch& s, int64_t task,
                   int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
  const Blocks blocks = blocks_of(s, task, kernels.gemm_columns);
  // With store_c a block of C must be kept until k is exhausted, so rows and columns are the outer loops.
  const int64_t row_step = p.store_c ? s.row_block : row_end - row_begin;
  for (int64_t column = column_begin; column < column_end; column += s.column_block) {
    const int64_t columns = smaller(s.column_block, column_end - column);
    const bool reused = columns > 3 * kernels.gemm_columns;
    for (int64_t outer = row_begin; outer < row_end; outer += row_step) {
      const int64_t outer_end = smaller(outer + row_step, row_end);
      for (int64_t k = 0; k < p.k || k == 0; k += s.k_block) {
        const int64_t k_count = smaller(s.k_block, p.k - k);
        if (k_count > 0) p.pack_b(p.b_state, kernels, k, k_count, column, columns, blocks.b);
        for (int64_t row = outer; row < outer_end; row += s.row_block) {
          const int64_t rows = smaller(s.row_block, outer_end - row);
          GemmBlock g = {};
          g.a = blocks.a;
          g.a_row_stride = k_count;
          if (k_count > 0 && p.pack_a) {
            p.pack_a(p.a_state, row, rows, k, k_count, blocks.a);
          } else if (reused && rows_collide(p)) {
            copy_rows(p.a + row * p.a_row_stride + k, p.a_row_stride, rows, k_count, blocks.a);
          } else if (k_count > 0) {
            g.a = p.a + row * p.a_row_stride + k;
            g.a_row_stride = p.a_row_stride;
          }
          g.b = blocks.b;
          g.c = p.store_c ? blocks.c : p.c + row * p.c_row_stride + column * p.c_column_stride;
          g.c_row_stride = p.store_c ? columns : p.c_row_stride;
          g.c_column_stride = p.store_c ? 1 : p.c_column_stride;
          g.m = rows;
          g.n = columns;
          g.k = k_count;
          g.accumulate = k > 0;
          g.finish = k + s.k_block >= p.k;
          g.alpha = p.alpha;
          g.row_bias = p.row_bias ? p.row_bias + row : nullptr;
          g.column_bias = p.column_bias ? p.column_bias + column : nullptr;
          g.lower = p.lower;
          g.upper = p.upper;
          kernels.gemm_block(g);
          if (g.finish && p.store_c) p.store_c(p.c_state, row, rows, column, columns, blocks.c);
        }
      }
    }
  }
}

}  // namespace wick
