// QR, Hermitian eigenvalues and singular values over batches of matrices.
#include <string.h>

#include "runtime/kernels/linear_algebra/dense.h"
#include "runtime/kernels/linear_algebra/matrices.h"

namespace wick {
namespace kernels {
namespace {

bool is_word(const EValue& value, const char* word) {
  return value.string.size == strlen(word) && memcmp(value.string.data, word, value.string.size) == 0;
}

}  // namespace

/// (A, mode; Q, R): "reduced", "complete", or "r", which leaves Q empty.
namespace {
template <typename T>
void linalg_qr(KernelContext& context, Span<EValue*> args) {
  MatrixReader a;
  if (!a.init(context, *args[0]->tensor)) return;
  const bool complete = is_word(*args[1], "complete"), only_r = is_word(*args[1], "r");
  if (!require(context, complete || only_r || is_word(*args[1], "reduced"),
               "qr: the mode is unknown: wanted reduced, complete or r"))
    return;
  const int64_t count = a.rows < a.columns ? a.rows : a.columns, inner = complete ? a.rows : count;
  MatrixWriter q, r;
  T* matrix = context.allocate_temp_array<T>(a.area());
  T* tau = context.allocate_temp_array<T>(static_cast<size_t>(count));
  T* full = context.allocate_temp_array<T>(static_cast<size_t>(a.rows * inner));
  if (!matrix || !tau || !full || !r.init(context, *args[3]->tensor, a, inner, a.columns)) return;
  if (!only_r && !q.init(context, *args[2]->tensor, a, a.rows, inner)) return;
  for (int64_t i = 0; i < a.batch; ++i) {
    a.load(i, matrix);
    dense::householder(matrix, a.rows, a.columns, tau);
    if (!only_r) {
      dense::form_q(matrix, a.rows, a.columns, tau, count, full, inner);
      q.store(i, full);
    }
    for (int64_t k = 0; k < a.rows * a.columns; ++k) {
      if (k / a.columns > k % a.columns) matrix[k] = 0;
    }
    r.store(i, matrix);
  }
  if (!only_r) q.finish();
  r.finish();
}
}  // namespace
void linalg_qr_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { linalg_qr<decltype(zero)>(context, args); });
}

namespace {
template <typename T>
void geqrf(KernelContext& context, Span<EValue*> args) {
  MatrixReader a;
  if (!a.init(context, *args[0]->tensor)) return;
  const int64_t count = a.rows < a.columns ? a.rows : a.columns;
  MatrixWriter out, tau;
  T* matrix = context.allocate_temp_array<T>(a.area());
  T* scales = context.allocate_temp_array<T>(static_cast<size_t>(count));
  if (!matrix || !scales || !out.init(context, *args[1]->tensor, a, a.rows, a.columns) ||
      !tau.init(context, *args[2]->tensor, a, count, -1))
    return;
  for (int64_t i = 0; i < a.batch; ++i) {
    a.load(i, matrix);
    dense::householder(matrix, a.rows, a.columns, scales);
    out.store(i, matrix);
    tau.store(i, scales);
  }
  out.finish();
  tau.finish();
}
}  // namespace
void geqrf_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { geqrf<decltype(zero)>(context, args); });
}

namespace {
template <typename T>
void householder_product(KernelContext& context, Span<EValue*> args) {
  MatrixReader a, tau;
  const Tensor& scales = *args[1]->tensor;
  if (!a.init(context, *args[0]->tensor)) return;
  const int64_t count = scales.rank > 0 ? scales.sizes[scales.rank - 1] : 0;
  if (!require(
          context,
          a.rows >= a.columns && count <= a.columns && static_cast<int64_t>(scales.numel) == a.batch * count &&
              scales.dtype == a.dtype,
          "householder_product: the factors do not fit: wanted matrices [.., m, n] with m >= n, and at most n factors "
          "of their dtype for each"))
    return;
  tau.data = contiguous_data(context, scales);
  tau.dtype = a.dtype;
  tau.rows = 1;
  tau.columns = count;
  MatrixWriter out;
  T* matrix = context.allocate_temp_array<T>(a.area());
  T* factors = context.allocate_temp_array<T>(static_cast<size_t>(count));
  T* q = context.allocate_temp_array<T>(a.area());
  if (!tau.data || !matrix || !factors || !q || !out.init(context, *args[2]->tensor, a, a.rows, a.columns)) return;
  for (int64_t i = 0; i < a.batch; ++i) {
    a.load(i, matrix);
    tau.load(i, factors);
    dense::form_q(matrix, a.rows, a.columns, factors, count, q, a.columns);
    out.store(i, q);
  }
  out.finish();
}
}  // namespace
void householder_product_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { householder_product<decltype(zero)>(context, args); });
}

