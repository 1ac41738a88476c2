// Reads and writes batches of matrices as doubles or complex doubles.
#pragma once
#include "common/math/math.h"
#include "runtime/kernels/linear_algebra/dense.h"
#include "runtime/kernels/movement/arguments.h"

namespace wick {
namespace kernels {

/// Element `at` of a tensor of f32 or f64, or of c64 or c128.
inline double element_of(const void* data, bool wide, int64_t at, double) {
  return wide ? static_cast<const double*>(data)[at] : static_cast<double>(static_cast<const float*>(data)[at]);
}
inline dense::Complex element_of(const void* data, bool wide, int64_t at, dense::Complex) {
  return {element_of(data, wide, 2 * at, 0.0), element_of(data, wide, 2 * at + 1, 0.0)};
}
inline void set_element(void* data, bool wide, int64_t at, double value) {
  if (wide)
    static_cast<double*>(data)[at] = value;
  else
    static_cast<float*>(data)[at] = static_cast<float>(value);
}
inline void set_element(void* data, bool wide, int64_t at, dense::Complex value) {
  set_element(data, wide, 2 * at, value.re);
  set_element(data, wide, 2 * at + 1, value.im);
}

/// The matrix as it is, transposed, or transposed and conjugated.
enum class Form : uint8_t { plain, transposed, adjoint };

/// The matrices in the last two dimensions of a tensor of f32, f64, c64 or c128.
struct MatrixReader {
  const void* data = nullptr;
  DType dtype = DType::f32;
  int lead = 0;  // leading dimensions
  int64_t sizes[kMaxRank] = {};
  int64_t batch = 1, rows = 0, columns = 0;

  bool init(KernelContext& context, const Tensor& tensor) {
    if (!require(context, tensor.rank >= 2, "a tensor of fewer than two dimensions: wanted matrices [.., m, n]"))
      return false;
    if (tensor.dtype != DType::f32 && tensor.dtype != DType::f64 && tensor.dtype != DType::c64 &&
        tensor.dtype != DType::c128) {
      context.fail(Error::InvalidType, "a matrix has a different dtype: wanted f32, f64, c64 or c128");
      return false;
    }
    lead = tensor.rank - 2;
    rows = tensor.sizes[lead];
    columns = tensor.sizes[lead + 1];
    // Empty matrices take no memory, so a file could otherwise ask for any number of them.
    constexpr int64_t kMaxBatch = int64_t{1} << 31, kMaxEmpty = int64_t{1} << 16;
    for (int d = 0; d < lead; ++d) {
      sizes[d] = tensor.sizes[d];
      if (!require(context, sizes[d] == 0 || batch <= kMaxBatch / sizes[d],
                   "a batch of more than 2^31 matrices: wanted fewer"))
        return false;
      batch *= sizes[d];
    }
    if (!require(context, rows * columns != 0 || batch <= kMaxEmpty,
                 "a batch of more than 2^16 empty matrices: wanted fewer"))
      return false;
    dtype = tensor.dtype;
    data = contiguous_data(context, tensor);
    return data != nullptr || tensor.numel == 0;
  }
  bool init_square(KernelContext& context, const Tensor& tensor) {
    return init(context, tensor) && require(context, rows == columns, "a matrix is not square: wanted [.., n, n]");
  }
  /// A right-hand side for the matrices of `like`: real if these are real, complex if they are complex.
  bool init_beside(KernelContext& context, const Tensor& tensor, const MatrixReader& like) {
    return init(context, tensor) &&
           require(context, is_complex(tensor.dtype) == is_complex(like.dtype),
                   "a right side has a different dtype than its matrix: wanted real or complex numbers in both");
  }
  size_t area() const { return static_cast<size_t>(rows * columns); }
  bool is_wide() const { return dtype == DType::f64 || dtype == DType::c128; }
  /// Matrix i as T, row-major.
  template <typename T>
  void load(int64_t i, T* out, Form form = Form::plain) const {
    for (int64_t k = 0; k < rows * columns; ++k) {
      const T value = element_of(data, is_wide(), i * rows * columns + k, T());
      out[form == Form::plain ? k : k % columns * rows + k / columns] =
          form == Form::adjoint ? dense::conjugate(value) : value;
    }
  }
};

/// The elements of a result: numbers of the matrices' dtype, real numbers of their precision, or i32 indices.
enum class Holds : uint8_t { numbers, reals, indices };

/// A result with the leading dimensions of a reader and up to two more; -1 leaves one out.
struct MatrixWriter {
  KernelContext* context = nullptr;
  Tensor* tensor = nullptr;
  void* data = nullptr;
  int64_t rows = 1, columns = 1;

  bool init(KernelContext& kernel, Tensor& out, const MatrixReader& like, int64_t own_rows, int64_t own_columns,
            Holds holds = Holds::numbers) {
    context = &kernel;
    tensor = &out;
    int64_t sizes[kMaxRank];
    int rank = 0;
    for (; rank < like.lead; ++rank) sizes[rank] = like.sizes[rank];
    if (own_rows >= 0) sizes[rank++] = rows = own_rows;
    if (own_columns >= 0) sizes[rank++] = columns = own_columns;
    const DType real = like.is_wide() ? DType::f64 : DType::f32;
    const DType dtype = holds == Holds::indices ? DType::i32 : holds == Holds::reals ? real : like.dtype;
    if (!require_dtype(kernel, out, dtype, "a result has a different dtype") || !resize_out(kernel, out, sizes, rank))
      return false;
    data = contiguous_target(kernel, out);
    return data != nullptr || out.numel == 0;
  }
  int32_t* ints(int64_t i) { return static_cast<int32_t*>(data) + i * rows * columns; }
  /// Writes matrix i from T, row-major, or from another form of it.
  template <typename T>
  void store(int64_t i, const T* in, Form form = Form::plain) {
    const bool wide = tensor->dtype == DType::f64 || tensor->dtype == DType::c128;
    for (int64_t k = 0; k < rows * columns; ++k) {
      const T value = in[form == Form::plain ? k : k % columns * rows + k / columns];
      set_element(data, wide, i * rows * columns + k, form == Form::adjoint ? dense::conjugate(value) : value);
    }
  }
  void finish() {
    if (tensor->numel > 0) store_contiguous(*context, *tensor, data);
  }
};

/// Calls run(T()) with the type in which matrices of the tensor's dtype are computed.
template <typename F>
void with_element_type(const Tensor& tensor, const F& run) {
  if (is_complex(tensor.dtype)) return run(dense::Complex());
  run(double());
}

}  // namespace kernels
}  // namespace wick
