// Factorisations of one small matrix, row-major, in place. Elements are doubles or, as T, complex ones. C++17,
// freestanding.
#pragma once
#include <stdint.h>

#include "common/math/math.h"

namespace wick {
namespace dense {

/// A complex number whose products and quotients are those of its parts, without rules for infinite ones.
struct Complex {
  double re = 0, im = 0;
  Complex() = default;
  Complex(double real, double imag = 0) : re(real), im(imag) {}
};
inline Complex operator-(Complex a) { return {-a.re, -a.im}; }
inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
inline Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
inline Complex operator*(Complex a, double b) { return {a.re * b, a.im * b}; }
inline Complex operator/(Complex a, double b) { return {a.re / b, a.im / b}; }
inline Complex operator/(Complex a, Complex b) {  // Source: Smith 1962
  if (math::abs(b.re) >= math::abs(b.im)) {
    const double ratio = b.im / b.re, size = b.re + b.im * ratio;
    return {(a.re + a.im * ratio) / size, (a.im - a.re * ratio) / size};
  }
  const double ratio = b.re / b.im, size = b.re * ratio + b.im;
  return {(a.re * ratio + a.im) / size, (a.im * ratio - a.re) / size};
}
inline bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
inline Complex& operator+=(Complex& a, Complex b) { return a = a + b; }
inline Complex& operator-=(Complex& a, Complex b) { return a = a - b; }
inline Complex& operator/=(Complex& a, Complex b) { return a = a / b; }
inline Complex& operator*=(Complex& a, double b) { return a = a * b; }

inline double conjugate(double x) { return x; }
inline Complex conjugate(Complex x) { return {x.re, -x.im}; }
inline double real_part(double x) { return x; }
inline double real_part(Complex x) { return x.re; }
inline double imaginary_part(double) { return 0; }
inline double imaginary_part(Complex x) { return x.im; }
/// The magnitude; no square over- or underflows.
double magnitude(double x);
double magnitude(Complex x);

/// The magnitude by which LAPACK chooses pivots.
template <typename T>
double pivot_size(T x) {
  return math::abs(real_part(x)) + math::abs(imaginary_part(x));
}

/// a [m, n] becomes L and U of P L U with unit diagonal L; pivots[i] (1-based) is the row that row i was swapped with.
/// Returns 0, or the 1-based number of the first pivot that is zero.   Source: LAPACK getrf.
template <typename T>
int64_t lu(T* a, int64_t m, int64_t n, bool pivot, int32_t* pivots);
/// b [n, k] becomes the solution of A x = b, or of transpose(A) x = b.  `conjugated`: with the conjugate of A.
template <typename T>
void lu_solve(const T* lu, const int32_t* pivots, int64_t n, T* b, int64_t k, bool transposed, bool conjugated = false);

/// The square root of the sum of the squares of x[i * stride], i < count; no square over- or underflows.
template <typename T>
double length(const T* x, int64_t count, int64_t stride);
/// Multiplies `count` numbers by a power of two that brings the largest magnitude near 1 and returns the exponent that
/// multiplies back. 0, with nothing changed, if all are zero or one is not finite.
template <typename T>
int scale_to_one(T* x, int64_t count);

/// Which half of a matrix is read, whether its diagonal counts as ones, and whether it is used transposed or
/// conjugated.
struct Triangle {
  bool upper = false, unit = false, transposed = false, conjugated = false;
};
/// b [n, k] becomes the solution of T x = b.
template <typename T>
void solve_triangular(const T* a, int64_t n, Triangle triangle, T* b, int64_t k);

/// The lower triangle of a [n, n] becomes L of L L^H, the rest zero. Returns 0, or the 1-based number of the first
/// leading minor that is not positive.
template <typename T>
int64_t cholesky(T* a, int64_t n);

/// The lower triangle of a [n, n], which equals its transpose or, if `hermitian`, its adjoint, becomes L and D of
/// P L D L^T P^T: L has a unit diagonal, D blocks of one or two rows; the rest becomes zero. pivots[i] (1-based) is the
/// row that row i was swapped with; it is negative, and the same for both rows, in a block of two, whose second row was
/// swapped. Returns 0, or the 1-based number of the first column that is zero.   Source: LAPACK sytf2 and hetf2.
template <typename T>
int64_t ldl(T* a, int64_t n, bool hermitian, int32_t* pivots);
/// Whether pivots name rows from 1 to n and negative ones stand in pairs: what ldl_solve needs.
bool ldl_pivots_fit(const int32_t* pivots, int64_t n);
/// b [n, columns] becomes the solution of A x = b.   Source: LAPACK sytrs and hetrs.
template <typename T>
void ldl_solve(const T* ld, const int32_t* pivots, int64_t n, bool hermitian, T* b, int64_t columns);

/// a [m, n] becomes R above the diagonal and Householder vectors below it; tau [min(m, n)].   Source: LAPACK geqrf.
template <typename T>
void householder(T* a, int64_t m, int64_t n, T* tau);
/// q [m, columns] = the first columns of the product of `count` reflectors stored in a [m, n].
template <typename T>
void form_q(const T* a, int64_t m, int64_t n, const T* tau, int64_t count, T* q, int64_t columns);

/// Eigenvalues of the Hermitian a [n, n], ascending, and vectors as columns of v [n, n]; a is destroyed.
template <typename T>
void eigen_symmetric(T* a, int64_t n, double* values, T* v);
/// a [m, n] with m >= n becomes U; s [n] descending; v [n, n] with a = U diag(s) V^H.
template <typename T>
void singular_values(T* a, int64_t m, int64_t n, double* s, T* v);
/// Replaces columns [have, want) of q [m, want] by unit vectors orthogonal to all others; want <= m.
template <typename T>
void complete_basis(T* q, int64_t m, int64_t have, int64_t want);

/// out = a b, all [n, n].
template <typename T>
void multiply(const T* a, const T* b, int64_t n, T* out);
/// a [n, n] becomes its exponential; `work` has room for three matrices.
template <typename T>
void exponential(T* a, int64_t n, T* work);

}  // namespace dense
}  // namespace wick
