// Kernels over batches of matrices: each matrix is widened to (complex) double, factored, and rounded once.
#include "runtime/kernels/linear_algebra/dense.h"
#include "runtime/kernels/linear_algebra/matrices.h"

namespace wick {
namespace kernels {

namespace {
template <typename T>
void linalg_lu_factor_ex(KernelContext& context, Span<EValue*> args) {
  MatrixReader a;
  if (!a.init(context, *args[0]->tensor)) return;
  const int64_t count = a.rows < a.columns ? a.rows : a.columns;
  MatrixWriter lu, pivots, info;
  if (!lu.init(context, *args[3]->tensor, a, a.rows, a.columns) ||
      !pivots.init(context, *args[4]->tensor, a, count, -1, Holds::indices) ||
      !info.init(context, *args[5]->tensor, a, -1, -1, Holds::indices))
    return;
  T* matrix = context.allocate_temp_array<T>(a.area());
  if (!matrix) return;
  for (int64_t i = 0; i < a.batch; ++i) {
    a.load(i, matrix);
    const int64_t bad = dense::lu(matrix, a.rows, a.columns, args[1]->boolean, pivots.ints(i));
    if (bad != 0 && args[2]->boolean) return context.fail(Error::InvalidArgument, "lu: a matrix is singular");
    info.ints(i)[0] = static_cast<int32_t>(bad);
    lu.store(i, matrix);
  }
  lu.finish();
  pivots.finish();
  info.finish();
}
}  // namespace
void linalg_lu_factor_ex_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { linalg_lu_factor_ex<decltype(zero)>(context, args); });
}

/// (A, B, left, check; X, LU, pivots, info): A [.., n, n], B [.., n, k] or [.., k, n] with the same leading sizes.
namespace {
template <typename T>
void linalg_solve_ex(KernelContext& context, Span<EValue*> args) {
  MatrixReader a, b;
  if (!a.init_square(context, *args[0]->tensor) || !b.init_beside(context, *args[1]->tensor, a)) return;
  const bool left = args[2]->boolean;
  if (!require(context, b.batch == a.batch && (left ? b.rows : b.columns) == a.rows,
               "solve: the right side does not fit: wanted [.., n, k], or [.., k, n] from the right, and one for each "
               "matrix"))
    return;
  MatrixWriter out, lu, pivots, info;
  if (!out.init(context, *args[4]->tensor, b, b.rows, b.columns) ||
      !lu.init(context, *args[5]->tensor, a, a.rows, a.rows) ||
      !pivots.init(context, *args[6]->tensor, a, a.rows, -1, Holds::indices) ||
      !info.init(context, *args[7]->tensor, a, -1, -1, Holds::indices))
    return;
  T* matrix = context.allocate_temp_array<T>(a.area());
  T* right = context.allocate_temp_array<T>(b.area());
  if (!matrix || !right) return;
  for (int64_t i = 0; i < a.batch; ++i) {
    a.load(i, matrix);
    b.load(i, right, left ? Form::plain : Form::transposed);
    const int64_t bad = dense::lu(matrix, a.rows, a.rows, true, pivots.ints(i));
    if (bad != 0 && args[3]->boolean) return context.fail(Error::InvalidArgument, "solve: a matrix is singular");
    dense::lu_solve(matrix, pivots.ints(i), a.rows, right, left ? b.columns : b.rows, !left);
    info.ints(i)[0] = static_cast<int32_t>(bad);
    lu.store(i, matrix);
    out.store(i, right, left ? Form::plain : Form::transposed);
  }
  for (MatrixWriter* writer : {&out, &lu, &pivots, &info}) writer->finish();
}
}  // namespace
void linalg_solve_ex_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { linalg_solve_ex<decltype(zero)>(context, args); });
}

