// Reads and writes batches of matrices as doubles.
#pragma once
#include "common/math/math.h"
#include "runtime/kernels/movement/arguments.h"

namespace wick {
namespace kernels {

/// The matrices in the last two dimensions of an f32 or f64 tensor.
struct MatrixReader {
  const void* data = nullptr;
  DType dtype = DType::f32;
  int lead = 0;  // leading dimensions
  int64_t sizes[kMaxRank] = {};
  int64_t batch = 1, rows = 0, columns = 0;

  bool init(KernelContext& context, const Tensor& tensor) {
    if (!require(context, tensor.rank >= 2, "a tensor of fewer than two dimensions: wanted matrices [.., m, n]"))
      return false;
    if (tensor.dtype != DType::f32 && tensor.dtype != DType::f64) {
      context.fail(Error::InvalidType, "a matrix has a different dtype: wanted f32 or f64");
      return false;
    }
    lead = tensor.rank - 2;
    rows = tensor.sizes[lead];
    columns = tensor.sizes[lead + 1];
    // Empty matrices take no memory, so that a file could ask for any number of them.
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
  size_t area() const { return static_cast<size_t>(rows * columns); }
  /// Matrix i as doubles, row-major, or its transpose.
  void load(int64_t i, double* out, bool transposed = false) const {
    for (int64_t k = 0; k < rows * columns; ++k) {
      const int64_t at = i * rows * columns + k;
      out[transposed ? k % columns * rows + k / columns : k] =
          dtype == DType::f32 ? static_cast<double>(static_cast<const float*>(data)[at])
                              : static_cast<const double*>(data)[at];
    }
  }
};

/// A result with the leading dimensions of a reader and up to two more; -1 leaves one out. Numbers, or i32 indices.
struct MatrixWriter {
  KernelContext* context = nullptr;
  Tensor* tensor = nullptr;
  void* data = nullptr;
  int64_t rows = 1, columns = 1;

  bool init(KernelContext& kernel, Tensor& out, const MatrixReader& like, int64_t own_rows, int64_t own_columns,
            bool indices = false) {
    context = &kernel;
    tensor = &out;
    int64_t sizes[kMaxRank];
    int rank = 0;
    for (; rank < like.lead; ++rank) sizes[rank] = like.sizes[rank];
    if (own_rows >= 0) sizes[rank++] = rows = own_rows;
    if (own_columns >= 0) sizes[rank++] = columns = own_columns;
    if (!require_dtype(kernel, out, indices ? DType::i32 : like.dtype, "a result has a different dtype") ||
        !resize_out(kernel, out, sizes, rank))
      return false;
    data = contiguous_target(kernel, out);
    return data != nullptr || out.numel == 0;
  }
  int32_t* ints(int64_t i) { return static_cast<int32_t*>(data) + i * rows * columns; }
  /// Matrix i from doubles, row-major, or from the doubles of its transpose.
  void store(int64_t i, const double* in, bool transposed = false) {
    for (int64_t k = 0; k < rows * columns; ++k) {
      const double value = in[transposed ? k % columns * rows + k / columns : k];
      const int64_t at = i * rows * columns + k;
      if (tensor->dtype == DType::f32)
        static_cast<float*>(data)[at] = static_cast<float>(value);
      else
        static_cast<double*>(data)[at] = value;
    }
  }
  void finish() {
    if (tensor->numel > 0) store_contiguous(*context, *tensor, data);
  }
};

}  // namespace kernels
}  // namespace wick
