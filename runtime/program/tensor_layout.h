// Tensors as a program states them. C++17, freestanding.
#pragma once
#include "wick/program.h"
#include "wick/tensor.h"

namespace wick {

/// Sets the counts of elements and bytes of `meta`, whose dtype, sizes and dim order come from a file. False, with the
/// reason in `why`, if no tensor can have these. Numbers below 30 are dtypes of the format; those without a size here
/// are refused.
bool measure_shape(TensorMeta* meta, const char** why);

/// Gives `tensor` the dtype, shape and layout of `meta`, but no memory. `sizes` and `strides` have room for one number
/// per dimension, and must outlive the tensor. Errors: those of compute_layout.
Error describe_tensor(const TensorMeta& meta, int32_t* sizes, int32_t* strides, Tensor* tensor);

}  // namespace wick
