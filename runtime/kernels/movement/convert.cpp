#include "runtime/kernels/movement/convert.h"

#include <limits.h>
#include <string.h>

#include <type_traits>

#include "common/float16.h"
#include "common/math/float_math.h"

namespace wick {
namespace kernels {
namespace {

/// The type of an element between the two conversions: one that holds it exactly.
enum class Wide : uint8_t { integer, natural, real, complex };

struct WideComplex {
  double re;
  double im;
};

union WideBuffer {
  int64_t integer[128];
  uint64_t natural[128];
  double real[128];
  WideComplex complex[128];
};
constexpr int64_t kChunk = 128;

template <typename T>
T read(const void* base, int64_t index) {
  T value;
  memcpy(&value, static_cast<const uint8_t*>(base) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}
template <typename T>
void write(void* base, int64_t index, T value) {
  memcpy(static_cast<uint8_t*>(base) + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

template <typename T, typename W>
void load_as(const void* src, int64_t stride, int64_t count, W* wide) {
  for (int64_t i = 0; i < count; ++i) wide[i] = static_cast<W>(read<T>(src, i * stride));
}

template <typename Part, typename Real>
void load_complex(const void* src, int64_t stride, int64_t count, WideComplex* wide) {
  for (int64_t i = 0; i < count; ++i) {
    wide[i].re = static_cast<Real>(read<Part>(src, 2 * i * stride));
    wide[i].im = static_cast<Real>(read<Part>(src, 2 * i * stride + 1));
  }
}

Wide load(const void* src, DType dtype, int64_t stride, int64_t count, WideBuffer* wide) {
  switch (dtype) {
    case DType::u8:
    case DType::qu8: load_as<uint8_t>(src, stride, count, wide->integer); return Wide::integer;
    case DType::i8:
    case DType::qi8: load_as<int8_t>(src, stride, count, wide->integer); return Wide::integer;
    case DType::i16: load_as<int16_t>(src, stride, count, wide->integer); return Wide::integer;
    case DType::i32:
    case DType::qi32: load_as<int32_t>(src, stride, count, wide->integer); return Wide::integer;
    case DType::i64: load_as<int64_t>(src, stride, count, wide->integer); return Wide::integer;
    case DType::bits16:
    case DType::u16: load_as<uint16_t>(src, stride, count, wide->integer); return Wide::integer;
    case DType::u32: load_as<uint32_t>(src, stride, count, wide->integer); return Wide::integer;
    case DType::u64: load_as<uint64_t>(src, stride, count, wide->natural); return Wide::natural;
    case DType::boolean:
      for (int64_t i = 0; i < count; ++i) wide->integer[i] = read<uint8_t>(src, i * stride) != 0;
      return Wide::integer;
    case DType::f16: load_as<Half>(src, stride, count, wide->real); return Wide::real;
    case DType::bf16: load_as<BFloat16>(src, stride, count, wide->real); return Wide::real;
    case DType::f32: load_as<float>(src, stride, count, wide->real); return Wide::real;
    case DType::f64: load_as<double>(src, stride, count, wide->real); return Wide::real;
    case DType::c32: load_complex<Half, float>(src, stride, count, wide->complex); return Wide::complex;
    case DType::c64: load_complex<float, float>(src, stride, count, wide->complex); return Wide::complex;
    case DType::c128: load_complex<double, double>(src, stride, count, wide->complex); return Wide::complex;
    default:
      for (int64_t i = 0; i < count; ++i) wide->real[i] = float_from_f8(read<uint8_t>(src, i * stride), dtype);
      return Wide::real;
  }
}

float magnitude(float value) { return math::abs_f(value); }
double magnitude(double value) { return math::abs(value); }

// Numbers out of range give the smallest integer. The smallest integer itself also takes that path, without a
// conversion.
template <typename Real>
int32_t int32_of(Real value) {
  return magnitude(value) < Real(2147483648.0) ? static_cast<int32_t>(value) : INT32_MIN;
}
template <typename Real>
int64_t int64_of(Real value) {
  return magnitude(value) < Real(9223372036854775808.0) ? static_cast<int64_t>(value) : INT64_MIN;
}
uint64_t uint64_of(double value) {
  if (value >= 9223372036854775808.0 && value < 18446744073709551616.0) return static_cast<uint64_t>(value);
  return static_cast<uint64_t>(int64_of(value));
}

// narrow<T>(wide): one element to its final type.
template <typename T>
struct Narrow {
  static T of(int64_t v) { return static_cast<T>(v); }
  static T of(uint64_t v) { return static_cast<T>(v); }
  static T of(double v) {
    if (sizeof(T) == 8 && static_cast<T>(-1) > T(0)) return static_cast<T>(uint64_of(v));
    const bool through_int32 = sizeof(T) < 4 || (sizeof(T) == 4 && static_cast<T>(-1) < T(0));
    return through_int32 ? static_cast<T>(int32_of(v)) : static_cast<T>(int64_of(v));
  }
  static T of(WideComplex v) { return of(v.re); }
};
struct Truth {};
template <>
struct Narrow<Truth> {
  static uint8_t of(int64_t v) { return v != 0; }
  static uint8_t of(uint64_t v) { return v != 0; }
  static uint8_t of(double v) { return v != 0; }
  static uint8_t of(WideComplex v) { return v.re != 0 || v.im != 0; }
};
template <>
struct Narrow<float> {
  static float of(int64_t v) { return static_cast<float>(v); }
  static float of(uint64_t v) { return static_cast<float>(v); }
  static float of(double v) { return static_cast<float>(v); }
  static float of(WideComplex v) { return static_cast<float>(v.re); }
};
template <>
struct Narrow<double> {
  static double of(int64_t v) { return static_cast<double>(v); }
  static double of(uint64_t v) { return static_cast<double>(v); }
  static double of(double v) { return v; }
  static double of(WideComplex v) { return v.re; }
};
template <>
struct Narrow<Half> {
  template <typename W>
  static Half of(W v) {
    return Half(Narrow<float>::of(v));
  }
};
template <>
struct Narrow<BFloat16> {
  template <typename W>
  static BFloat16 of(W v) {
    return BFloat16(Narrow<float>::of(v));
  }
};

template <typename T, typename W>
void store_as(const W* wide, void* dst, int64_t stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) write(dst, i * stride, Narrow<T>::of(wide[i]));
}

double imaginary(WideComplex v) { return v.im; }
template <typename W>
double imaginary(W) {
  return 0;
}

template <typename Part, typename W>
void store_complex(const W* wide, void* dst, int64_t stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    write(dst, 2 * i * stride, Narrow<Part>::of(wide[i]));
    write(dst, 2 * i * stride + 1, Narrow<Part>::of(imaginary(wide[i])));
  }
}

template <typename W>
void store(const W* wide, void* dst, DType dtype, int64_t stride, int64_t count) {
  switch (dtype) {
    case DType::u8:
    case DType::qu8: store_as<uint8_t>(wide, dst, stride, count); return;
    case DType::i8:
    case DType::qi8: store_as<int8_t>(wide, dst, stride, count); return;
    case DType::i16: store_as<int16_t>(wide, dst, stride, count); return;
    case DType::i32:
    case DType::qi32: store_as<int32_t>(wide, dst, stride, count); return;
    case DType::i64: store_as<int64_t>(wide, dst, stride, count); return;
    case DType::bits16:
    case DType::u16: store_as<uint16_t>(wide, dst, stride, count); return;
    case DType::u32: store_as<uint32_t>(wide, dst, stride, count); return;
    case DType::u64: store_as<uint64_t>(wide, dst, stride, count); return;
    case DType::boolean: store_as<Truth>(wide, dst, stride, count); return;
    case DType::f16: store_as<Half>(wide, dst, stride, count); return;
    case DType::bf16: store_as<BFloat16>(wide, dst, stride, count); return;
    case DType::f32: store_as<float>(wide, dst, stride, count); return;
    case DType::f64: store_as<double>(wide, dst, stride, count); return;
    case DType::c32: store_complex<Half>(wide, dst, stride, count); return;
    case DType::c64: store_complex<float>(wide, dst, stride, count); return;
    case DType::c128: store_complex<double>(wide, dst, stride, count); return;
    default:
      for (int64_t i = 0; i < count; ++i) write(dst, i * stride, f8_from_float(Narrow<float>::of(wide[i]), dtype));
  }
}

// --- packed to packed, without the wide buffer -----------------------------------------------------------------------

template <typename To, typename From>
To direct(From v) {
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return direct<To>(static_cast<float>(v));
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, int64_t>) {
    return int64_of(v);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return static_cast<To>(int32_of(v));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(v));
  } else {
    return static_cast<To>(v);  // integers wrap, floats round
  }
}

template <typename From, typename To>
void convert_packed(const void* src, void* dst, int64_t count) {
  for (int64_t i = 0; i < count; ++i) write(dst, i, direct<To>(read<From>(src, i)));
}
template <typename To>
void convert_packed_truth(const void* src, void* dst, int64_t count) {
  for (int64_t i = 0; i < count; ++i) write(dst, i, static_cast<To>(read<uint8_t>(src, i) != 0));
}

using PackedFn = void (*)(const void* src, void* dst, int64_t count);
struct PackedRow {
  DType from, to;
  PackedFn fn;
};
constexpr PackedRow kPacked[] = {
    {DType::f32, DType::f16, convert_packed<float, Half>},
    {DType::f16, DType::f32, convert_packed<Half, float>},
    {DType::f32, DType::bf16, convert_packed<float, BFloat16>},
    {DType::bf16, DType::f32, convert_packed<BFloat16, float>},
    {DType::f32, DType::f64, convert_packed<float, double>},
    {DType::f64, DType::f32, convert_packed<double, float>},
    {DType::f32, DType::i32, convert_packed<float, int32_t>},
    {DType::f32, DType::i16, convert_packed<float, int16_t>},
    {DType::f64, DType::i16, convert_packed<double, int16_t>},
    {DType::f32, DType::i64, convert_packed<float, int64_t>},
    {DType::f64, DType::i32, convert_packed<double, int32_t>},
    {DType::f64, DType::i64, convert_packed<double, int64_t>},
    {DType::i8, DType::f32, convert_packed<int8_t, float>},
    {DType::u8, DType::f32, convert_packed<uint8_t, float>},
    {DType::i16, DType::f32, convert_packed<int16_t, float>},
    {DType::i32, DType::f32, convert_packed<int32_t, float>},
    {DType::i64, DType::f32, convert_packed<int64_t, float>},
    {DType::i16, DType::f64, convert_packed<int16_t, double>},
    {DType::i32, DType::f64, convert_packed<int32_t, double>},
    {DType::i64, DType::f64, convert_packed<int64_t, double>},
    {DType::i8, DType::i32, convert_packed<int8_t, int32_t>},
    {DType::u8, DType::i32, convert_packed<uint8_t, int32_t>},
    {DType::i16, DType::i32, convert_packed<int16_t, int32_t>},
    {DType::i32, DType::i8, convert_packed<int32_t, int8_t>},
    {DType::i32, DType::u8, convert_packed<int32_t, uint8_t>},
    {DType::i32, DType::i16, convert_packed<int32_t, int16_t>},
    {DType::i8, DType::i64, convert_packed<int8_t, int64_t>},
    {DType::u8, DType::i64, convert_packed<uint8_t, int64_t>},
    {DType::i32, DType::i64, convert_packed<int32_t, int64_t>},
    {DType::i64, DType::i32, convert_packed<int64_t, int32_t>},
    {DType::i64, DType::i8, convert_packed<int64_t, int8_t>},
    {DType::i64, DType::u8, convert_packed<int64_t, uint8_t>},
    {DType::boolean, DType::f32, convert_packed_truth<float>},
    {DType::boolean, DType::i32, convert_packed_truth<int32_t>},
    {DType::boolean, DType::i64, convert_packed_truth<int64_t>},
};

PackedFn packed_conversion(DType from, DType to) {
  for (const PackedRow& row : kPacked)
    if (row.from == from && row.to == to) return row.fn;
  return nullptr;
}

/// The dtype through which a conversion without a row goes in two steps, with the same result; `from` if there is none.
DType intermediate(DType from, DType to) {
  const auto is_half = [](DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; };
  const auto is_small = [](DType dtype) { return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16; };
  if (is_half(from) || (is_half(to) && from != DType::f32)) return DType::f32;
  return from != DType::i32 && (is_small(from) || is_small(to)) ? DType::i32 : from;
}

/// False, with nothing written, if no rows lead from one dtype to the other.
bool convert_packed_elements(void* dst, DType to, const void* src, DType from, int64_t count) {
  if (const PackedFn fn = packed_conversion(from, to)) return fn(src, dst, count), true;
  const DType between = intermediate(from, to);
  const PackedFn first = packed_conversion(from, between);
  if (!first) return false;
  float buffer[kChunk];  // f32 or i32
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t n = count - i < kChunk ? count - i : kChunk;
    first(static_cast<const uint8_t*>(src) + i * static_cast<int64_t>(dtype_size_bytes(from)), buffer, n);
    void* target = static_cast<uint8_t*>(dst) + i * static_cast<int64_t>(dtype_size_bytes(to));
    if (!convert_packed_elements(target, to, buffer, between, n)) return false;
  }
  return true;
}

}  // namespace