/// (A, UPLO, with vectors; values, vectors). Reads one triangle only.
namespace {
template <typename T>
void linalg_eigh(KernelContext& context, Span<EValue*> args) {
  MatrixReader a;
  if (!a.init_square(context, *args[0]->tensor)) return;
  const bool upper = is_word(*args[1], "U") || is_word(*args[1], "u"), vectors = args[2]->boolean;
  MatrixWriter values, basis;
  T* matrix = context.allocate_temp_array<T>(a.area());
  T* v = context.allocate_temp_array<T>(a.area());
  double* w = context.allocate_temp_array<double>(static_cast<size_t>(a.rows));
  if (!matrix || !v || !w || !values.init(context, *args[3]->tensor, a, a.rows, -1, Holds::reals)) return;
  if (vectors && !basis.init(context, *args[4]->tensor, a, a.rows, a.rows)) return;
  for (int64_t i = 0; i < a.batch; ++i) {
    a.load(i, matrix, upper ? Form::adjoint : Form::plain);
    for (int64_t k = 0; k < a.rows * a.rows; ++k) {
      const int64_t row = k / a.rows, column = k % a.rows;
      if (column > row) matrix[k] = dense::conjugate(matrix[column * a.rows + row]);
      if (column == row) matrix[k] = T(dense::real_part(matrix[k]));
    }
    dense::eigen_symmetric(matrix, a.rows, w, v);
    values.store(i, w);
    if (vectors) basis.store(i, v);
  }
  values.finish();
  if (vectors) basis.finish();
}
}  // namespace
void linalg_eigh_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { linalg_eigh<decltype(zero)>(context, args); });
}

/// (A, full matrices, with vectors, driver; U, S, Vh).
namespace {
template <typename T>
void linalg_svd(KernelContext& context, Span<EValue*> args) {
  MatrixReader a;
  if (!a.init(context, *args[0]->tensor)) return;
  const bool full = args[1]->boolean, vectors = args[2]->boolean, wide = a.rows < a.columns;
  const int64_t large = wide ? a.columns : a.rows, small = wide ? a.rows : a.columns, outer = full ? large : small;
  MatrixWriter u, s, vh;
  T* matrix = context.allocate_temp_array<T>(a.area());
  T* v = context.allocate_temp_array<T>(static_cast<size_t>(small * small));
  double* w = context.allocate_temp_array<double>(static_cast<size_t>(small));
  T* basis = context.allocate_temp_array<T>(static_cast<size_t>(large * outer));
  if (!matrix || !v || !w || !basis || !s.init(context, *args[5]->tensor, a, small, -1, Holds::reals)) return;
  if (vectors && (!u.init(context, *args[4]->tensor, a, a.rows, wide ? small : outer) ||
                  !vh.init(context, *args[6]->tensor, a, wide ? outer : small, a.columns)))
    return;
  for (int64_t i = 0; i < a.batch; ++i) {
    a.load(i, matrix, wide ? Form::adjoint : Form::plain);  // tall
    dense::singular_values(matrix, large, small, w, v);
    s.store(i, w);
    if (!vectors) continue;
    for (int64_t k = 0; k < large * outer; ++k) {
      const int64_t column = k % outer;
      basis[k] = column < small ? matrix[k / outer * small + column] : T(0);
    }
    dense::complete_basis(basis, large, small, outer);
    // A = B diag(w) V^H if tall, V diag(w) B^H if wide; the second factor is wanted as its adjoint.
    if (wide) {
      u.store(i, v);
      vh.store(i, basis, Form::adjoint);
    } else {
      u.store(i, basis);
      vh.store(i, v, Form::adjoint);
    }
  }
  s.finish();
  if (vectors) {
    u.finish();
    vh.finish();
  }
}
}  // namespace
void linalg_svd_out(KernelContext& context, Span<EValue*> args) {
  with_element_type(*args[0]->tensor, [&](auto zero) { linalg_svd<decltype(zero)>(context, args); });
}

}  // namespace kernels
}  // namespace wick
