#include "compiler/passes/constants/reals.h"

#include <string.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "common/float16.h"

namespace wick::compiler {
namespace {

double widened(double value) { return value; }
double widened(float value) { return static_cast<double>(value); }
double widened(Half value) { return static_cast<double>(static_cast<float>(value)); }
double widened(BFloat16 value) { return static_cast<double>(static_cast<float>(value)); }

// Rounds once for f32 and f64. f16 and bf16 are rounded to f32 first.
void narrow(double value, double* out) { *out = value; }
void narrow(double value, float* out) { *out = static_cast<float>(value); }
template <typename T>
void narrow(double value, T* out) {
  *out = T(static_cast<float>(value));
}

// The bits of a float as a signed integer, and the bits of infinity. Without their sign bit, floats are ordered like
// their bits.
template <typename T>
struct Bits;
template <>
struct Bits<double> {
  using Integer = int64_t;
  static constexpr Integer kInfinity = 0x7ff0000000000000;
};
template <>
struct Bits<float> {
  using Integer = int32_t;
  static constexpr Integer kInfinity = 0x7f800000;
};
template <>
struct Bits<Half> {
  using Integer = int16_t;
  static constexpr Integer kInfinity = 0x7c00;
};
template <>
struct Bits<BFloat16> {
  using Integer = int16_t;
  static constexpr Integer kInfinity = 0x7f80;
};

template <typename T>
typename Bits<T>::Integer magnitude(T value) {
  using Integer = typename Bits<T>::Integer;
  return static_cast<Integer>(std::bit_cast<Integer>(value) & std::numeric_limits<Integer>::max());
}
template <typename T>
bool is_finite(T value) {
  return magnitude(value) < Bits<T>::kInfinity;
}

// Runs a loop with wider vectors if the processor has them. The results are the same: nothing is contracted or
// reordered.
#if defined(__x86_64__)
template <typename F>
__attribute__((target("avx2"))) auto run_avx2(F loop) {
  return loop();
}
#endif
template <typename F>
auto run_wide(F loop) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return run_avx2(loop);
#endif
  return loop();
}
// Marks the body of such a loop, which is compiled once for each vector width.
#define WICK_INLINE __attribute__((always_inline))

template <typename T, bool kScaled, bool kCentred>
void change(const uint8_t* from, size_t count, const double* scale, const double* means, uint8_t* to) {
  run_wide([=]() WICK_INLINE {
    for (size_t i = 0; i < count; ++i) {
      T element;
      memcpy(&element, from + i * sizeof element, sizeof element);
      double value = widened(element);
      if constexpr (kScaled) value *= scale[i];
      if constexpr (kCentred) value -= means[i];
      narrow(value, &element);
      memcpy(to + i * sizeof element, &element, sizeof element);
    }
  });
}

// Calls fn with an element of the type that stores `dtype`.
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
    run_wide([=]() WICK_INLINE {
      for (size_t i = 0; i < count; ++i) {
        decltype(element) one;
        memcpy(&one, from + i * sizeof one, sizeof one);
        to[i] = widened(one);
      }
    });
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

void change_reals(DType dtype, const uint8_t* from, size_t count, const double* scale, const double* means,
                  uint8_t* to) {
  with_type(dtype, [&](auto element) {
    using T = decltype(element);
    const auto run = scale ? (means ? change<T, true, true> : change<T, true, false>)
                           : (means ? change<T, false, true> : change<T, false, false>);
    run(from, count, scale, means, to);
  });
}

std::optional<double> largest_magnitude(DType dtype, Span<const uint8_t> elements) {
  return with_type(dtype, [&](auto element) -> std::optional<double> {
    using T = decltype(element);
    const auto largest = run_wide([=]() WICK_INLINE {
      typename Bits<T>::Integer found = 0;  // no early exit: the loop vectorises
      for (size_t i = 0; i < elements.size() / sizeof(T); ++i) {
        T one;
        memcpy(&one, elements.data() + i * sizeof one, sizeof one);
        found = std::max(found, magnitude(one));
      }
      return found;
    });
    if (largest >= Bits<T>::kInfinity) return std::nullopt;
    return widened(std::bit_cast<T>(largest));
  });
}

std::optional<double> largest_magnitude(DType dtype, const ConstantData& data) {
  if (data.known_largest()) return data.known_largest();
  double largest = 0;
  const Status all_finite = data.for_each_part([&](Span<const uint8_t> part) {
    const auto in_part = largest_magnitude(dtype, part);
    largest = std::max(largest, in_part.value_or(0));
    return in_part ? Status() : Status(Diag(Code::internal, "a number that is not finite"));
  });
  return all_finite.ok() ? std::optional(largest) : std::nullopt;
}

namespace {

bool keep_digits(const Reals64& factors, DType dtype, double largest) {
  const double least = dtype == DType::f16 ? 0x1p-8 : 0x1p-60, least_weight = dtype == DType::f16 ? 0x1p-12 : 0x1p-100;
  return std::all_of(factors.begin(), factors.end(), [&](double x) {
    const double size = std::abs(x);
    return size == 0 || size >= 1 || (size >= least && (largest == 0 || size * largest >= least_weight));
  });
}

}  // namespace

bool keep_digits(const Reals64& factors, DType dtype) { return keep_digits(factors, dtype, 1.0); }
bool keep_digits(const Reals64& factors, DType dtype, const ConstantData& weights) {
  return keep_digits(factors, dtype, largest_magnitude(dtype, weights).value_or(1));
}

Reals64 reals_of(const Value& constant) {
  Reals64 out(constant.data.size_bytes() / dtype_size_bytes(constant.dtype()));
  load_reals(constant.dtype(), constant.data.bytes().data(), out.size(), out.data());
  return out;
}

std::optional<std::vector<uint8_t>> rounded(const Reals64& values, DType dtype) {
  std::vector<uint8_t> out(values.size() * dtype_size_bytes(dtype));
  if (!store_reals(dtype, values.data(), values.size(), out.data())) return std::nullopt;
  return out;
}

}  // namespace wick::compiler