namespace {
template <typename T>
void linalg_inv_ex(KernelContext& context, Span<EValue*> args) {
  MatrixReader a;
  if (!a.init_square(context, *args[0]->tensor)) return;
  MatrixWriter out, info;
  if (!out.init(context, *args[2]->tensor, a, a.rows, a.rows) ||
      !info.init(context, *args[3]->tensor, a, -1, -1, Holds::indices))
    return;
  T* matrix = context.allocate_temp_array<T>(a.area());
  T* inverse = context.allocate_temp_array<T>(a.area());
  int32_t* pivots = context.allocate_temp_array<int32_t>(static_cast<size_t>(a.rows));
  if (!matrix || !inverse || !pivots) return;
  for (int64_t i = 0; i < a.batch; ++i) {
    a.load(i, matrix);
    const int64_t bad = dense::lu(matrix, a.rows, a.rows, true, pivots);
    if (bad != 0 && args[1]->boolean) return context.fail(Error::InvalidArgument, "inverse: a matrix is singular");
    info.ints(i)[0] = static_cast<int32_t>(bad);
    for (int64_t j = 0; j < a.rows * a.rows; ++j) inverse[j] = T(j % (a.rows + 1) == 0 ? 1 : 0);
    dense::lu_solve(matrix, pivots, a.rows, inverse, a.rows, false);
    out.store(i, inverse);
  }
  out.finish();
  info.finish();
}
}  // namespace
void linalg_inv_ex_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { linalg_inv_ex<decltype(zero)>(context, args); });
}

namespace {
/// The pivots of an operand, one for each row of the matrices. They are copied, because the result may overwrite the
/// pivots that were checked. Null, with the context failed, if they do not fit.
const int32_t* copied_pivots(KernelContext& context, const Tensor& pivots, const MatrixReader& factors) {
  if (!require(context, static_cast<int64_t>(pivots.numel) == factors.batch * factors.rows,
               "the pivots of factors do not fit: wanted n for each matrix") ||
      !require_dtype(context, pivots, DType::i32, "the pivots of factors are i32"))
    return nullptr;
  const auto* given = static_cast<const int32_t*>(contiguous_data(context, pivots));
  auto* copy = context.allocate_temp_array<int32_t>(pivots.numel);
  if (!given || !copy) return nullptr;
  for (size_t i = 0; i < pivots.numel; ++i) copy[i] = given[i];
  return copy;
}

template <typename T>
void linalg_lu_solve(KernelContext& context, Span<EValue*> args) {
  MatrixReader lu, b;
  if (!lu.init_square(context, *args[0]->tensor) || !b.init_beside(context, *args[2]->tensor, lu)) return;
  const bool left = args[3]->boolean, adjoint = args[4]->boolean;
  if (!require(context, b.batch == lu.batch && (left ? b.rows : b.columns) == lu.rows,
               "lu_solve: the right side does not fit: wanted [.., n, k], or [.., k, n] from the right, and one for "
               "each matrix"))
    return;
  const int32_t* swaps = copied_pivots(context, *args[1]->tensor, lu);
  MatrixWriter out;
  T* matrix = context.allocate_temp_array<T>(lu.area());
  T* right = context.allocate_temp_array<T>(b.area());
  if (!swaps || !matrix || !right || !out.init(context, *args[5]->tensor, b, b.rows, b.columns)) return;
  for (int64_t i = 0; i < lu.batch * lu.rows; ++i) {
    if (!require(context, swaps[i] >= 1 && swaps[i] <= lu.rows, "lu_solve: a pivot is out of range: wanted 1 to n"))
      return;
  }
  for (int64_t i = 0; i < lu.batch; ++i) {
    lu.load(i, matrix);
    b.load(i, right, left ? Form::plain : Form::transposed);
    dense::lu_solve(matrix, swaps + i * lu.rows, lu.rows, right, left ? b.columns : b.rows, adjoint == left, adjoint);
    out.store(i, right, left ? Form::plain : Form::transposed);
  }
  out.finish();
}
}  // namespace
void linalg_lu_solve_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { linalg_lu_solve<decltype(zero)>(context, args); });
}

