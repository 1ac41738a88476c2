// C = alpha A B + bias in f32 over operands that can be packed block by block, split over threads. C++17, freestanding.
#pragma once
#include <math.h>

#include "runtime/kernels/hot/hot_kernels.h"
#include "wick/kernel.h"

namespace wick {

/// One matmul. A is read in place when `pack_a` is null, else packed into scratch; B is always packed.
struct GemmProblem {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;  // [m, k], k contiguous
  int64_t a_row_stride = 0;
  /// Writes A[row .. row + rows, k .. k + k_count] row-major, rows k_count apart.
  void (*pack_a)(const void* state, int64_t row, int64_t rows, int64_t k, int64_t k_count, float* out) = nullptr;
  const void* a_state = nullptr;
  /// Writes B[k .. k + k_count, column .. column + columns] in the panel format of HotKernels::pack_strided.
  void (*pack_b)(const void* state, const HotKernels& kernels, int64_t k, int64_t k_count, int64_t column,
                 int64_t columns, float* out) = nullptr;
  const void* b_state = nullptr;
  float* c = nullptr;
  int64_t c_row_stride = 0, c_column_stride = 1;
  /// When set, C is not written; finished blocks of f32 go here: `block` is row-major, rows `columns` apart.
  void (*store_c)(const void* state, int64_t row, int64_t rows, int64_t column, int64_t columns,
                  const float* block) = nullptr;
  const void* c_state = nullptr;
  float alpha = 1.0f;
  const float* row_bias = nullptr;     // m values
  const float* column_bias = nullptr;  // n values
  float lower = -INFINITY, upper = INFINITY;
};

/// Block sizes and memory for `tasks` concurrent runs.
struct GemmScratch {
  int64_t tasks = 0, row_block = 0, column_block = 0, k_block = 0;
  int64_t floats_per_task = 0;
  float* memory = nullptr;
};

/// Takes at most 1.2 MiB per thread from `context`, less when m, n, k or the temp memory are small. memory is null (and
/// the context failed) if there is not even room for one panel. `blocked_c`: the problem has store_c.
GemmScratch make_gemm_scratch(KernelContext& context, int64_t m, int64_t n, int64_t k, bool blocked_c);

/// Rows [row_begin, row_end) and columns [column_begin, column_end) of C, on this thread, with the scratch of `task`.
void run_gemm_part(const HotKernels& kernels, const GemmProblem& problem, const GemmScratch& scratch, int64_t task,
                   int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end);

/// How a batch of equal products is cut into work items.
struct GemmSplit {
  int64_t row_chunk, column_chunk, row_chunks, column_chunks;
};
GemmSplit split_gemm(const HotKernels& kernels, int64_t batch, int64_t m, int64_t n, int64_t tasks);

/// Runs `batch` products of m x n. make(index, state) returns the index-th GemmProblem; it is called from any thread
/// and may keep what the problem's callbacks need in `state`, which lives as long as the problem.
template <typename State, typename Make>
void run_gemm_batch(KernelContext& context, int64_t batch, int64_t m, int64_t n, const GemmScratch& scratch,
                    Make&& make) {
  const HotKernels& kernels = hot(context.isa());
  const GemmSplit split = split_gemm(kernels, batch, m, n, scratch.tasks);
  const int64_t items = batch * split.row_chunks * split.column_chunks;
  context.parallel_for(scratch.tasks, 1, [&](int64_t task_begin, int64_t task_end) {
    for (int64_t task = task_begin; task < task_end; ++task) {
      for (int64_t item = items * task / scratch.tasks; item < items * (task + 1) / scratch.tasks; ++item) {
        const int64_t row = item % split.row_chunks * split.row_chunk;
        const int64_t column = item / split.row_chunks % split.column_chunks * split.column_chunk;
        State state;
        const GemmProblem problem = make(item / split.row_chunks / split.column_chunks, state);
        run_gemm_part(kernels, problem, scratch, task, row, row + split.row_chunk < m ? row + split.row_chunk : m,
                      column, column + split.column_chunk < n ? column + split.column_chunk : n);
      }
    }
  });
}

}  // namespace wick
