#include "runtime/kernels/elementwise_convert.h"

#include "runtime/kernels/dispatch.h"

namespace wick {
namespace {

template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<To, std::complex<float>> || std::is_same_v<To, std::complex<double>>) {
    using Part = typename To::value_type;
    if constexpr (std::is_same_v<From, std::complex<float>> || std::is_same_v<From, std::complex<double>>) {
      return To(static_cast<Part>(value.real()), static_cast<Part>(value.imag()));
    } else {
      return To(static_cast<Part>(value), 0);
    }
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != static_cast<From>(0);
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename From, typename To>
void load(const void* from, int64_t stride, void* to, int64_t count) {
  const From* source = static_cast<const From*>(from);
  To* target = static_cast<To*>(to);
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) target[i] = convert<To>(source[i]);
  } else if (stride == 0) {
    const To value = convert<To>(source[0]);
    for (int64_t i = 0; i < count; ++i) target[i] = value;
  } else {
    for (int64_t i = 0; i < count; ++i) target[i] = convert<To>(source[i * stride]);
  }
}

/// A bool's memory may hold any byte; only 0 is false.
template <typename To>
void load_boolean(const void* from, int64_t stride, void* to, int64_t count) {
  const uint8_t* source = static_cast<const uint8_t*>(from);
  To* target = static_cast<To*>(to);
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) target[i] = convert<To>(source[i] != 0);
    return;
  }
  for (int64_t i = 0; i < count; ++i) target[i] = convert<To>(source[i * stride] != 0);
}

template <typename From, typename To>
void store(const void* from, void* to, int64_t count) {
  const From* source = static_cast<const From*>(from);
  To* target = static_cast<To*>(to);
  for (int64_t i = 0; i < count; ++i) target[i] = convert<To>(source[i]);
}

template <typename To>
LoadFn load_to(DType dtype, bool from_integers, bool from_floats, bool from_complex) {
  LoadFn fn = nullptr;
  if (dtype == DType::boolean) return load_boolean<To>;
  if (from_integers) dispatch_integral(dtype, [&](auto zero) { fn = load<decltype(zero), To>; });
  if (from_floats) dispatch_floating(dtype, [&](auto zero) { fn = load<decltype(zero), To>; });
  if constexpr (std::is_same_v<To, std::complex<float>> || std::is_same_v<To, std::complex<double>>) {
    if (from_complex) dispatch_complex(dtype, [&](auto zero) { fn = load<decltype(zero), To>; });
  }
  return fn;
}

template <typename From>
StoreFn store_from(DType dtype) {
  StoreFn fn = nullptr;
  constexpr bool kComplex = std::is_same_v<From, std::complex<float>> || std::is_same_v<From, std::complex<double>>;
  if constexpr (!kComplex) {
    dispatch_floating(dtype, [&](auto zero) { fn = store<From, decltype(zero)>; });
    if constexpr (std::is_same_v<From, int64_t> || std::is_same_v<From, bool>) {
      dispatch_integral(dtype, [&](auto zero) { fn = store<From, decltype(zero)>; });
      if (dtype == DType::boolean) fn = store<From, bool>;
    }
  }
  dispatch_complex(dtype, [&](auto zero) { fn = store<From, decltype(zero)>; });
  return fn;
}

}  // namespace

LoadFn load_function(DType dtype, Lane lane) {
  switch (lane) {
    case Lane::f32: return load_to<float>(dtype, true, true, false);
    case Lane::f64: return load_to<double>(dtype, true, true, false);
    case Lane::i64: return load_to<int64_t>(dtype, true, false, false);
    case Lane::i8: return dtype == DType::i8 ? load<int8_t, int8_t> : nullptr;
    case Lane::u8: return dtype == DType::u8 ? load<uint8_t, uint8_t> : nullptr;
    case Lane::i16: return dtype == DType::i16 ? load<int16_t, int16_t> : nullptr;
    case Lane::i32: return dtype == DType::i32 ? load<int32_t, int32_t> : nullptr;
    case Lane::boolean: return load_to<bool>(dtype, true, true, false);
    case Lane::c64: return load_to<std::complex<float>>(dtype, true, true, true);
    case Lane::c128: return load_to<std::complex<double>>(dtype, true, true, true);
  }
  return nullptr;
}

StoreFn store_function(Lane lane, DType dtype) {
  switch (lane) {
    case Lane::f32: return store_from<float>(dtype);
    case Lane::f64: return store_from<double>(dtype);
    case Lane::i64: return store_from<int64_t>(dtype);
    case Lane::boolean: return store_from<bool>(dtype);
    case Lane::c64: return store_from<std::complex<float>>(dtype);
    case Lane::c128: return store_from<std::complex<double>>(dtype);
    case Lane::i8:
    case Lane::u8:
    case Lane::i16:
    case Lane::i32: return nullptr;  // out has the lane's dtype
  }
  return nullptr;
}

size_t lane_size_bytes(Lane lane) {
  switch (lane) {
    case Lane::f32: return 4;
    case Lane::f64: return 8;
    case Lane::i64: return 8;
    case Lane::i8:
    case Lane::u8:
    case Lane::boolean: return 1;
    case Lane::i16: return 2;
    case Lane::i32: return 4;
    case Lane::c64: return 8;
    case Lane::c128: return 16;
  }
  return 0;
}

bool is_lane_dtype(DType dtype, Lane lane) {
  switch (lane) {
    case Lane::f32: return dtype == DType::f32;
    case Lane::f64: return dtype == DType::f64;
    case Lane::i64: return dtype == DType::i64;
    case Lane::i8: return dtype == DType::i8;
    case Lane::u8: return dtype == DType::u8;
    case Lane::i16: return dtype == DType::i16;
    case Lane::i32: return dtype == DType::i32;
    case Lane::boolean: return false;  // memory may hold bytes other than 0 and 1
    case Lane::c64: return dtype == DType::c64;
    case Lane::c128: return dtype == DType::c128;
  }
  return false;
}

}  // namespace wick
