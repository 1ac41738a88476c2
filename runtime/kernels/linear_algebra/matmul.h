// Batched matmuls over any element type and strides, shared by mm, bmm, addmm, linear .. C++17, freestanding.
#pragma once
#include "wick/kernel.h"

namespace wick {

/// A batch of matrices; strides in elements, 0 repeats.
struct Matrix {
  void* data = nullptr;
  int64_t batch_stride = 0, row_stride = 0, column_stride = 0;
};

/// C = alpha A B + beta D for each of `batch` products. D null: no addend. k may be 0.
struct MatrixProduct {
  DType dtype = DType::f32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  Matrix a, b, c, addend;
  EValue alpha = EValue::of_int(1), beta = EValue::of_int(1);
};

/// Computes the product. Floats of 16 bits are summed in f32, integers wrap, complex numbers are c64 and c128. Fails
/// the context with InvalidType for any other dtype. The caller has checked sizes and strides.
void multiply(KernelContext& context, const MatrixProduct& product);

}  // namespace wick
