// Addition and other reductions of single elements, for scatters that write one position several times.
#pragma once
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/movement/strided.h"

namespace wick {
namespace kernels {

// Integers wrap, bools are or-ed, 16-bit floats round after each step.
template <typename T>
T add_elements(T a, T b) {
  if constexpr (std::is_same<T, BoolElement>::value) {
    return a || b;
  } else if constexpr (std::is_integral<T>::value) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else if constexpr (sizeof(T) == 2) {
    return T(static_cast<float>(a) + static_cast<float>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T multiply_elements(T a, T b) {
  if constexpr (std::is_same<T, BoolElement>::value) {
    return a && b;
  } else if constexpr (std::is_integral<T>::value) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else if constexpr (sizeof(T) == 2) {
    return T(static_cast<float>(a) * static_cast<float>(b));
  } else {
    return a * b;
  }
}
template <typename T>
bool is_nan_element(T value) {
  if constexpr (std::is_integral<T>::value) {
    return false;
  } else {
    return !(value == value);
  }
}
// NaN-propagating.
template <typename T>
T larger_element(T a, T b) {
  return is_nan_element(a) || a > b ? a : b;
}
template <typename T>
T smaller_element(T a, T b) {
  return is_nan_element(a) || a < b ? a : b;
}

/// dst += src element by element, in order of dst's indices; the views have equal sizes.
void accumulate_view(KernelContext& context, DType dtype, const View& dst, const View& src);

}  // namespace kernels
}  // namespace wick
