// Kernel vocabulary: factors of a matrix and systems of equations, computed by the threads of a block.
namespace wick_text {
namespace {

/// A matrix in memory: element (i, j) is at i * row + j * column.
template <typename T>
struct MatrixView {
  T* data;
  i64 row, column;

  WICK_FUNCTION T& operator()(i64 i, i64 j) const { return data[i * row + j * column]; }
};

/// P A = L U in place; the ones on L's diagonal are not stored. Pivots count from 1, as LAPACK's. `info`: the number of
/// the first diagonal element that is 0, counted from 1; 0 if there is none. `shared` has room for one value per warp.
template <u32 kThreads>
WICK_FUNCTION void factor_lu(f64* data, i32* pivots, i32* info, Positioned<f64>* shared, i64 rows, i64 columns,
                             i64 pivot) {
  const MatrixView<f64> a = {data, columns, 1};
  const i64 thread = static_cast<i64>(thread_x()), count = rows < columns ? rows : columns;
  i32 bad = 0;
  for (i64 k = 0; k < count; ++k) {
    i64 best = k;
    if (pivot != 0) {
      // A NaN on the diagonal ranks above all numbers, any other NaN below them.
      Positioned<f64> largest = {-1.0, -1};
      for (i64 i = k + thread; i < rows; i += kThreads) {
        const f64 size = op_abs(a(i, k));
        const f64 rank = isnan(size) ? (i == k ? infinity(0.0) : -1.0) : size;
        if (largest.position < 0 || rank > largest.value) largest = {rank, i};
      }
      largest = block_reduce<ArgMaximum, kThreads>(largest, shared);
      best = largest.position;
    }
    if (best != k) {
      for (i64 j = thread; j < columns; j += kThreads) {
        const f64 kept = a(k, j);
        a(k, j) = a(best, j);
        a(best, j) = kept;
      }
    }
    if (thread == 0) pivots[k] = static_cast<i32>(best + 1);
    block_barrier();
    const f64 diagonal = a(k, k);
    if (diagonal == 0) {
      if (bad == 0) bad = static_cast<i32>(k + 1);
      continue;
    }
    for (i64 i = k + 1 + thread; i < rows; i += kThreads) a(i, k) /= diagonal;
    block_barrier();
    const i64 width = columns - k - 1, area = (rows - k - 1) * width;
    for (i64 e = thread; e < area; e += kThreads) {
      const i64 i = k + 1 + e / width, j = k + 1 + e % width;
      const f64 factor = a(i, k);
      if (factor != 0) a(i, j) -= factor * a(k, j);
    }
    block_barrier();
  }
  if (thread == 0) *info = bad;
}

/// A = L L^T in place. Reads the elements on and below the diagonal, and sets those above to 0. `info`: the size of the
/// first leading part of A that is not positive definite; 0 if there is none.
template <u32 kThreads>
WICK_FUNCTION void factor_cholesky(f64* data, i32* info, i64 n) {
  const MatrixView<f64> a = {data, n, 1};
  const i64 thread = static_cast<i64>(thread_x());
  i32 bad = 0;
  for (i64 k = 0; k < n; ++k) {
    const f64 diagonal = a(k, k), root = sqrt(diagonal);
    if (!(diagonal > 0) && bad == 0) bad = static_cast<i32>(k + 1);
    block_barrier();
    if (thread == 0) a(k, k) = root;
    for (i64 i = k + 1 + thread; i < n; i += kThreads) {
      a(i, k) /= root;
      a(k, i) = 0;
    }
    block_barrier();
    const i64 width = n - k - 1;
    for (i64 e = thread; e < width * width; e += kThreads) {
      const i64 i = k + 1 + e / width, j = k + 1 + e % width;
      if (j <= i) a(i, j) -= a(i, k) * a(j, k);
    }
    block_barrier();
  }
  if (thread == 0) *info = bad;
}

/// Solves A X = B for a triangular A, in place of B. `from_top`: A is lower triangular. `unit`: its diagonal is 1.
template <u32 kThreads>
WICK_FUNCTION void solve_triangle(MatrixView<const f64> a, i64 n, bool from_top, bool unit, MatrixView<f64> b,
                                  i64 count) {
  const i64 thread = static_cast<i64>(thread_x());
  for (i64 step = 0; step < n; ++step) {
    const i64 i = from_top ? step : n - 1 - step, left = n - 1 - step;
    for (i64 c = thread; c < count && !unit; c += kThreads) b(i, c) /= a(i, i);
    block_barrier();
    for (i64 e = thread; e < left * count; e += kThreads) {
      const i64 j = from_top ? i + 1 + e / count : i - 1 - e / count, c = e % count;
      b(j, c) -= a(j, i) * b(i, c);
    }
    block_barrier();
  }
}

/// The same. B is [n, count], or for X A = B (`left` is 0) [count, n].
template <u32 kThreads>
WICK_FUNCTION void solve_triangular(const f64* factor, f64* right, i64 n, i64 count, i64 upper, i64 left, i64 unit) {
  const MatrixView<const f64> a = {factor, left != 0 ? n : 1, left != 0 ? 1 : n};
  const MatrixView<f64> b = {right, left != 0 ? count : 1, left != 0 ? 1 : n};
  solve_triangle<kThreads>(a, n, (upper == 0) == (left != 0), unit != 0, b, count);
}

/// Swaps row i with row pivots[i] - 1, from the first to the last i, or `back`. Columns do not depend on each other.
template <u32 kThreads>
WICK_FUNCTION void swap_rows(const i32* pivots, i64 n, bool back, MatrixView<f64> b, i64 count) {
  for (i64 c = static_cast<i64>(thread_x()); c < count; c += kThreads) {
    for (i64 step = 0; step < n; ++step) {
      const i64 i = back ? n - 1 - step : step, other = pivots[i] - 1;
      const f64 kept = b(i, c);
      b(i, c) = b(other, c);
      b(other, c) = kept;
    }
  }
  block_barrier();
}

/// Solves A X = B from the LU factors of A, in place of B; X A = B if `left` is 0; with A transposed if `adjoint`.
template <u32 kThreads>
WICK_FUNCTION void solve_lu(const f64* factors, const i32* pivots, f64* right, i64 n, i64 count, i64 left,
                            i64 adjoint) {
  const MatrixView<f64> b = {right, left != 0 ? count : 1, left != 0 ? 1 : n};
  if ((adjoint != 0) == (left != 0)) {  // A^T = U^T L^T P
    const MatrixView<const f64> a = {factors, 1, n};
    solve_triangle<kThreads>(a, n, true, false, b, count);
    solve_triangle<kThreads>(a, n, false, true, b, count);
    return swap_rows<kThreads>(pivots, n, true, b, count);
  }
  const MatrixView<const f64> a = {factors, n, 1};
  swap_rows<kThreads>(pivots, n, false, b, count);
  solve_triangle<kThreads>(a, n, true, true, b, count);
  solve_triangle<kThreads>(a, n, false, false, b, count);
}

/// The permutation that the swaps make of the numbers 0 to n - 1.
template <u32 kThreads>
WICK_FUNCTION void order_of_swaps(const i32* pivots, i32* order, i64 count, i64 n) {
  for (i64 i = static_cast<i64>(thread_x()); i < n; i += kThreads) order[i] = static_cast<i32>(i);
  block_barrier();
  for (i64 i = 0; i < count && thread_x() == 0; ++i) {
    const i32 other = pivots[i] - 1, kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
}

}  // namespace
}  // namespace wick_text
