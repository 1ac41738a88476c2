// Factorisations of one small matrix of doubles, row-major, in place. C++17, freestanding.
#pragma once
#include <stdint.h>

namespace wick {
namespace dense {

/// a [m, n] becomes L and U of P L U with unit diagonal L; pivots[i] (1-based) is the row that row i was swapped with.
/// Returns 0, or the 1-based number of the first pivot that is zero.   Source: LAPACK getrf.
int64_t lu(double* a, int64_t m, int64_t n, bool pivot, int32_t* pivots);
/// b [n, k] becomes the solution of A x = b, or of transpose(A) x = b.
void lu_solve(const double* lu, const int32_t* pivots, int64_t n, double* b, int64_t k, bool transposed);

/// The square root of the sum of the squares of x[i * stride], i < count; no square over- or underflows.
double length(const double* x, int64_t count, int64_t stride);
/// Multiplies `count` numbers by a power of two that brings the largest magnitude near 1 and returns the exponent that
/// multiplies back. 0, with nothing changed, if all are zero or one is not finite.
int scale_to_one(double* x, int64_t count);

/// Which half of a matrix is read, whether its diagonal counts as ones, whether it is meant transposed.
struct Triangle {
  bool upper = false, unit = false, transposed = false;
};
/// b [n, k] becomes the solution of T x = b.
void solve_triangular(const double* a, int64_t n, Triangle triangle, double* b, int64_t k);

/// The lower triangle of a [n, n] becomes L of L L^T, the rest zero. Returns 0, or the 1-based number of the first
/// leading minor that is not positive.
int64_t cholesky(double* a, int64_t n);

/// a [m, n] becomes R above the diagonal and Householder vectors below it; tau [min(m, n)].   Source: LAPACK geqrf.
void householder(double* a, int64_t m, int64_t n, double* tau);
/// q [m, columns] = the first columns of the product of `count` reflectors stored in a [m, n].
void form_q(const double* a, int64_t m, int64_t n, const double* tau, int64_t count, double* q, int64_t columns);

/// Eigenvalues of the symmetric a [n, n], ascending, and vectors as columns of v [n, n]; a is destroyed.
void eigen_symmetric(double* a, int64_t n, double* values, double* v);
/// a [m, n] with m >= n becomes U; s [n] descending; v [n, n] with a = U diag(s) V^T.
void singular_values(double* a, int64_t m, int64_t n, double* s, double* v);
/// Replaces columns [have, want) of q [m, want] by unit vectors orthogonal to all others; want <= m.
void complete_basis(double* q, int64_t m, int64_t have, int64_t want);

/// out = a b, all [n, n].
void multiply(const double* a, const double* b, int64_t n, double* out);
/// a [n, n] becomes its exponential; `work` has room for three matrices.
void exponential(double* a, int64_t n, double* work);

}  // namespace dense
}  // namespace wick
