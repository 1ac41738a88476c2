#include "runtime/kernels/linear_algebra/matmul.h"

#include <string.h>

#include <type_traits>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/linear_algebra/gemm.h"
#include "runtime/kernels/linear_algebra/tiled_product.h"

namespace wick {
namespace {

template <typename T>
T* at(const Matrix& x, int64_t batch, int64_t row, int64_t column) {
  return static_cast<T*>(x.data) + batch * x.batch_stride + row * x.row_stride + column * x.column_stride;
}

Matrix transposed(Matrix x) {
  const int64_t rows = x.row_stride;
  x.row_stride = x.column_stride;
  x.column_stride = rows;
  return x;
}

MatrixProduct transposed(const MatrixProduct& p) {
  MatrixProduct t = p;
  t.m = p.n;
  t.n = p.m;
  t.a = transposed(p.b);
  t.b = transposed(p.a);
  t.c = transposed(p.c);
  t.addend = transposed(p.addend);
  return t;
}

// --- f32 -------------------------------------------------------------------------------------------------------------

struct FloatOperands {
  Matrix a, b;  // batch resolved into data
};

void pack_a_f32(const void* state, int64_t row, int64_t rows, int64_t k, int64_t k_count, float* out) {
  const Matrix& a = static_cast<const FloatOperands*>(state)->a;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < k_count; ++i) out[r * k_count + i] = *at<float>(a, 0, row + r, k + i);
}

void pack_b_f32(const void* state, const HotKernels& kernels, int64_t k, int64_t k_count, int64_t column,
                int64_t columns, float* out) {
  const Matrix& b = static_cast<const FloatOperands*>(state)->b;
  kernels.pack_strided(at<float>(b, 0, k, column), b.row_stride, b.column_stride, k_count, columns, out);
}

/// Estimated cycles of the matmul as it is: the register tiles with their padding, packing B, storing across rows.
double cost(const HotKernels& kernels, const MatrixProduct& p) {
  const int64_t lanes = kernels.gemm_columns / 2, columns = (p.n + lanes - 1) / lanes;
  const double tiles = static_cast<double>(p.m) * static_cast<double>(columns) * static_cast<double>(p.k);
  const double packing = static_cast<double>(p.n) * static_cast<double>(p.k) * (p.b.column_stride == 1 ? 0.3 : 0.7);
  const double copying = p.a.column_stride == 1 ? 0.0 : static_cast<double>(p.m) * static_cast<double>(p.k) * 2.0;
  const double storing = p.c.column_stride == 1 ? 0.0 : static_cast<double>(p.m) * static_cast<double>(p.n) * 2.0;
  return tiles * 0.5 + packing + copying + storing;
}

float scaled(double alpha, float value) { return alpha == 1.0 ? value : static_cast<float>(alpha) * value; }

/// Few rows and contiguous columns of B (a linear layer on one token): one dot product for each element.
bool multiply_by_dots(KernelContext& context, const MatrixProduct& p, float alpha) {
  if (p.m > 3 || p.a.column_stride != 1 || p.b.row_stride != 1 || p.k == 0) return false;
  const HotKernels& kernels = hot(context.isa());
  const int64_t grain = 65536 / (p.k + 1) + 1;
  context.parallel_for(p.batch * p.n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t batch = item / p.n, column = item % p.n;
      for (int64_t row = 0; row < p.m; ++row) {
        const float sum = kernels.dot(at<float>(p.a, batch, row, 0), at<float>(p.b, batch, 0, column), p.k);
        *at<float>(p.c, batch, row, column) = scaled(alpha, sum);
      }
    }
  });
  return true;
}

/// One row and contiguous rows of B: a sum of the rows of B.
bool multiply_by_rows(KernelContext& context, const MatrixProduct& p, float alpha) {
  if (p.m != 1 || p.b.column_stride != 1 || p.c.column_stride != 1 || p.k == 0) return false;
  const HotKernels& kernels = hot(context.isa());
  constexpr int64_t kChunk = 512;
  const int64_t chunks = (p.n + kChunk - 1) / kChunk;
  context.parallel_for(p.batch * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t batch = item / chunks, first = item % chunks * kChunk;
      const int64_t count = p.n - first < kChunk ? p.n - first : kChunk;
      float* c = at<float>(p.c, batch, 0, first);
      memset(c, 0, static_cast<size_t>(count) * sizeof(float));
      for (int64_t k = 0; k < p.k; ++k)
        kernels.axpy(*at<float>(p.a, batch, 0, k), at<float>(p.b, batch, k, first), c, count);
      if (alpha != 1.0f) kernels.scale_row(c, alpha, count);
    }
  });
  return true;
}

