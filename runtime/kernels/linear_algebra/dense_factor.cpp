// LU, Cholesky and Householder factors, triangular solves, the matrix exponential.
#include "common/math/math.h"
#include "runtime/kernels/linear_algebra/dense.h"

namespace wick {
namespace dense {
namespace {

void swap_rows(double* a, int64_t columns, int64_t i, int64_t j) {
  if (i == j) return;
  for (int64_t c = 0; c < columns; ++c) {
    const double kept = a[i * columns + c];
    a[i * columns + c] = a[j * columns + c];
    a[j * columns + c] = kept;
  }
}

/// The exponent of the largest magnitude, within [-1000, 1000]; 0 if that is zero or not finite.
int largest_exponent(const double* x, int64_t count, int64_t stride) {
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double size = math::abs(x[i * stride]);
    largest = size > largest || size != size ? size : largest;
  }
  if (largest == 0 || !math::is_finite(largest)) return 0;
  const int exponent = static_cast<int>(math::bits_of(largest) >> 52) - 1023;
  return exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
}

}  // namespace

double length(const double* x, int64_t count, int64_t stride) {
  const int exponent = largest_exponent(x, count, stride);
  const double factor = math::scale_by_power_of_two(1, -exponent);
  double square = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double scaled = x[i * stride] * factor;
    square += scaled * scaled;
  }
  return math::scale_by_power_of_two(math::sqrt(square), exponent);
}

int scale_to_one(double* x, int64_t count) {
  const int exponent = largest_exponent(x, count, 1);
  const double factor = math::scale_by_power_of_two(1, -exponent);
  for (int64_t i = 0; i < count; ++i) x[i] *= factor;
  return exponent;
}

int64_t lu(double* a, int64_t m, int64_t n, bool pivot, int32_t* pivots) {
  int64_t info = 0;
  const int64_t count = m < n ? m : n;
  for (int64_t k = 0; k < count; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; pivot && i < m; ++i) {
      if (math::abs(a[i * n + k]) > math::abs(a[best * n + k])) best = i;
    }
    pivots[k] = static_cast<int32_t>(best + 1);
    swap_rows(a, n, k, best);
    const double diagonal = a[k * n + k];
    if (diagonal == 0) {
      info = info ? info : k + 1;
      continue;
    }
    for (int64_t i = k + 1; i < m; ++i) {
      const double factor = a[i * n + k] /= diagonal;
      if (factor == 0) continue;
      for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return info;
}

void solve_triangular(const double* a, int64_t n, Triangle triangle, double* b, int64_t k) {
  const bool from_top = triangle.upper == triangle.transposed;  // the first unknown stands alone
  auto at = [&](int64_t i, int64_t j) { return triangle.transposed ? a[j * n + i] : a[i * n + j]; };
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = from_top ? step : n - 1 - step;
    for (int64_t s = 0; s < step; ++s) {
      const int64_t j = from_top ? s : n - 1 - s;
      const double factor = at(i, j);
      for (int64_t c = 0; c < k; ++c) b[i * k + c] -= factor * b[j * k + c];
    }
    if (triangle.unit) continue;
    for (int64_t c = 0; c < k; ++c) b[i * k + c] /= at(i, i);
  }
}

void lu_solve(const double* lu, const int32_t* pivots, int64_t n, double* b, int64_t k, bool transposed) {
  if (!transposed) {
    for (int64_t i = 0; i < n; ++i) swap_rows(b, k, i, pivots[i] - 1);
    solve_triangular(lu, n, {false, true, false}, b, k);
    solve_triangular(lu, n, {true, false, false}, b, k);
    return;
  }
  solve_triangular(lu, n, {true, false, true}, b, k);
  solve_triangular(lu, n, {false, true, true}, b, k);
  for (int64_t i = n; i-- > 0;) swap_rows(b, k, i, pivots[i] - 1);
}

