// Integer arithmetic that reports overflow instead of wrapping. C++17, freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <type_traits>

namespace wick {

/// *out = a + b. False, with *out unspecified, if the sum does not fit T.
template <typename T>
[[nodiscard]] constexpr bool checked_add(T a, std::common_type_t<T> b, T* out) {
  static_assert(std::is_integral<T>::value, "integers only");
  return !__builtin_add_overflow(a, b, out);
}

/// *out = a - b. False, with *out unspecified, if the difference does not fit T.
template <typename T>
[[nodiscard]] constexpr bool checked_sub(T a, std::common_type_t<T> b, T* out) {
  static_assert(std::is_integral<T>::value, "integers only");
  return !__builtin_sub_overflow(a, b, out);
}

/// *out = a * b. False, with *out unspecified, if the product does not fit T.
template <typename T>
[[nodiscard]] constexpr bool checked_mul(T a, std::common_type_t<T> b, T* out) {
  static_assert(std::is_integral<T>::value, "integers only");
  return !__builtin_mul_overflow(a, b, out);
}

/// Whether [offset, offset + count) lies inside [0, size). Never overflows.
constexpr bool range_fits(uint64_t offset, uint64_t count, uint64_t size) {
  return offset <= size && count <= size - offset;
}

}  // namespace wick
