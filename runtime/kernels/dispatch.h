// From a dtype to a C++ type. Each dispatch_* calls fn(T{}) for the element type T of `dtype` and returns true, or
// returns false without a call if the dtype is outside its set.
#pragma once
#include <complex>

#include "common/float16.h"
#include "wick/dtype.h"

namespace wick {

template <typename F>
bool dispatch_floating(DType dtype, F&& fn) {
  switch (dtype) {
    case DType::f32: fn(float{}); return true;
    case DType::f64: fn(double{}); return true;
    case DType::f16: fn(Half{}); return true;
    case DType::bf16: fn(BFloat16{}); return true;
    default: return false;
  }
}

template <typename F>
bool dispatch_integral(DType dtype, F&& fn) {
  switch (dtype) {
    case DType::u8: fn(uint8_t{}); return true;
    case DType::i8: fn(int8_t{}); return true;
    case DType::i16: fn(int16_t{}); return true;
    case DType::i32: fn(int32_t{}); return true;
    case DType::i64: fn(int64_t{}); return true;
    case DType::u16: fn(uint16_t{}); return true;
    case DType::u32: fn(uint32_t{}); return true;
    case DType::u64: fn(uint64_t{}); return true;
    default: return false;
  }
}

/// An element of a bool tensor. Its byte may have any value; every value but 0 is true.
struct BoolElement {
  uint8_t byte = 0;
  BoolElement() = default;
  BoolElement(bool value) : byte(value ? 1 : 0) {}
  operator bool() const { return byte != 0; }
};

/// Floating, integral and bool.
template <typename F>
bool dispatch_real(DType dtype, F&& fn) {
  if (dtype == DType::boolean) {
    fn(BoolElement{});
    return true;
  }
  return dispatch_floating(dtype, fn) || dispatch_integral(dtype, fn);
}

template <typename F>
bool dispatch_complex(DType dtype, F&& fn) {
  switch (dtype) {
    case DType::c64: fn(std::complex<float>{}); return true;
    case DType::c128: fn(std::complex<double>{}); return true;
    default: return false;
  }
}

/// For kernels that only move elements: calls fn with an unsigned type of the element's size (1, 2, 4, 8, 16 bytes).
struct Bytes16 {
  uint64_t words[2];
};
template <typename F>
bool dispatch_size(DType dtype, F&& fn) {
  switch (dtype_size_bytes(dtype)) {
    case 1: fn(uint8_t{}); return true;
    case 2: fn(uint16_t{}); return true;
    case 4: fn(uint32_t{}); return true;
    case 8: fn(uint64_t{}); return true;
    case 16: fn(Bytes16{}); return true;
    default: return false;
  }
}

}  // namespace wick
