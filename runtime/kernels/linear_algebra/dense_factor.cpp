// LU, Cholesky and Householder factors, triangular solves, the matrix exponential.
#include "runtime/kernels/linear_algebra/dense.h"

namespace wick {
namespace dense {
namespace {

template <typename T>
void swap_rows(T* a, int64_t columns, int64_t i, int64_t j) {
  if (i == j) return;
  for (int64_t c = 0; c < columns; ++c) {
    const T kept = a[i * columns + c];
    a[i * columns + c] = a[j * columns + c];
    a[j * columns + c] = kept;
  }
}

/// The exponent of the largest part, clamped to [-1000, 1000]; 0 if that part is zero or not finite.
template <typename T>
int largest_exponent(const T* x, int64_t count, int64_t stride) {
  double largest = 0;
  for (int64_t i = 0; i < 2 * count; ++i) {
    const T element = x[i / 2 * stride];
    const double size = math::abs(i % 2 == 0 ? real_part(element) : imaginary_part(element));
    largest = size > largest || size != size ? size : largest;
  }
  if (largest == 0 || !math::is_finite(largest)) return 0;
  const int exponent = static_cast<int>(math::bits_of(largest) >> 52) - 1023;
  return exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
}

}  // namespace

double magnitude(double x) { return math::abs(x); }
double magnitude(Complex x) { return length(&x, 1, 1); }

template <typename T>
double length(const T* x, int64_t count, int64_t stride) {
  const int exponent = largest_exponent(x, count, stride);
  const double factor = math::scale_by_power_of_two(1, -exponent);
  double square = 0;
  for (int64_t i = 0; i < count; ++i) {
    const T scaled = x[i * stride] * factor;
    square += real_part(scaled) * real_part(scaled) + imaginary_part(scaled) * imaginary_part(scaled);
  }
  return math::scale_by_power_of_two(math::sqrt(square), exponent);
}

template <typename T>
int scale_to_one(T* x, int64_t count) {
  const int exponent = largest_exponent(x, count, 1);
  const double factor = math::scale_by_power_of_two(1, -exponent);
  for (int64_t i = 0; i < count; ++i) x[i] *= factor;
  return exponent;
}

template <typename T>
int64_t lu(T* a, int64_t m, int64_t n, bool pivot, int32_t* pivots) {
  int64_t info = 0;
  const int64_t count = m < n ? m : n;
  for (int64_t k = 0; k < count; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; pivot && i < m; ++i) {
      if (pivot_size(a[i * n + k]) > pivot_size(a[best * n + k])) best = i;
    }
    pivots[k] = static_cast<int32_t>(best + 1);
    swap_rows(a, n, k, best);
    const T diagonal = a[k * n + k];
    if (diagonal == T(0)) {
      info = info ? info : k + 1;
      continue;
    }
    for (int64_t i = k + 1; i < m; ++i) {
      const T factor = a[i * n + k] /= diagonal;
      if (factor == T(0)) continue;
      for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return info;
}

template <typename T>
void solve_triangular(const T* a, int64_t n, Triangle triangle, T* b, int64_t k) {
  const bool from_top = triangle.upper == triangle.transposed;  // the first row has one unknown
  auto at = [&](int64_t i, int64_t j) {
    const T element = triangle.transposed ? a[j * n + i] : a[i * n + j];
    return triangle.conjugated ? conjugate(element) : element;
  };
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = from_top ? step : n - 1 - step;
    for (int64_t s = 0; s < step; ++s) {
      const int64_t j = from_top ? s : n - 1 - s;
      const T factor = at(i, j);
      for (int64_t c = 0; c < k; ++c) b[i * k + c] -= factor * b[j * k + c];
    }
    if (triangle.unit) continue;
    for (int64_t c = 0; c < k; ++c) b[i * k + c] /= at(i, i);
  }
}

template <typename T>
void lu_solve(const T* lu, const int32_t* pivots, int64_t n, T* b, int64_t k, bool transposed, bool conjugated) {
  if (!transposed) {
    for (int64_t i = 0; i < n; ++i) swap_rows(b, k, i, pivots[i] - 1);
    solve_triangular(lu, n, {false, true, false, conjugated}, b, k);
    solve_triangular(lu, n, {true, false, false, conjugated}, b, k);
    return;
  }
  solve_triangular(lu, n, {true, false, true, conjugated}, b, k);
  solve_triangular(lu, n, {false, true, true, conjugated}, b, k);
  for (int64_t i = n; i-- > 0;) swap_rows(b, k, i, pivots[i] - 1);
}

template <typename T>
int64_t cholesky(T* a, int64_t n) {
  int64_t info = 0;
  for (int64_t j = 0; j < n; ++j) {
    double diagonal = real_part(a[j * n + j]);
    for (int64_t k = 0; k < j; ++k) diagonal -= real_part(a[j * n + k] * conjugate(a[j * n + k]));
    if (!(diagonal > 0) && info == 0) info = j + 1;
    const double root = math::sqrt(diagonal);
    a[j * n + j] = root;
    for (int64_t i = j + 1; i < n; ++i) {
      T sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) sum -= a[i * n + k] * conjugate(a[j * n + k]);
      a[i * n + j] = sum / root;
      a[j * n + i] = 0;
    }
  }
  return info;
}

template <typename T>
void householder(T* a, int64_t m, int64_t n, T* tau) {
  const int64_t count = m < n ? m : n;
  for (int64_t k = 0; k < count; ++k) {
    const T alpha = a[k * n + k];
    bool reflects = imaginary_part(alpha) != 0;
    for (int64_t i = k + 1; i < m; ++i) reflects = reflects || !(a[i * n + k] == T(0));
    tau[k] = 0;
    if (!reflects) continue;
    const double size = length(a + k * n + k, m - k, n), beta = real_part(alpha) >= 0 ? -size : size;
    tau[k] = (T(beta) - alpha) / beta;
    for (int64_t i = k + 1; i < m; ++i) a[i * n + k] /= alpha - T(beta);
    a[k * n + k] = beta;
    for (int64_t j = k + 1; j < n; ++j) {
      T dot = a[k * n + j];
      for (int64_t i = k + 1; i < m; ++i) dot += conjugate(a[i * n + k]) * a[i * n + j];
      const T step = conjugate(tau[k]) * dot;
      a[k * n + j] -= step;
      for (int64_t i = k + 1; i < m; ++i) a[i * n + j] -= step * a[i * n + k];
    }
  }
}

template <typename T>
void form_q(const T* a, int64_t m, int64_t n, const T* tau, int64_t count, T* q, int64_t columns) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < columns; ++j) q[i * columns + j] = i == j ? 1 : 0;
  for (int64_t k = count; k-- > 0;) {
    for (int64_t j = 0; j < columns; ++j) {
      T dot = q[k * columns + j];
      for (int64_t i = k + 1; i < m; ++i) dot += conjugate(a[i * n + k]) * q[i * columns + j];
      const T step = tau[k] * dot;
      q[k * columns + j] -= step;
      for (int64_t i = k + 1; i < m; ++i) q[i * columns + j] -= step * a[i * n + k];
    }
  }
}

