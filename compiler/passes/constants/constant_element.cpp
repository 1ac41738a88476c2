#include "compiler/passes/constants/constant_element.h"

#include <string.h>

#include <cmath>
#include <limits>

#include "common/float16.h"

namespace wick::compiler {
namespace {

constexpr size_t kMaxBytesRead = size_t{1} << 20;
constexpr int kMaxViews = 16;

template <typename T>
T load(const uint8_t* bytes) {
  T value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

Element of_real(DType dtype, double value) { return {true, value, 0, dtype}; }
Element of_integer(DType dtype, int64_t value) { return {false, static_cast<double>(value), value, dtype}; }

std::optional<Element> load_element(DType dtype, const uint8_t* bytes) {
  switch (dtype) {
    case DType::f32: return of_real(dtype, static_cast<double>(load<float>(bytes)));
    case DType::f64: return of_real(dtype, load<double>(bytes));
    case DType::f16: return of_real(dtype, static_cast<double>(Half::to_float(load<uint16_t>(bytes))));
    case DType::bf16:
      return of_real(dtype, static_cast<double>(float_from_bits(static_cast<uint32_t>(load<uint16_t>(bytes)) << 16)));
    case DType::i64: return of_integer(dtype, load<int64_t>(bytes));
    case DType::i32: return of_integer(dtype, load<int32_t>(bytes));
    case DType::i16: return of_integer(dtype, load<int16_t>(bytes));
    case DType::i8: return of_integer(dtype, load<int8_t>(bytes));
    case DType::u8: return of_integer(dtype, *bytes);
    case DType::boolean: return of_integer(dtype, *bytes != 0);
    default: return std::nullopt;
  }
}

std::optional<Element> element_of_bytes(DType dtype, Span<const uint8_t> bytes) {
  const size_t item = dtype_size_bytes(dtype);
  if (item == 0 || bytes.size() < item || bytes.size() > kMaxBytesRead) return std::nullopt;
  // The bytes equal themselves shifted by one element, so all elements equal the first one.
  if (memcmp(bytes.data(), bytes.data() + item, bytes.size() - item) != 0) return std::nullopt;
  return load_element(dtype, bytes.data());
}

template <typename T>
bool fits_type(int64_t value) {
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

bool fits_type(int64_t value, DType dtype) {
  switch (dtype) {
    case DType::i64: return true;
    case DType::i32: return fits_type<int32_t>(value);
    case DType::i16: return fits_type<int16_t>(value);
    case DType::i8: return fits_type<int8_t>(value);
    case DType::u8: return fits_type<uint8_t>(value);
    case DType::boolean: return value == 0 || value == 1;
    default: return false;
  }
}

// The literal as an element of `dtype`. Nothing for an unknown number, for a float that would become an integer, and
// for an integer that does not fit.
std::optional<Element> convert(const Arg& literal, DType dtype) {
  if (literal.is<Sym>() && !literal.as<Sym>().is_const()) return std::nullopt;
  if (!is_floating(dtype)) {
    if (literal.is<double>()) return std::nullopt;
    const int64_t value = literal.is<bool>() ? literal.as<bool>() : literal.as<Sym>().value();
    return fits_type(value, dtype) ? std::optional(of_integer(dtype, value)) : std::nullopt;
  }
  const double value = literal.is<double>() ? literal.as<double>()
                       : literal.is<bool>() ? literal.as<bool>()
                                            : static_cast<double>(literal.as<Sym>().value());
  switch (dtype) {
    case DType::f64: return of_real(dtype, value);
    case DType::f32: return of_real(dtype, static_cast<double>(static_cast<float>(value)));
    case DType::f16: return of_real(dtype, static_cast<double>(Half::to_float(Half(static_cast<float>(value)).bits)));
    case DType::bf16:
      return of_real(
          dtype,
          static_cast<double>(float_from_bits(static_cast<uint32_t>(BFloat16(static_cast<float>(value)).bits) << 16)));
    default: return std::nullopt;
  }
}

}  // namespace

Arg Element::as_number() const {
  if (floating) return real;
  if (dtype == DType::boolean) return integer != 0;
  return Sym(integer);
}

bool Element::is_negative_zero() const { return floating && real == 0 && std::signbit(real); }

std::optional<Element> uniform_element(const Value* value) {
  for (int i = 0; i < kMaxViews && value->type.is_tensor(); ++i) {
    if (value->is_constant()) return element_of_bytes(value->dtype(), value->data.bytes());
    const Node* node = value->producer;
    if (!node) return std::nullopt;
    if (node->is("aten.full.default")) {
      const Arg& fill = node->arg("fill_value");
      return fill.is<Value*>() ? std::nullopt : convert(fill, value->dtype());
    }
    if (node->is(Movement::none)) return std::nullopt;
    value = node->arg(size_t{0}).as<Value*>();
  }
  return std::nullopt;
}

std::optional<Element> number_of(const Arg& arg, DType dtype) {
  if (arg.is<Value*>()) return uniform_element(arg.as<Value*>());
  if (arg.is<double>() || arg.is<bool>() || arg.is<Sym>()) return convert(arg, dtype);
  return std::nullopt;
}

std::optional<Element> factor_of(const Arg& arg, DType dtype) {
  return number_of(arg, dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype);
}

}  // namespace wick::compiler