void convert_elements(void* dst, DType dst_dtype, int64_t dst_stride, const void* src, DType src_dtype,
                      int64_t src_stride, int64_t count) {
  if (dst_stride == 1 && src_stride == 1 && count >= 8) {
    if (convert_packed_elements(dst, dst_dtype, src, src_dtype, count)) return;
  }
  const int64_t dst_step = dst_stride * static_cast<int64_t>(dtype_size_bytes(dst_dtype));
  const int64_t src_step = src_stride * static_cast<int64_t>(dtype_size_bytes(src_dtype));
  WideBuffer wide;
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t n = count - begin < kChunk ? count - begin : kChunk;
    void* to = static_cast<uint8_t*>(dst) + begin * dst_step;
    const void* from = static_cast<const uint8_t*>(src) + begin * src_step;
    switch (load(from, src_dtype, src_stride, n, &wide)) {
      case Wide::integer: store(wide.integer, to, dst_dtype, dst_stride, n); break;
      case Wide::natural: store(wide.natural, to, dst_dtype, dst_stride, n); break;
      case Wide::real: store(wide.real, to, dst_dtype, dst_stride, n); break;
      case Wide::complex: store(wide.complex, to, dst_dtype, dst_stride, n); break;
    }
  }
}

void scalar_to_element(const EValue& scalar, DType dtype, void* out) {
  if (scalar.tag == Tag::real) {
    convert_elements(out, dtype, 1, &scalar.real, DType::f64, 1, 1);
  } else {
    const int64_t value = scalar.tag == Tag::boolean ? (scalar.boolean ? 1 : 0) : scalar.integer;
    convert_elements(out, dtype, 1, &value, DType::i64, 1, 1);
  }
}

double element_to_double(const void* element, DType dtype) {
  double value;
  convert_elements(&value, DType::f64, 1, element, dtype, 1, 1);
  return value;
}

int64_t element_to_int(const void* element, DType dtype) {
  int64_t value;
  convert_elements(&value, DType::i64, 1, element, dtype, 1, 1);
  return value;
}

}  // namespace kernels
}  // namespace wick
