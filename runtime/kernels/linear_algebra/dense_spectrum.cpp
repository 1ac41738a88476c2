// Eigenvalues and singular values by Jacobi's rotations.
#include "common/math/math.h"
#include "runtime/kernels/linear_algebra/dense.h"

namespace wick {
namespace dense {
namespace {

constexpr int kMaxSweeps = 60;
constexpr double kNegligible = 1e-16;

/// Columns i and j of a matrix with `rows` rows are rotated.
void rotate_columns(double* a, int64_t rows, int64_t columns, int64_t i, int64_t j, double cosine, double sine) {
  for (int64_t r = 0; r < rows; ++r) {
    const double x = a[r * columns + i], y = a[r * columns + j];
    a[r * columns + i] = cosine * x - sine * y;
    a[r * columns + j] = sine * x + cosine * y;
  }
}

/// The rotation that makes [[p, r], [r, q]] diagonal.
void rotation(double p, double q, double r, double* cosine, double* sine) {
  const double theta = (q - p) / (2 * r), magnitude = math::abs(theta);
  const double t = math::copy_sign(1 / (magnitude + math::sqrt(magnitude * magnitude + 1)), theta);
  *cosine = 1 / math::sqrt(t * t + 1);
  *sine = t * *cosine;
}

void identity(double* v, int64_t n) {
  for (int64_t i = 0; i < n * n; ++i) v[i] = i % (n + 1) == 0 ? 1 : 0;
}

void swap_columns(double* a, int64_t rows, int64_t columns, int64_t i, int64_t j) {
  for (int64_t r = 0; r < rows; ++r) {
    const double kept = a[r * columns + i];
    a[r * columns + i] = a[r * columns + j];
    a[r * columns + j] = kept;
  }
}

}  // namespace

void eigen_symmetric(double* a, int64_t n, double* values, double* v) {
  const int exponent = scale_to_one(a, n * n);
  identity(v, n);
  bool moved = true;
  for (int sweep = 0; sweep < kMaxSweeps && moved; ++sweep) {
    moved = false;
    for (int64_t i = 0; i + 1 < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) {
        const double p = a[i * n + i], q = a[j * n + j], r = a[i * n + j];
        if (!(math::abs(r) > kNegligible * math::sqrt(math::abs(p * q)) && math::abs(r) > 1e-300)) continue;
        moved = true;
        double cosine, sine;
        rotation(p, q, r, &cosine, &sine);
        rotate_columns(a, n, n, i, j, cosine, sine);
        for (int64_t c = 0; c < n; ++c) {  // the same rotation of the rows
          const double x = a[i * n + c], y = a[j * n + c];
          a[i * n + c] = cosine * x - sine * y;
          a[j * n + c] = sine * x + cosine * y;
        }
        a[i * n + j] = a[j * n + i] = 0;
        rotate_columns(v, n, n, i, j, cosine, sine);
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) values[i] = math::scale_by_power_of_two(a[i * n + i], exponent);
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

void singular_values(double* a, int64_t m, int64_t n, double* s, double* v) {
  const int exponent = scale_to_one(a, m * n);
  identity(v, n);
  bool moved = true;
  for (int sweep = 0; sweep < kMaxSweeps && moved; ++sweep) {
    moved = false;
    for (int64_t i = 0; i + 1 < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) {
        double p = 0, q = 0, r = 0;
        for (int64_t k = 0; k < m; ++k) {
          p += a[k * n + i] * a[k * n + i];
          q += a[k * n + j] * a[k * n + j];
          r += a[k * n + i] * a[k * n + j];
        }
        if (!(math::abs(r) > 1e-15 * math::sqrt(p * q) && math::abs(r) > 1e-300)) continue;
        moved = true;
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

void complete_basis(double* q, int64_t m, int64_t have, int64_t want) {
  int64_t axis = 0;
  for (int64_t column = have; column < want && axis < m; ++axis) {
    for (int64_t i = 0; i < m; ++i) q[i * want + column] = i == axis ? 1 : 0;
    for (int round = 0; round < 2; ++round) {
      for (int64_t j = 0; j < column; ++j) {
        double dot = 0;
        for (int64_t i = 0; i < m; ++i) dot += q[i * want + j] * q[i * want + column];
        for (int64_t i = 0; i < m; ++i) q[i * want + column] -= dot * q[i * want + j];
      }
    }
    double square = 0;
    for (int64_t i = 0; i < m; ++i) square += q[i * want + column] * q[i * want + column];
    if (!(square > 1e-8)) continue;
    const double length = math::sqrt(square);
    for (int64_t i = 0; i < m; ++i) q[i * want + column] /= length;
    ++column;
  }
}

}  // namespace dense
}  // namespace wick
