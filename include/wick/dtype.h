// Element types of tensors. The numbers are the ones stored in .pte files. C++17, freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace wick {

enum class DType : int8_t {
  u8 = 0,
  i8 = 1,
  i16 = 2,
  i32 = 3,
  i64 = 4,
  f16 = 5,
  f32 = 6,
  f64 = 7,
  c32 = 8,    // two f16
  c64 = 9,    // two f32
  c128 = 10,  // two f64
  boolean = 11,
  qi8 = 12,
  qu8 = 13,
  qi32 = 14,
  bf16 = 15,
  bits16 = 22,
  f8e5m2 = 23,
  f8e4m3fn = 24,
  f8e5m2fnuz = 25,
  f8e4m3fnuz = 26,
  u16 = 27,
  u32 = 28,
  u64 = 29,
  f8e8m0fnu = 44,
};

/// Bytes of one element; 0 if `dtype` is none of the enumerators (files hold arbitrary numbers).
size_t dtype_size_bytes(DType dtype);
/// The text form: "f32", "i64", "bool" ..; "?" for an unknown number.
const char* dtype_name(DType dtype);
/// Inverse of dtype_name over `size` characters. False if no dtype has that name.
bool dtype_from_name(const char* name, size_t size, DType* out);

/// f16, bf16, f32, f64 and the 8-bit floats.
bool is_floating(DType dtype);
/// Signed and unsigned integers; not bool, not quantized.
bool is_integral(DType dtype);
bool is_complex(DType dtype);

}  // namespace wick
