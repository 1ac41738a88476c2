// Factors of symmetric and Hermitian matrices that need not be definite, and solves with them.
#include "runtime/kernels/linear_algebra/dense.h"

namespace wick {
namespace dense {
namespace {

template <typename T>
void swap(T& x, T& y) {
  const T kept = x;
  x = y;
  y = kept;
}

/// The lower triangle of a matrix that equals its transpose or, if `hermitian`, its adjoint.
template <typename T>
struct Lower {
  T* a;
  int64_t n;
  bool hermitian;

  T& at(int64_t i, int64_t j) const { return a[i * n + j]; }
  /// The element on the other side of the diagonal.
  T mirrored(T x) const { return hermitian ? conjugate(x) : x; }
  /// An element of the diagonal, whose imaginary part does not count in a Hermitian matrix.
  T diagonal(T x) const { return hermitian ? T(real_part(x)) : x; }

  /// The first of rows [from, to) whose element in column j is largest; `from` if there is none.
  int64_t largest_in_column(int64_t j, int64_t from, int64_t to) const {
    int64_t best = from;
    for (int64_t i = from + 1; i < to; ++i) best = pivot_size(at(i, j)) > pivot_size(at(best, j)) ? i : best;
    return best;
  }
  /// The magnitude of the largest element in row i of the matrix [k.., k..], without its diagonal.
  double largest_in_row(int64_t i, int64_t k) const {
    double largest = 0;
    for (int64_t j = k; j < n; ++j) {
      const double size = j == i ? 0 : pivot_size(j < i ? at(i, j) : at(j, i));
      largest = size > largest ? size : largest;
    }
    return largest;
  }
  /// Exchanges rows and columns i < j of the matrix [k.., k..]; i is k or k + 1.
  void exchange(int64_t k, int64_t i, int64_t j) const {
    for (int64_t r = j + 1; r < n; ++r) swap(at(r, i), at(r, j));
    for (int64_t r = i + 1; r < j; ++r) {
      const T kept = mirrored(at(r, i));
      at(r, i) = mirrored(at(j, r));
      at(j, r) = kept;
    }
    at(j, i) = mirrored(at(j, i));
    swap(at(i, i), at(j, j));
    if (i > k) swap(at(i, k), at(j, k));
  }
  /// Makes column k that of L, and subtracts its part of the product from the rest of the matrix.
  void eliminate_one(int64_t k) const {
    const T d = at(k, k);
    for (int64_t j = k + 1; j < n; ++j) {
      const T factor = at(j, k) / d;
      for (int64_t i = j; i < n; ++i) at(i, j) -= at(i, k) * mirrored(factor);
      at(j, j) = diagonal(at(j, j));
    }
    for (int64_t j = k + 1; j < n; ++j) at(j, k) = at(j, k) / d;
  }
  /// The same for columns k and k + 1.
  void eliminate_two(int64_t k) const {
    const T c = at(k + 1, k), first = at(k, k) / mirrored(c), second = at(k + 1, k + 1) / c;
    const T scale = first * second - T(1);
    for (int64_t j = k + 2; j < n; ++j) {
      const T x = at(j, k), y = at(j, k + 1);
      const T left = (second * x - y) / scale / mirrored(c), right = (first * y - x) / scale / c;
      for (int64_t i = j; i < n; ++i) at(i, j) -= at(i, k) * mirrored(left) + at(i, k + 1) * mirrored(right);
      at(j, k) = left;
      at(j, k + 1) = right;
      at(j, j) = diagonal(at(j, j));
    }
  }

