#include "compiler/passes/reals.h"

#include <string.h>

#include "common/float16.h"

namespace wick::compiler {
namespace {

double widened(double value) { return value; }
double widened(float value) { return static_cast<double>(value); }
double widened(Half value) { return static_cast<double>(static_cast<float>(value)); }
double widened(BFloat16 value) { return static_cast<double>(static_cast<float>(value)); }

// Rounds once for f32 and f64; f16 and bf16 go through float.
void narrow(double value, double* out) { *out = value; }
void narrow(double value, float* out) { *out = static_cast<float>(value); }
template <typename T>
void narrow(double value, T* out) {
  *out = T(static_cast<float>(value));
}

bool all_ones(uint64_t bits, uint64_t exponent) { return (bits & exponent) == exponent; }
bool is_finite(float value) { return !all_ones(bits_from_float(value), 0x7f800000u); }
bool is_finite(Half value) { return !all_ones(value.bits, 0x7c00u); }
bool is_finite(BFloat16 value) { return !all_ones(value.bits, 0x7f80u); }
bool is_finite(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return !all_ones(bits, 0x7ff0000000000000u);
}

// fn(an element of the type that stores the dtype)
template <typename F>
auto with_type(DType dtype, F&& fn) {
  switch (dtype) {
    case DType::f64: return fn(double{});
    case DType::f16: return fn(Half{});
    case DType::bf16: return fn(BFloat16{});
    default: return fn(float{});
  }
}

}  // namespace

bool has_reals(const Value* value) {
  if (!value || !value->is_constant() || !value->tensor().dim_order.empty()) return false;
  const DType d = value->dtype();
  return d == DType::f32 || d == DType::f64 || d == DType::f16 || d == DType::bf16;
}

void load_reals(DType dtype, const uint8_t* from, size_t count, double* to) {
  with_type(dtype, [&](auto element) {
    for (size_t i = 0; i < count; ++i) {
      memcpy(&element, from + i * sizeof element, sizeof element);
      to[i] = widened(element);
    }
  });
}

bool store_reals(DType dtype, const double* from, size_t count, uint8_t* to) {
  return with_type(dtype, [&](auto element) {
    uint32_t bad = 0;  // no early exit: the loop vectorises
    for (size_t i = 0; i < count; ++i) {
      narrow(from[i], &element);
      bad |= !is_finite(element);
      memcpy(to + i * sizeof element, &element, sizeof element);
    }
    return bad == 0;
  });
}

Reals64 reals_of(const Value& constant) {
  Reals64 out(constant.data.bytes.size() / dtype_size_bytes(constant.dtype()));
  load_reals(constant.dtype(), constant.data.bytes.data(), out.size(), out.data());
  return out;
}

std::optional<std::vector<uint8_t>> rounded(const Reals64& values, DType dtype) {
  std::vector<uint8_t> out(values.size() * dtype_size_bytes(dtype));
  if (!store_reals(dtype, values.data(), values.size(), out.data())) return std::nullopt;
  return out;
}

}  // namespace wick::compiler