namespace {
template <typename T>
void linalg_solve_triangular(KernelContext& context, Span<EValue*> args) {
  MatrixReader a, b;
  if (!a.init_square(context, *args[0]->tensor) || !b.init_beside(context, *args[1]->tensor, a)) return;
  const bool left = args[3]->boolean;
  if (!require(context, b.batch == a.batch && (left ? b.rows : b.columns) == a.rows,
               "solve: the right side does not fit: wanted [.., n, k], or [.., k, n] from the right, and one for each "
               "matrix"))
    return;
  MatrixWriter out;
  T* matrix = context.allocate_temp_array<T>(a.area());
  T* right = context.allocate_temp_array<T>(b.area());
  if (!matrix || !right || !out.init(context, *args[5]->tensor, b, b.rows, b.columns)) return;
  for (int64_t i = 0; i < a.batch; ++i) {
    a.load(i, matrix);
    b.load(i, right, left ? Form::plain : Form::transposed);
    dense::solve_triangular(matrix, a.rows, {args[2]->boolean, args[4]->boolean, !left, false}, right,
                            left ? b.columns : b.rows);
    out.store(i, right, left ? Form::plain : Form::transposed);
  }
  out.finish();
}
}  // namespace
void linalg_solve_triangular_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { linalg_solve_triangular<decltype(zero)>(context, args); });
}

namespace {
template <typename T>
void linalg_cholesky_ex(KernelContext& context, Span<EValue*> args) {
  MatrixReader a;
  if (!a.init_square(context, *args[0]->tensor)) return;
  MatrixWriter out, info;
  if (!out.init(context, *args[3]->tensor, a, a.rows, a.rows) ||
      !info.init(context, *args[4]->tensor, a, -1, -1, Holds::indices))
    return;
  T* matrix = context.allocate_temp_array<T>(a.area());
  if (!matrix) return;
  for (int64_t i = 0; i < a.batch; ++i) {
    a.load(i, matrix, args[1]->boolean ? Form::adjoint : Form::plain);
    const int64_t bad = dense::cholesky(matrix, a.rows);
    if (bad != 0 && args[2]->boolean)
      return context.fail(Error::InvalidArgument, "cholesky: a matrix is not positive definite");
    info.ints(i)[0] = static_cast<int32_t>(bad);
    out.store(i, matrix, args[1]->boolean ? Form::adjoint : Form::plain);
  }
  out.finish();
  info.finish();
}
}  // namespace
void linalg_cholesky_ex_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { linalg_cholesky_ex<decltype(zero)>(context, args); });
}

namespace {
template <typename T>
void linalg_ldl_factor_ex(KernelContext& context, Span<EValue*> args) {
  MatrixReader a;
  if (!a.init_square(context, *args[0]->tensor)) return;
  MatrixWriter out, pivots, info;
  if (!out.init(context, *args[3]->tensor, a, a.rows, a.rows) ||
      !pivots.init(context, *args[4]->tensor, a, a.rows, -1, Holds::indices) ||
      !info.init(context, *args[5]->tensor, a, -1, -1, Holds::indices))
    return;
  T* matrix = context.allocate_temp_array<T>(a.area());
  if (!matrix) return;
  for (int64_t i = 0; i < a.batch; ++i) {
    a.load(i, matrix);
    const int64_t bad = dense::ldl(matrix, a.rows, args[1]->boolean, pivots.ints(i));
    if (bad != 0 && args[2]->boolean) return context.fail(Error::InvalidArgument, "ldl_factor: a matrix is singular");
    info.ints(i)[0] = static_cast<int32_t>(bad);
    out.store(i, matrix);
  }
  for (MatrixWriter* writer : {&out, &pivots, &info}) writer->finish();
}
}  // namespace
void linalg_ldl_factor_ex_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { linalg_ldl_factor_ex<decltype(zero)>(context, args); });
}

