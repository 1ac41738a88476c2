// Part of Wick's build of XNNPACK, included in its operator-run.c; edits.cmake puts it there.
//
// The library computes a matmul a few rows at a time and goes through all packed weights for each tile of rows. If the
// weights do not fit the second-level cache, they are read from slower memory for each tile. Here the columns of the
// result are the outermost loop instead: a slice of the weights is used for all rows before the next slice. The same
// kernel computes each element in the same order, so results are the same to the bit.

#include <stdbool.h>

// Packed weights of at most this size stay in the cache beside the rows.
#define WICK_CACHED_WEIGHTS_BYTES ((size_t)1 << 20)
// Approximate size of a slice: half of a small second-level cache. The other half is for the rows.
#define WICK_WEIGHTS_SLICE_BYTES ((size_t)1 << 18)

struct wick_columns_first {
  const void* context;
  pthreadpool_task_2d_tile_2d_t task_2d;  // rows, columns
  pthreadpool_task_3d_tile_2d_t task_3d;  // images, rows, columns; NULL if task_2d is not
  size_t columns, slice;
};

static void wick_compute_slice(struct wick_columns_first* work, size_t index, size_t image, size_t row, size_t rows) {
  const size_t column = index * work->slice;
  const size_t columns = min(work->columns - column, work->slice);
  if (work->task_2d != NULL) {
    work->task_2d((void*)work->context, row, column, rows, columns);
  } else {
    work->task_3d((void*)work->context, image, row, column, rows, columns);
  }
}

// Runs a step of an operator if it is a matmul with large weights. Returns false, and does nothing, for all other
// steps.
static bool wick_run_columns_first(xnn_operator_t op, const struct compute_parameters* step, pthreadpool_t threadpool,
                                   uint32_t flags) {
  const bool is_3d = step->type == xnn_parallelization_type_3d_tile_2d;
  if (!is_3d && step->type != xnn_parallelization_type_2d_tile_2d) {
    return false;
  }
  const pthreadpool_task_2d_tile_2d_t task_2d = is_3d ? NULL : step->task_2d_tile_2d;
  const pthreadpool_task_3d_tile_2d_t task_3d = is_3d ? step->task_3d_tile_2d : NULL;
  const bool is_direct = task_2d == (pthreadpool_task_2d_tile_2d_t)xnn_compute_gemm ||
                         task_2d == (pthreadpool_task_2d_tile_2d_t)xnn_compute_dqgemm;
  const bool is_indirect = task_2d == (pthreadpool_task_2d_tile_2d_t)xnn_compute_igemm ||
                           task_2d == (pthreadpool_task_2d_tile_2d_t)xnn_compute_dqigemm ||
                           task_3d == (pthreadpool_task_3d_tile_2d_t)xnn_compute_batch_igemm ||
                           task_3d == (pthreadpool_task_3d_tile_2d_t)xnn_compute_batch_dqigemm;
  if (!is_direct && !is_indirect) {
    return false;
  }
  const void* context = (const void*)((uintptr_t)&op->context + step->context_offset);
  const struct gemm_context* direct = context;
  const struct igemm_context* indirect = context;
  const size_t column_bytes = is_direct ? direct->w_stride : indirect->w_stride;
  const size_t images = is_3d ? step->range[0] : 1;
  const size_t rows = step->range[is_3d], columns = step->range[is_3d + 1], row_tile = step->tile[0];
  if (columns * column_bytes <= WICK_CACHED_WEIGHTS_BYTES || images * divide_round_up(rows, row_tile) < 2) {
    return false;
  }
  // Five parts for each thread, as elsewhere in the library.
  const size_t parts = 5 * pthreadpool_get_threads_count(threadpool);
  const size_t fair = divide_round_up(columns * images * divide_round_up(rows, row_tile), parts);
  const size_t kernel_columns =
      is_direct ? direct->cn_stride >> direct->log2_csize : indirect->cn_stride >> indirect->log2_csize;
  const size_t slice = round_up(max(min(WICK_WEIGHTS_SLICE_BYTES / column_bytes, fair), 1), kernel_columns);
  struct wick_columns_first work = {
      .context = context, .task_2d = task_2d, .task_3d = task_3d, .columns = columns, .slice = slice};
  pthreadpool_parallelize_3d_tile_1d(threadpool, (pthreadpool_task_3d_tile_1d_t)wick_compute_slice, &work,
                                     divide_round_up(columns, slice), images, rows, row_tile, flags);
  return true;
}