/// C += beta D.
void add_scaled(KernelContext& context, const MatrixProduct& p) {
  const float beta = static_cast<float>(p.beta.to_double());
  context.parallel_for(p.batch * p.m, 4096 / (p.n + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      float* c = at<float>(p.c, item / p.m, item % p.m, 0);
      const float* d = at<float>(p.addend, item / p.m, item % p.m, 0);
      for (int64_t j = 0; j < p.n; ++j)
        c[j * p.c.column_stride] += beta == 1.0f ? d[j * p.addend.column_stride] : beta * d[j * p.addend.column_stride];
    }
  });
}

void multiply_f32(KernelContext& context, const MatrixProduct& given) {
  const HotKernels& kernels = hot(context.isa());
  const MatrixProduct other = transposed(given);
  const MatrixProduct& p = cost(kernels, other) < cost(kernels, given) ? other : given;
  const float alpha = static_cast<float>(p.alpha.to_double());
  const bool fast = multiply_by_dots(context, given, alpha) || multiply_by_dots(context, other, alpha) ||
                    multiply_by_rows(context, given, alpha) || multiply_by_rows(context, other, alpha);
  if (fast) {
    if (p.addend.data) add_scaled(context, given);
    return;
  }
  const bool unit = p.addend.data && p.beta.to_double() == 1.0 && p.addend.batch_stride == 0;
  const bool columns_bias = unit && p.addend.row_stride == 0 && (p.addend.column_stride == 1 || p.n == 1);
  const bool rows_bias = unit && !columns_bias && p.addend.column_stride == 0 && (p.addend.row_stride == 1 || p.m == 1);
  const GemmScratch scratch = make_gemm_scratch(context, p.m, p.n, p.k, false);
  if (!scratch.memory) return;
  run_gemm_batch<FloatOperands>(context, p.batch, p.m, p.n, scratch, [&](int64_t index, FloatOperands& operands) {
    operands.a = p.a;
    operands.b = p.b;
    operands.a.data = at<float>(p.a, index, 0, 0);
    operands.b.data = at<float>(p.b, index, 0, 0);
    GemmProblem problem;
    problem.m = p.m;
    problem.n = p.n;
    problem.k = p.k;
    problem.a = static_cast<const float*>(operands.a.data);
    problem.a_row_stride = p.a.row_stride;
    if (p.a.column_stride != 1) problem.pack_a = pack_a_f32;
    problem.a_state = &operands;
    problem.pack_b = pack_b_f32;
    problem.b_state = &operands;
    problem.c = at<float>(p.c, index, 0, 0);
    problem.c_row_stride = p.c.row_stride;
    problem.c_column_stride = p.c.column_stride;
    problem.alpha = alpha;
    if (columns_bias) problem.column_bias = at<float>(p.addend, 0, 0, 0);
    if (rows_bias) problem.row_bias = at<float>(p.addend, 0, 0, 0);
    return problem;
  });
  if (p.addend.data && !columns_bias && !rows_bias) add_scaled(context, p);
}

// --- 16-bit floats: f32 inside, converted block by block -------------------------------------------------------------

struct HalfOperands {
  const MatrixProduct* product;
  int64_t batch;
  float beta;
};

template <typename T>
void pack_a_half(const void* state, int64_t row, int64_t rows, int64_t k, int64_t k_count, float* out) {
  const HalfOperands& o = *static_cast<const HalfOperands*>(state);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < k_count; ++i)
      out[r * k_count + i] = static_cast<float>(*at<T>(o.product->a, o.batch, row + r, k + i));
}

template <typename T>
void pack_b_half(const void* state, const HotKernels& kernels, int64_t k, int64_t k_count, int64_t column,
                 int64_t columns, float* out) {
  const HalfOperands& o = *static_cast<const HalfOperands*>(state);
  const int64_t width = kernels.gemm_columns;
  for (int64_t first = 0; first < columns; first += width, out += k_count * width) {
    for (int64_t i = 0; i < k_count; ++i)
      for (int64_t j = 0; j < width; ++j)
        out[i * width + j] =
            first + j < columns ? static_cast<float>(*at<T>(o.product->b, o.batch, k + i, column + first + j)) : 0.0f;
  }
}