int64_t cholesky(double* a, int64_t n) {
  int64_t info = 0;
  for (int64_t j = 0; j < n; ++j) {
    double diagonal = a[j * n + j];
    for (int64_t k = 0; k < j; ++k) diagonal -= a[j * n + k] * a[j * n + k];
    if (!(diagonal > 0) && info == 0) info = j + 1;
    const double root = a[j * n + j] = math::sqrt(diagonal);
    for (int64_t i = j + 1; i < n; ++i) {
      double sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = sum / root;
      a[j * n + i] = 0;
    }
  }
  return info;
}

void householder(double* a, int64_t m, int64_t n, double* tau) {
  const int64_t count = m < n ? m : n;
  for (int64_t k = 0; k < count; ++k) {
    bool below = false;
    for (int64_t i = k + 1; i < m; ++i) below = below || a[i * n + k] != 0;
    tau[k] = 0;
    if (!below) continue;
    const double alpha = a[k * n + k], size = length(a + k * n + k, m - k, n), beta = alpha >= 0 ? -size : size;
    tau[k] = (beta - alpha) / beta;
    for (int64_t i = k + 1; i < m; ++i) a[i * n + k] /= alpha - beta;
    a[k * n + k] = beta;
    for (int64_t j = k + 1; j < n; ++j) {
      double dot = a[k * n + j];
      for (int64_t i = k + 1; i < m; ++i) dot += a[i * n + k] * a[i * n + j];
      a[k * n + j] -= tau[k] * dot;
      for (int64_t i = k + 1; i < m; ++i) a[i * n + j] -= tau[k] * dot * a[i * n + k];
    }
  }
}

void form_q(const double* a, int64_t m, int64_t n, const double* tau, int64_t count, double* q, int64_t columns) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < columns; ++j) q[i * columns + j] = i == j ? 1 : 0;
  for (int64_t k = count; k-- > 0;) {
    for (int64_t j = 0; j < columns; ++j) {
      double dot = q[k * columns + j];
      for (int64_t i = k + 1; i < m; ++i) dot += a[i * n + k] * q[i * columns + j];
      q[k * columns + j] -= tau[k] * dot;
      for (int64_t i = k + 1; i < m; ++i) q[i * columns + j] -= tau[k] * dot * a[i * n + k];
    }
  }
}

void multiply(const double* a, const double* b, int64_t n, double* out) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) out[i * n + j] = 0;
    for (int64_t k = 0; k < n; ++k)
      for (int64_t j = 0; j < n; ++j) out[i * n + j] += a[i * n + k] * b[k * n + j];
  }
}

// Taylor's series of a / 2^s, whose norm is at most one half, then s squarings.
void exponential(double* a, int64_t n, double* work) {
  const int64_t area = n * n;
  double norm = 0;
  for (int64_t i = 0; i < n; ++i) {
    double row = 0;
    for (int64_t j = 0; j < n; ++j) row += math::abs(a[i * n + j]);
    norm = row > norm || row != row ? row : norm;
  }
  if (!math::is_finite(norm)) {
    for (int64_t i = 0; i < area; ++i) a[i] = math::kNaN;
    return;
  }
  int squarings = 0;
  for (; norm > 0.5; norm /= 2) ++squarings;
  double *scaled = work, *term = work + area, *next = work + 2 * area;
  for (int64_t i = 0; i < area; ++i) {
    scaled[i] = math::scale_by_power_of_two(a[i], -squarings);
    a[i] = term[i] = i % (n + 1) == 0 ? 1 : 0;
  }
  for (int k = 1; k <= 18; ++k) {
    multiply(term, scaled, n, next);
    for (int64_t i = 0; i < area; ++i) a[i] += term[i] = next[i] / k;
  }
  for (int k = 0; k < squarings; ++k) {
    multiply(a, a, n, next);
    for (int64_t i = 0; i < area; ++i) a[i] = next[i];
  }
}

}  // namespace dense
}  // namespace wick
