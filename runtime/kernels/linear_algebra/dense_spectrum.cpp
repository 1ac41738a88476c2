// Eigenvalues and singular values by Jacobi's rotations.
#include "runtime/kernels/linear_algebra/dense.h"

namespace wick {
namespace dense {
namespace {

constexpr int kMaxSweeps = 60;
constexpr double kNegligible = 1e-16;

/// Rotates columns i and j of a matrix with `rows` rows.
template <typename T>
void rotate_columns(T* a, int64_t rows, int64_t columns, int64_t i, int64_t j, double cosine, double sine) {
  for (int64_t r = 0; r < rows; ++r) {
    const T x = a[r * columns + i], y = a[r * columns + j];
    a[r * columns + i] = x * cosine - y * sine;
    a[r * columns + j] = x * sine + y * cosine;
  }
}

/// The rotation that makes [[p, r], [r, q]] diagonal.
void rotation(double p, double q, double r, double* cosine, double* sine) {
  const double theta = (q - p) / (2 * r), magnitude = math::abs(theta);
  const double t = math::copy_sign(1 / (magnitude + math::sqrt(magnitude * magnitude + 1)), theta);
  *cosine = 1 / math::sqrt(t * t + 1);
  *sine = t * *cosine;
}

template <typename T>
void identity(T* v, int64_t n) {
  for (int64_t i = 0; i < n * n; ++i) v[i] = T(i % (n + 1) == 0 ? 1 : 0);
}

template <typename T>
void swap_columns(T* a, int64_t rows, int64_t columns, int64_t i, int64_t j) {
  for (int64_t r = 0; r < rows; ++r) {
    const T kept = a[r * columns + i];
    a[r * columns + i] = a[r * columns + j];
    a[r * columns + j] = kept;
  }
}

/// Writes x as real * phase with |phase| = 1 and returns real. The phase of a real number is 1.
double turned(double x, double* phase) {
  *phase = 1;
  return x;
}
double turned(Complex x, Complex* phase) {
  const double size = magnitude(x);
  *phase = size == 0 ? Complex(1) : x / size;
  return size;
}

/// Column j of a matrix with `rows` rows, times a number.
template <typename T>
void scale_column(T* a, int64_t rows, int64_t columns, int64_t j, T factor) {
  for (int64_t r = 0; r < rows; ++r) a[r * columns + j] = a[r * columns + j] * factor;
}

}  // namespace

// A complex element a_ij becomes |a_ij| before the rotation: column j is multiplied by its conjugate phase, row j by
// the phase.
template <typename T>
void eigen_symmetric(T* a, int64_t n, double* values, T* v) {
  const int exponent = scale_to_one(a, n * n);
  identity(v, n);
  bool moved = true;
  for (int sweep = 0; sweep < kMaxSweeps && moved; ++sweep) {
    moved = false;
    for (int64_t i = 0; i + 1 < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) {
        T phase;
        const double p = real_part(a[i * n + i]), q = real_part(a[j * n + j]), r = turned(a[i * n + j], &phase);
        if (!(math::abs(r) > kNegligible * math::sqrt(math::abs(p * q)) && math::abs(r) > 1e-300)) continue;
        moved = true;
        scale_column(a, n, n, j, conjugate(phase));
        scale_column(v, n, n, j, conjugate(phase));
        for (int64_t c = 0; c < n; ++c) a[j * n + c] = a[j * n + c] * phase;
        double cosine, sine;
        rotation(p, q, r, &cosine, &sine);
        rotate_columns(a, n, n, i, j, cosine, sine);
        for (int64_t c = 0; c < n; ++c) {  // the same rotation of the rows
          const T x = a[i * n + c], y = a[j * n + c];
          a[i * n + c] = x * cosine - y * sine;
          a[j * n + c] = x * sine + y * cosine;
        }
        a[i * n + j] = a[j * n + i] = T(0);
        rotate_columns(v, n, n, i, j, cosine, sine);
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) values[i] = math::scale_by_power_of_two(real_part(a[i * n + i]), exponent);
  for (int64_t i = 0; i < n; ++i) {
    int64_t least = i;
    for (int64_t j = i + 1; j < n; ++j) least = values[j] < values[least] ? j : least;
    if (least == i) continue;
    const double kept = values[i];
    values[i] = values[least];
    values[least] = kept;
    swap_columns(v, n, n, i, least);
  }
}

template <typename T>
void singular_values(T* a, int64_t m, int64_t n, double* s, T* v) {
  const int exponent = scale_to_one(a, m * n);
  identity(v, n);
  bool moved = true;
  for (int sweep = 0; sweep < kMaxSweeps && moved; ++sweep) {
    moved = false;
    for (int64_t i = 0; i + 1 < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) {
        double p = 0, q = 0;
        T product = 0;
        for (int64_t k = 0; k < m; ++k) {
          p += real_part(conjugate(a[k * n + i]) * a[k * n + i]);
          q += real_part(conjugate(a[k * n + j]) * a[k * n + j]);
          product += conjugate(a[k * n + i]) * a[k * n + j];
        }
        T phase;
        const double r = turned(product, &phase);
        if (!(math::abs(r) > 1e-15 * math::sqrt(p * q) && math::abs(r) > 1e-300)) continue;
        moved = true;
        scale_column(a, m, n, j, conjugate(phase));
        scale_column(v, n, n, j, conjugate(phase));
        double cosine, sine;
        rotation(p, q, r, &cosine, &sine);
        rotate_columns(a, m, n, i, j, cosine, sine);
        rotate_columns(v, n, n, i, j, cosine, sine);
      }
    }
  }
  for (int64_t j = 0; j < n; ++j) s[j] = length(a + j, m, n);
  for (int64_t i = 0; i < n; ++i) {
    int64_t best = i;
    for (int64_t j = i + 1; j < n; ++j) best = s[j] > s[best] ? j : best;
    if (best != i) {
      const double kept = s[i];
      s[i] = s[best];
      s[best] = kept;
      swap_columns(a, m, n, i, best);
      swap_columns(v, n, n, i, best);
    }
    if (s[i] > 0)
      for (int64_t k = 0; k < m; ++k) a[k * n + i] /= s[i];
  }
  int64_t have = 0;
  while (have < n && s[have] > s[0] * 1e-14) ++have;
  complete_basis(a, m, have, n);
  for (int64_t j = 0; j < n; ++j) s[j] = math::scale_by_power_of_two(s[j], exponent);
}

template <typename T>
void complete_basis(T* q, int64_t m, int64_t have, int64_t want) {
  int64_t axis = 0;
  for (int64_t column = have; column < want && axis < m; ++axis) {
    for (int64_t i = 0; i < m; ++i) q[i * want + column] = T(i == axis ? 1 : 0);
    for (int round = 0; round < 2; ++round) {
      for (int64_t j = 0; j < column; ++j) {
        T dot = 0;
        for (int64_t i = 0; i < m; ++i) dot += conjugate(q[i * want + j]) * q[i * want + column];
        for (int64_t i = 0; i < m; ++i) q[i * want + column] -= dot * q[i * want + j];
      }
    }
    double square = 0;
    for (int64_t i = 0; i < m; ++i) square += real_part(conjugate(q[i * want + column]) * q[i * want + column]);
    if (!(square > 1e-8)) continue;
    const double length = math::sqrt(square);
    for (int64_t i = 0; i < m; ++i) q[i * want + column] /= length;
    ++column;
  }
}

template void eigen_symmetric(double*, int64_t, double*, double*);
template void eigen_symmetric(Complex*, int64_t, double*, Complex*);
template void singular_values(double*, int64_t, int64_t, double*, double*);
template void singular_values(Complex*, int64_t, int64_t, double*, Complex*);
template void complete_basis(double*, int64_t, int64_t, int64_t);
template void complete_basis(Complex*, int64_t, int64_t, int64_t);

}  // namespace dense
}  // namespace wick
