// Elements of constants as numbers. C++20.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "common/float16.h"
#include "compiler/ir/constant_data.h"

namespace wick::compiler {

/// The element of type T at `bytes`, which need not be aligned, as double.
template <typename T>
double number_from(const uint8_t* bytes) {
  T number;
  memcpy(&number, bytes, sizeof number);
  if constexpr (requires { number.bits; })
    return static_cast<double>(static_cast<float>(number));
  else
    return static_cast<double>(number);
}

/// Calls `run` with a value of the C++ type of `dtype`: f16, bf16, f32, f64, u8 or a signed integer. Returns false for
/// other dtypes.
template <typename Run>
bool with_number_type(DType dtype, Run run) {
  switch (dtype) {
    case DType::f16: return run(Half()), true;
    case DType::bf16: return run(BFloat16()), true;
    case DType::f32: return run(float{}), true;
    case DType::f64: return run(double{}), true;
    case DType::u8: return run(uint8_t{}), true;
    case DType::i8: return run(int8_t{}), true;
    case DType::i16: return run(int16_t{}), true;
    case DType::i32: return run(int32_t{}), true;
    case DType::i64: return run(int64_t{}), true;
    default: return false;
  }
}

/// Finds NumberFacts of elements that are given in parts.
class NumberRange {
 public:
  explicit NumberRange(DType dtype) { facts_.dtype = dtype; }

  void add(Span<const uint8_t> part) {
    const bool known = with_number_type(facts_.dtype, [&](auto element) { add_elements<decltype(element)>(part); });
    facts_.finite &= known;
  }
  NumberFacts facts() const { return facts_; }

 private:
  template <typename T>
  void add_elements(Span<const uint8_t> part) {
    const size_t count = part.size() / sizeof(T);
    if (count == 0) return;
    using Key = KeyOf<T>;
    Key least = std::numeric_limits<Key>::max(), largest = std::numeric_limits<Key>::min();
    for (size_t i = 0; i < count; ++i) {  // no early exit: the loop vectorises
      Key bits;
      memcpy(&bits, part.data() + i * sizeof bits, sizeof bits);
      const Key key = key_of<T>(bits);
      least = key < least ? key : least;
      largest = key > largest ? key : largest;
    }
    if constexpr (!std::is_integral_v<T>) {
      const auto infinity = std::bit_cast<Key>(T(std::numeric_limits<float>::infinity()));
      facts_.finite &= least > static_cast<Key>(~infinity) && largest < infinity;
      for (size_t i = 0; facts_.whole && i < count; ++i) {
        const double number = number_from<T>(part.data() + i * sizeof(T));
        facts_.whole = number == std::floor(number);
      }
    }
    widen(number_of<T>(least), number_of<T>(largest));
  }

  // Integers in the order of the numbers; NaN lies beyond the infinities.
  template <typename T>
  using KeyOf = std::conditional_t<
      std::is_integral_v<T>, T,
      std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>>;
  template <typename T>
  static KeyOf<T> key_of(KeyOf<T> bits) {
    using Key = KeyOf<T>;
    if constexpr (std::is_integral_v<T>)
      return bits;
    else
      return static_cast<Key>(bits ^ (bits < 0 ? std::numeric_limits<Key>::max() : Key(0)));
  }
  template <typename T>
  static double number_of(KeyOf<T> key) {
    const KeyOf<T> bits = key_of<T>(key);  // key_of is its own inverse
    return number_from<T>(reinterpret_cast<const uint8_t*>(&bits));
  }
  void widen(double least, double largest) {
    facts_.least = is_first_ || least < facts_.least ? least : facts_.least;
    facts_.largest = is_first_ || largest > facts_.largest ? largest : facts_.largest;
    is_first_ = false;
  }

  NumberFacts facts_;
  bool is_first_ = true;
};

}  // namespace wick::compiler