template <typename T>
void store_half(const void* state, int64_t row, int64_t rows, int64_t column, int64_t columns, const float* block) {
  const HalfOperands& o = *static_cast<const HalfOperands*>(state);
  const Matrix& d = o.product->addend;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < columns; ++j) {
      float value = block[r * columns + j];
      if (d.data) value += o.beta * static_cast<float>(*at<T>(d, o.batch, row + r, column + j));
      *at<T>(o.product->c, o.batch, row + r, column + j) = T(value);
    }
  }
}

template <typename T>
void multiply_half(KernelContext& context, const MatrixProduct& p) {
  const GemmScratch scratch = make_gemm_scratch(context, p.m, p.n, p.k, true);
  if (!scratch.memory) return;
  run_gemm_batch<HalfOperands>(context, p.batch, p.m, p.n, scratch, [&](int64_t index, HalfOperands& operands) {
    operands = {&p, index, static_cast<float>(p.beta.to_double())};
    GemmProblem problem;
    problem.m = p.m;
    problem.n = p.n;
    problem.k = p.k;
    problem.alpha = static_cast<float>(p.alpha.to_double());
    problem.pack_a = pack_a_half<T>;
    problem.pack_b = pack_b_half<T>;
    problem.store_c = store_half<T>;
    problem.a_state = problem.b_state = problem.c_state = &operands;
    return problem;
  });
}

// --- every other type ------------------------------------------------------------------------------------------------

template <typename T>
ProductSum<T> scalar_of(const EValue& v) {
  if constexpr (std::is_integral<T>::value) {
    return static_cast<ProductSum<T>>(v.to_int());
  } else {
    return ProductSum<T>(v.to_double());
  }
}

template <typename S>
S product_of(S a, S b) {
  return a * b;
}
/// Without the C library's rules for infinite parts.
template <typename F>
std::complex<F> product_of(std::complex<F> a, std::complex<F> b) {
  return std::complex<F>(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
}

/// alpha * sum + beta * addend, at the element's position in C.
template <typename T>
struct StoreElement {
  const MatrixProduct& p;
  const ProductSum<T> alpha = scalar_of<T>(p.alpha), beta = scalar_of<T>(p.beta), one = ProductSum<T>(1);

  void operator()(int64_t batch, int64_t row, int64_t column, ProductSum<T> sum) const {
    ProductSum<T> value = alpha == one ? sum : product_of(alpha, sum);
    if (p.addend.data) {
      const auto d = static_cast<ProductSum<T>>(*at<T>(p.addend, batch, row, column));
      value += beta == one ? d : product_of(beta, d);
    }
    *at<T>(p.c, batch, row, column) = static_cast<T>(value);
  }
};

/// Sums of eight columns at a time.
template <typename T>
void multiply_rows(KernelContext& context, const MatrixProduct& p, const StoreElement<T>& store) {
  using Sum = ProductSum<T>;
  constexpr int64_t kWidth = 8;
  context.parallel_for(p.batch * p.m, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t batch = item / p.m, row = item % p.m;
      for (int64_t first = 0; first < p.n; first += kWidth) {
        const int64_t count = p.n - first < kWidth ? p.n - first : kWidth;
        Sum sums[kWidth] = {};
        const bool whole = count == kWidth && p.b.column_stride == 1;
        for (int64_t k = 0; whole && k < p.k; ++k) {
          const Sum left = static_cast<Sum>(*at<T>(p.a, batch, row, k));
          const T* right = at<T>(p.b, batch, k, first);
          for (int64_t j = 0; j < kWidth; ++j) sums[j] += product_of(left, static_cast<Sum>(right[j]));
        }
        for (int64_t k = 0; !whole && k < p.k; ++k) {
          const Sum left = static_cast<Sum>(*at<T>(p.a, batch, row, k));
          for (int64_t j = 0; j < count; ++j)
            sums[j] += product_of(left, static_cast<Sum>(*at<T>(p.b, batch, k, first + j)));
        }
        for (int64_t j = 0; j < count; ++j) store(batch, row, first + j, sums[j]);
      }
    }
  });
}

