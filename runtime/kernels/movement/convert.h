// Conversion of elements between any two dtypes, by the rules of eager PyTorch on x86-64 and AArch64 alike.
#pragma once
#include <stdint.h>

#include "wick/dtype.h"
#include "wick/evalue.h"

namespace wick {
namespace kernels {

/// dst[i * dst_stride] = src[i * src_stride] for i < count; strides in elements.
///   to bool: x != 0 (NaN is true). Complex to real: the imaginary part is dropped. Integers wrap.
///   float to integer: truncates toward zero; 8 and 16 bits and i32 go through int32 and the others through int64,
///   where NaN and what does not fit become the smallest value; then the low bits are kept. u64 takes [2^63, 2^64) too.
///   to floats: rounds to nearest even, 16 and 8 bits wide ones by way of f32.
void convert_elements(void* dst, DType dst_dtype, int64_t dst_stride, const void* src, DType src_dtype,
                      int64_t src_stride, int64_t count);

/// The number `scalar` as one element of `dtype` at `out` (16 bytes).
void scalar_to_element(const EValue& scalar, DType dtype, void* out);

/// One element of any real dtype as double or int64 (complex: the real part).
double element_to_double(const void* element, DType dtype);
int64_t element_to_int(const void* element, DType dtype);

/// The 8-bit floats. `dtype` is one of f8e5m2, f8e4m3fn, f8e5m2fnuz, f8e4m3fnuz, f8e8m0fnu.
float float_from_f8(uint8_t bits, DType dtype);
uint8_t f8_from_float(float value, DType dtype);

}  // namespace kernels
}  // namespace wick