  struct Pivot {
    int64_t row;
    bool is_two;  // a block of two rows
  };
  Pivot choose(int64_t k, double own, double below, int64_t row) const {
    const double alpha = (1 + math::sqrt(17.0)) / 8;
    if (own >= alpha * below) return {k, false};
    const double rest = largest_in_row(row, k);
    if (own >= alpha * below * (below / rest)) return {k, false};
    return {row, !(pivot_size(diagonal(at(row, row))) >= alpha * rest)};
  }
};

}  // namespace

template <typename T>
int64_t ldl(T* a, int64_t n, bool hermitian, int32_t* pivots) {
  const Lower<T> lower{a, n, hermitian};
  int64_t info = 0;
  for (int64_t i = 0; i < n; ++i) {
    lower.at(i, i) = lower.diagonal(lower.at(i, i));
    for (int64_t j = i + 1; j < n; ++j) a[i * n + j] = T(0);
  }
  for (int64_t k = 0; k < n;) {
    const double own = pivot_size(lower.at(k, k));
    const int64_t row = lower.largest_in_column(k, k + 1, n);
    const double below = k + 1 < n ? pivot_size(lower.at(row, k)) : 0;
    if ((own == 0 && below == 0) || own != own) {
      info = info ? info : k + 1;
      pivots[k] = static_cast<int32_t>(k + 1);
      ++k;
      continue;
    }
    const auto pivot = lower.choose(k, own, below, row);
    const int64_t last = pivot.is_two ? k + 1 : k;
    if (pivot.row != last) lower.exchange(k, last, pivot.row);
    if (pivot.is_two)
      lower.eliminate_two(k);
    else
      lower.eliminate_one(k);
    const auto number = static_cast<int32_t>(pivot.row + 1);
    for (; k <= last; ++k) pivots[k] = pivot.is_two ? -number : number;
  }
  return info;
}

bool ldl_pivots_fit(const int32_t* pivots, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    const int64_t row = pivots[k] < 0 ? -static_cast<int64_t>(pivots[k]) : pivots[k];
    if (row < 1 || row > n) return false;
    if (pivots[k] > 0) continue;
    if (k + 1 == n || pivots[k + 1] >= 0) return false;
    ++k;
  }
  return true;
}

template <typename T>
void ldl_solve(const T* ld, const int32_t* pivots, int64_t n, bool hermitian, T* b, int64_t columns) {
  const auto mirrored = [&](T x) { return hermitian ? conjugate(x) : x; };
  const auto exchange = [&](int64_t i, int32_t pivot) {
    const int64_t j = (pivot < 0 ? -static_cast<int64_t>(pivot) : pivot) - 1;
    for (int64_t c = 0; c < columns && i != j; ++c) swap(b[i * columns + c], b[j * columns + c]);
  };
  // Subtracts `factor` times row j from row i.
  const auto subtract = [&](int64_t i, int64_t j, T factor) {
    for (int64_t c = 0; c < columns; ++c) b[i * columns + c] -= factor * b[j * columns + c];
  };
  for (int64_t k = 0; k < n; ++k) {
    const int64_t last = pivots[k] < 0 ? k + 1 : k;
    exchange(last, pivots[k]);
    for (int64_t i = last + 1; i < n; ++i)
      for (int64_t j = k; j <= last; ++j) subtract(i, j, ld[i * n + j]);
    T *upper = b + k * columns, *below = b + last * columns;
    if (last == k) {
      const T diagonal = hermitian ? T(real_part(ld[k * n + k])) : ld[k * n + k];
      for (int64_t c = 0; c < columns; ++c) upper[c] = upper[c] / diagonal;
      continue;
    }
    const T side = ld[last * n + k], first = ld[k * n + k] / mirrored(side), second = ld[last * n + last] / side;
    const T scale = first * second - T(1);
    for (int64_t c = 0; c < columns; ++c) {
      const T x = upper[c] / mirrored(side), y = below[c] / side;
      upper[c] = (second * x - y) / scale;
      below[c] = (first * y - x) / scale;
    }
    k = last;
  }
  for (int64_t k = n; k-- > 0;) {
    const int64_t last = k, begin = pivots[k] < 0 ? k - 1 : k;
    for (int64_t j = begin; j <= last; ++j)
      for (int64_t i = last + 1; i < n; ++i) subtract(j, i, mirrored(ld[i * n + j]));
    exchange(last, pivots[k]);
    k = begin;
  }
}

template int64_t ldl(double*, int64_t, bool, int32_t*);
template int64_t ldl(Complex*, int64_t, bool, int32_t*);
template void ldl_solve(const double*, const int32_t*, int64_t, bool, double*, int64_t);
template void ldl_solve(const Complex*, const int32_t*, int64_t, bool, Complex*, int64_t);

}  // namespace dense
}  // namespace wick