/// Complex matrices as real ones, in double: rows of (re, im) times (re, im) over (-im, re).
template <typename F>
void multiply_complex(KernelContext& context, const MatrixProduct& p) {
  using C = std::complex<F>;
  const auto pack_a = [&](int64_t batch, int64_t row, int64_t rows, int64_t first, int64_t count, double* out) {
    for (int64_t i = first / 2; i < (first + count) / 2; ++i, out += 2 * kProductRows)
      for (int64_t r = 0; r < kProductRows; ++r) {
        const C value = r < rows ? *at<C>(p.a, batch, row + r, i) : C();
        out[r] = static_cast<double>(value.real());
        out[kProductRows + r] = static_cast<double>(value.imag());
      }
  };
  const auto pack_b = [&](int64_t batch, int64_t column, int64_t columns, int64_t width, int64_t first, int64_t count,
                          double* out) {
    for (int64_t i = first / 2; i < (first + count) / 2; ++i, out += 2 * width)
      for (int64_t j = 0; j < width; j += 2) {
        const C value = j < columns ? *at<C>(p.b, batch, i, (column + j) / 2) : C();
        out[j] = out[width + j + 1] = static_cast<double>(value.real());
        out[j + 1] = static_cast<double>(value.imag());
        out[width + j] = -static_cast<double>(value.imag());
      }
  };
  const auto store = [&](int64_t batch, int64_t row, int64_t column, double sum) {
    reinterpret_cast<F*>(at<C>(p.c, batch, row, column / 2))[column % 2] = static_cast<F>(sum);
  };
  multiply_tiled<double>(context, p.batch, p.m, 2 * p.n, 2 * p.k, pack_a, pack_b, store);
}

template <typename T>
void multiply_any(KernelContext& context, const MatrixProduct& p) {
  using Sum = ProductSum<T>;
  const StoreElement<T> store = {p};
  if constexpr (std::is_arithmetic<T>::value) {
    const auto pack_a = [&](int64_t batch, int64_t row, int64_t rows, int64_t first, int64_t count, Sum* out) {
      for (int64_t r = 0; r < kProductRows; ++r) {
        const T* from = at<T>(p.a, batch, row + (r < rows ? r : 0), first);
        for (int64_t i = 0; i < count; ++i)
          out[i * kProductRows + r] = r < rows ? static_cast<Sum>(from[i * p.a.column_stride]) : Sum(0);
      }
    };
    const auto pack_b = [&](int64_t batch, int64_t column, int64_t columns, int64_t width, int64_t first, int64_t count,
                            Sum* out) {
      const bool dense = p.b.column_stride == 1;
      for (int64_t i = first; i < first + count; ++i, out += width) {
        const T* from = at<T>(p.b, batch, i, column);
        for (int64_t j = 0; j < columns; ++j) out[j] = static_cast<Sum>(dense ? from[j] : from[j * p.b.column_stride]);
        for (int64_t j = columns; j < width; ++j) out[j] = Sum(0);
      }
    };
    if (p.m > 1) return multiply_tiled<Sum>(context, p.batch, p.m, p.n, p.k, pack_a, pack_b, store);
  }
  if constexpr (!std::is_arithmetic<T>::value) {
    const bool plain = store.alpha == store.one && !p.addend.data;
    if (plain && p.m > 1) return multiply_complex<typename T::value_type>(context, p);
  }
  multiply_rows<T>(context, p, store);
}

}  // namespace

void multiply(KernelContext& context, const MatrixProduct& given) {
  if (given.batch <= 0 || given.m <= 0 || given.n <= 0) return;
  MatrixProduct product = given;
  if (product.k == 0) {  // nothing is read, but addresses are computed
    product.a = product.b = Matrix();
    product.a.data = product.b.data = product.c.data;
  }
  switch (product.dtype) {
    case DType::f32: return multiply_f32(context, product);
    case DType::f16: return multiply_half<Half>(context, product);
    case DType::bf16: return multiply_half<BFloat16>(context, product);
    case DType::f64: return multiply_any<double>(context, product);
    default: break;
  }
  const auto any = [&](auto zero) { multiply_any<decltype(zero)>(context, product); };
  if (!dispatch_integral(product.dtype, any) && !dispatch_complex(product.dtype, any))
    context.fail(Error::InvalidType, "matmul of this dtype is not defined");
}

}  // namespace wick
