// Tensors as a program states them. C++17, freestanding.
#pragma once
#include "wick/program.h"
#include "wick/tensor.h"

namespace wick {

/// Sets the counts of elements and bytes of `meta`, whose dtype, sizes and dim order are what a file states. False,
/// with `why` said, if no tensor is so. Numbers below 30 are dtypes of the format; those without a size of ours are
/// refused.
bool measure_shape(TensorMeta* meta, const char** why);

/// Gives `tensor` the dtype, shape and layout that `meta` states, but no memory. `sizes` and `strides` have room for a
/// number of each dimension, and must outlive the tensor. Errors: those of compute_layout.
Error describe_tensor(const TensorMeta& meta, int32_t* sizes, int32_t* strides, Tensor* tensor);

}  // namespace wick
