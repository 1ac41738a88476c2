// Part of Wick's build of XNNPACK, included in its operator-run.c; edits.cmake puts it there.
//
// The library computes a product a few rows at a time and goes through all packed weights for each of them. Weights
// that no second-level cache holds then come from farther away every time. Here the columns of the result are outermost
// instead: a slice of the weights is used for all rows before the next one. Each element is computed by the same kernel
// in the same order, so that the numbers are the same to the last bit.

#include <stdbool.h>

// Packed weights of this size or less stay in the cache beside the rows.
#define WICK_CACHED_WEIGHTS_BYTES ((size_t)1 << 20)
// Of a slice, about: half of a small second-level cache, the rest is for the rows.
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

// Runs a step of an operator if it is a product with large weights.
static bool wick_run_columns_first(xnn_operator_t op, const struct compute_parameters* step, pthreadpool_t threadpool,
                                   uint32_t flags) {
  struct wick_columns_first work = {.context = (const void*)((uintptr_t)&op->context + step->context_offset)};
  const size_t* range = step->range;
  size_t images = 1;
  bool is_direct;
  if (step->type == xnn_parallelization_type_2d_tile_2d) {
    work.task_2d = step->task_2d_tile_2d;
    is_direct = work.task_2d == (pthreadpool_task_2d_tile_2d_t)xnn_compute_gemm ||
                work.task_2d == (pthreadpool_task_2d_tile_2d_t)xnn_compute_dqgemm;
    if (!is_direct && work.task_2d != (pthreadpool_task_2d_tile_2d_t)xnn_compute_igemm &&
        work.task_2d != (pthreadpool_task_2d_tile_2d_t)xnn_compute_dqigemm) {
      return false;
    }
  } else if (step->type == xnn_parallelization_type_3d_tile_2d) {
    work.task_3d = step->task_3d_tile_2d;
    is_direct = false;
    if (work.task_3d != (pthreadpool_task_3d_tile_2d_t)xnn_compute_batch_igemm &&
        work.task_3d != (pthreadpool_task_3d_tile_2d_t)xnn_compute_batch_dqigemm) {
      return false;
    }
    images = *range++;
  } else {
    return false;
  }

  const struct gemm_context* direct = work.context;
  const struct igemm_context* indirect = work.context;
  const size_t column_bytes = is_direct ? direct->w_stride : indirect->w_stride;
  const size_t kernel_columns =
      is_direct ? direct->cn_stride >> direct->log2_csize : indirect->cn_stride >> indirect->log2_csize;
  const size_t rows = range[0], row_tile = step->tile[0];
  const size_t row_tiles = images * divide_round_up(rows, row_tile);
  work.columns = range[1];
  if (row_tiles < 2 || work.columns * column_bytes <= WICK_CACHED_WEIGHTS_BYTES) {
    return false;
  }
  // Enough parts for the threads, as the library has it elsewhere.
  const size_t parts = 5 * pthreadpool_get_threads_count(threadpool);
  const size_t fair = divide_round_up(work.columns * row_tiles, parts);
  work.slice = round_up(max(min(WICK_WEIGHTS_SLICE_BYTES / column_bytes, fair), 1), kernel_columns);
  pthreadpool_parallelize_3d_tile_1d(threadpool, (pthreadpool_task_3d_tile_1d_t)wick_compute_slice, &work,
                                     divide_round_up(work.columns, work.slice), images, rows, row_tile, flags);
  return true;
}