namespace {
template <typename T>
void linalg_ldl_solve(KernelContext& context, Span<EValue*> args) {
  MatrixReader ld, b;
  if (!ld.init_square(context, *args[0]->tensor) || !b.init_beside(context, *args[2]->tensor, ld)) return;
  if (!require(context, b.batch == ld.batch && b.rows == ld.rows,
               "ldl_solve: the right side does not fit: wanted [.., n, k], and one for each matrix"))
    return;
  const int32_t* swaps = copied_pivots(context, *args[1]->tensor, ld);
  MatrixWriter out;
  T* matrix = context.allocate_temp_array<T>(ld.area());
  T* right = context.allocate_temp_array<T>(b.area());
  if (!swaps || !matrix || !right || !out.init(context, *args[4]->tensor, b, b.rows, b.columns)) return;
  for (int64_t i = 0; i < ld.batch; ++i) {
    if (!require(context, dense::ldl_pivots_fit(swaps + i * ld.rows, ld.rows),
                 "ldl_solve: a pivot is out of range: wanted 1 to n, or pairs of -n to -1"))
      return;
  }
  for (int64_t i = 0; i < ld.batch; ++i) {
    ld.load(i, matrix);
    b.load(i, right);
    dense::ldl_solve(matrix, swaps + i * ld.rows, ld.rows, args[3]->boolean, right, b.columns);
    out.store(i, right);
  }
  out.finish();
}
}  // namespace
void linalg_ldl_solve_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { linalg_ldl_solve<decltype(zero)>(context, args); });
}

namespace {
// sign and log |det| of a matrix from its factors.
template <typename T>
struct Determinant {
  T sign = T(1), value = T(1);
  double log = 0;
};
double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
dense::Complex sign_of(dense::Complex x) { return x == dense::Complex() ? x : x / dense::magnitude(x); }
template <typename T>
Determinant<T> determinant(const T* lu, const int32_t* pivots, int64_t n) {
  Determinant<T> out;
  for (int64_t i = 0; i < n; ++i) {
    const T d = lu[i * n + i];
    out.value = out.value * (pivots[i] == i + 1 ? d : -d);
    out.sign = out.sign * (pivots[i] == i + 1 ? sign_of(d) : -sign_of(d));
    out.log += math::log(dense::magnitude(d));
  }
  return out;
}
}  // namespace

/// (A; det, LU, pivots) or (A; sign, log |det|, LU, pivots).
template <typename T>
static void determinants(KernelContext& context, Span<EValue*> args, bool logarithm) {
  MatrixReader a;
  if (!a.init_square(context, *args[0]->tensor)) return;
  MatrixWriter first, second, lu, pivots;
  const size_t rest = logarithm ? 3 : 2;
  if (!first.init(context, *args[1]->tensor, a, -1, -1) ||
      (logarithm && !second.init(context, *args[2]->tensor, a, -1, -1, Holds::reals)) ||
      !lu.init(context, *args[rest]->tensor, a, a.rows, a.rows) ||
      !pivots.init(context, *args[rest + 1]->tensor, a, a.rows, -1, Holds::indices))
    return;
  T* matrix = context.allocate_temp_array<T>(a.area());
  if (!matrix) return;
  for (int64_t i = 0; i < a.batch; ++i) {
    a.load(i, matrix);
    dense::lu(matrix, a.rows, a.rows, true, pivots.ints(i));
    const Determinant<T> d = determinant(matrix, pivots.ints(i), a.rows);
    first.store(i, logarithm ? &d.sign : &d.value);
    if (logarithm) second.store(i, &d.log);
    lu.store(i, matrix);
  }
  for (MatrixWriter* writer : {&first, &lu, &pivots}) writer->finish();
  if (logarithm) second.finish();
}
void linalg_det_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { determinants<decltype(zero)>(context, args, false); });
}
void linalg_slogdet_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { determinants<decltype(zero)>(context, args, true); });
}

namespace {
template <typename T>
void linalg_matrix_exp(KernelContext& context, Span<EValue*> args) {
  MatrixReader a;
  MatrixWriter out;
  if (!a.init_square(context, *args[0]->tensor) || !out.init(context, *args[1]->tensor, a, a.rows, a.rows)) return;
  T* matrix = context.allocate_temp_array<T>(a.area());
  T* work = context.allocate_temp_array<T>(3 * a.area());
  if (!matrix || !work) return;
  for (int64_t i = 0; i < a.batch; ++i) {
    a.load(i, matrix);
    dense::exponential(matrix, a.rows, work);
    out.store(i, matrix);
  }
  out.finish();
}
}  // namespace
void linalg_matrix_exp_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { linalg_matrix_exp<decltype(zero)>(context, args); });
}

}  // namespace kernels
}  // namespace wick