template <typename T>
void multiply(const T* a, const T* b, int64_t n, T* out) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) out[i * n + j] = 0;
    for (int64_t k = 0; k < n; ++k)
      for (int64_t j = 0; j < n; ++j) out[i * n + j] += a[i * n + k] * b[k * n + j];
  }
}

// Taylor's series of a / 2^s, whose norm is at most one half, then s squarings.
template <typename T>
void exponential(T* a, int64_t n, T* work) {
  const int64_t area = n * n;
  double norm = 0;
  for (int64_t i = 0; i < n; ++i) {
    double row = 0;
    for (int64_t j = 0; j < n; ++j) row += magnitude(a[i * n + j]);
    norm = row > norm || row != row ? row : norm;
  }
  if (!math::is_finite(norm)) {
    for (int64_t i = 0; i < area; ++i) a[i] = T(math::kNaN);
    return;
  }
  int squarings = 0;
  for (; norm > 0.5; norm /= 2) ++squarings;
  T *scaled = work, *term = work + area, *next = work + 2 * area;
  for (int64_t i = 0; i < area; ++i) {
    scaled[i] = a[i] * math::scale_by_power_of_two(1, -squarings);
    a[i] = term[i] = T(i % (n + 1) == 0 ? 1 : 0);
  }
  for (int k = 1; k <= 18; ++k) {
    multiply(term, scaled, n, next);
    for (int64_t i = 0; i < area; ++i) {
      term[i] = next[i] / k;
      a[i] += term[i];
    }
  }
  for (int k = 0; k < squarings; ++k) {
    multiply(a, a, n, next);
    for (int64_t i = 0; i < area; ++i) a[i] = next[i];
  }
}

#define WICK_OF(T)                                                                    \
  template double length(const T*, int64_t, int64_t);                                 \
  template int scale_to_one(T*, int64_t);                                             \
  template int64_t lu(T*, int64_t, int64_t, bool, int32_t*);                          \
  template void lu_solve(const T*, const int32_t*, int64_t, T*, int64_t, bool, bool); \
  template void solve_triangular(const T*, int64_t, Triangle, T*, int64_t);           \
  template int64_t cholesky(T*, int64_t);                                             \
  template void householder(T*, int64_t, int64_t, T*);                                \
  template void form_q(const T*, int64_t, int64_t, const T*, int64_t, T*, int64_t);   \
  template void multiply(const T*, const T*, int64_t, T*);                            \
  template void exponential(T*, int64_t, T*);
WICK_OF(double)
WICK_OF(Complex)
#undef WICK_OF

}  // namespace dense
}  // namespace wick
