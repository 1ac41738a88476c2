// mm, bmm, addmm, baddbmm, linear.   Source: aten, Core ATen IR.
#include "runtime/kernels/linear_algebra/matmul.h"

namespace wick {
namespace kernels {
namespace {

/// The last two dimensions of `t` as matrices, the one before as batch (rank 3).
Matrix matrix_of(const Tensor& t) {
  Matrix x;
  x.data = t.data;
  x.row_stride = t.strides[t.rank - 2];
  x.column_stride = t.strides[t.rank - 1];
  if (t.rank == 3) x.batch_stride = t.strides[0];
  return x;
}

bool require(KernelContext& context, bool condition, Error error, const char* message) {
  if (!condition) context.fail(error, message);
  return condition;
}

/// `d` broadcast to [batch, m, n] (rank 3) or [m, n] (rank 2). False if it does not broadcast.
bool broadcast(const Tensor& d, int rank, const int32_t* sizes, Matrix* out) {
  if (d.rank > rank) return false;
  int64_t strides[3] = {0, 0, 0};
  for (int i = 0; i < d.rank; ++i) {
    const int to = rank - d.rank + i;
    if (d.sizes[i] != sizes[to] && d.sizes[i] != 1) return false;
    strides[to] = d.sizes[i] == 1 ? 0 : d.strides[i];
  }
  out->data = d.data;
  out->batch_stride = rank == 3 ? strides[0] : 0;
  out->row_stride = strides[rank - 2];
  out->column_stride = strides[rank - 1];
  return true;
}

/// C = alpha a b + beta d for ranks 2 or 3. d null: none.
void product(KernelContext& context, int rank, const Tensor& a, const Tensor& b, const Tensor* d, const EValue* beta,
             const EValue* alpha, Tensor& out) {
  const char* const shapes = "matmul: shapes do not fit, wanted [m, k] and [k, n] with equal batch";
  if (!require(context, a.rank == rank && b.rank == rank, Error::InvalidArgument, "matmul: wrong rank")) return;
  if (!require(context, a.dtype == b.dtype && a.dtype == out.dtype && (!d || d->dtype == a.dtype), Error::InvalidType,
               "matmul: dtypes differ"))
    return;
  const int32_t* a_sizes = a.sizes + rank - 2;
  const int32_t* b_sizes = b.sizes + rank - 2;
  if (!require(context, a_sizes[1] == b_sizes[0] && (rank == 2 || a.sizes[0] == b.sizes[0]), Error::InvalidArgument,
               shapes))
    return;
  const int32_t sizes[3] = {rank == 3 ? a.sizes[0] : a_sizes[0], rank == 3 ? a_sizes[0] : b_sizes[1], b_sizes[1]};
  MatrixProduct p;
  p.dtype = a.dtype;
  p.batch = rank == 3 ? a.sizes[0] : 1;
  p.m = a_sizes[0];
  p.k = a_sizes[1];
  p.n = b_sizes[1];
  p.a = matrix_of(a);
  p.b = matrix_of(b);
  const Error error = resize(out, Span<const int32_t>(sizes, static_cast<size_t>(rank)));
  if (!require(context, error == Error::Ok, error, "matmul: out has a different shape")) return;
  p.c = matrix_of(out);
  if (alpha) p.alpha = *alpha;
  if (beta) p.beta = *beta;
  if (d) {
    if (!require(context, broadcast(*d, rank, sizes, &p.addend), Error::InvalidArgument,
                 "self does not broadcast to the product"))
      return;
    if (p.beta.to_double() == 0.0) p.addend = Matrix();
  }
  multiply(context, p);
}

}  // namespace

void mm(KernelContext& context, Span<EValue*> args) {
  product(context, 2, *args[0]->tensor, *args[1]->tensor, nullptr, nullptr, nullptr, *args[2]->tensor);
}

void bmm(KernelContext& context, Span<EValue*> args) {
  product(context, 3, *args[0]->tensor, *args[1]->tensor, nullptr, nullptr, nullptr, *args[2]->tensor);
}

void addmm(KernelContext& context, Span<EValue*> args) {
  product(context, 2, *args[1]->tensor, *args[2]->tensor, args[0]->tensor, args[3], args[4], *args[5]->tensor);
}

void baddbmm(KernelContext& context, Span<EValue*> args) {
  product(context, 3, *args[1]->tensor, *args[2]->tensor, args[0]->tensor, args[3], args[4], *args[5]->tensor);
}

/// y[.., o] = sum_i x[.., i] * weight[o, i] + bias[o].
void linear(KernelContext& context, Span<EValue*> args) {
  const Tensor& input = *args[0]->tensor;
  const Tensor& weight = *args[1]->tensor;
  const Tensor* bias = args[2]->is_none() ? nullptr : args[2]->tensor;
  Tensor& out = *args[3]->tensor;
  const bool fits = input.rank >= 1 && input.rank <= kMaxRank && (weight.rank == 2 || weight.rank == 1) &&
                    input.sizes[input.rank - 1] == weight.sizes[weight.rank - 1];
  if (!require(context, fits, Error::InvalidArgument, "linear: wanted input [.., in] and weight [out, in]")) return;
  if (!require(context,
               input.dtype == weight.dtype && input.dtype == out.dtype && (!bias || bias->dtype == input.dtype),
               Error::InvalidType, "linear: dtypes differ"))
    return;
  const bool vector_weight = weight.rank == 1;  // weight [in]: the last dimension goes
  int32_t sizes[kMaxRank];
  int64_t rows = 1;
  for (int i = 0; i + 1 < input.rank; ++i) rows *= sizes[i] = input.sizes[i];
  if (!vector_weight) sizes[input.rank - 1] = weight.sizes[0];
  const size_t out_rank = static_cast<size_t>(input.rank) - (vector_weight ? 1 : 0);
  const Error error = resize(out, Span<const int32_t>(sizes, out_rank));
  if (!require(context, error == Error::Ok, error, "linear: out has a different shape")) return;
  const bool row_major = is_contiguous(input) && is_contiguous(out);
  if (!require(context, row_major, Error::NotSupported, "linear: input and out must be row-major")) return;
  MatrixProduct p;
  p.dtype = input.dtype;
  p.m = rows;
  p.k = input.sizes[input.rank - 1];
  p.n = vector_weight ? 1 : weight.sizes[0];
  p.a.data = input.data;
  p.a.row_stride = p.k;
  p.a.column_stride = 1;
  p.b.data = weight.data;
  p.b.row_stride = weight.strides[weight.rank - 1];
  p.b.column_stride = vector_weight ? 0 : weight.strides[0];
  p.c.data = out.data;
  p.c.row_stride = p.n;
  p.c.column_stride = 1;
  if (bias) {
    const bool bias_fits = (bias->rank == 1 && (bias->sizes[0] == p.n || bias->sizes[0] == 1)) || bias->rank == 0;
    if (!require(context, bias_fits, Error::InvalidArgument, "linear: bias must have [out] elements")) return;
    p.addend.data = bias->data;
    p.addend.column_stride = bias->rank == 1 && bias->sizes[0] != 1 ? 1 : 0;
  }
  multiply(context, p);
}

}  // namespace kernels
}  // namespace wick
