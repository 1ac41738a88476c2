// Kernel vocabulary: numbers in memory and their conversions.
namespace wick_text {
namespace {

/// f16 is IEEE 754 binary16, bf16 the upper half of an f32. They are for memory only: arithmetic is in f32.
struct alignas(2) f16 {
  u16 bits;
};
struct alignas(2) bf16 {
  u16 bits;
};
/// A byte of torch.bool.
struct bool8 {
  u8 byte;
};

WICK_FUNCTION f32 to_f32(f16 x) { return f32_of_f16_bits(x.bits); }
WICK_FUNCTION f32 to_f32(bf16 x) { return f32_of_bits(static_cast<u32>(x.bits) << 16); }
WICK_FUNCTION f32 to_f32(f32 x) { return x; }
/// Rounds to the nearest, ties to even; NaN stays NaN.
WICK_FUNCTION f16 to_f16(f32 x) { return {f16_bits_of(x)}; }
WICK_FUNCTION bf16 to_bf16(f32 x) { return {bf16_bits_of(x)}; }
/// By way of f32, as eager converts.
WICK_FUNCTION f16 to_f16(f64 x) { return to_f16(static_cast<f32>(x)); }
WICK_FUNCTION bf16 to_bf16(f64 x) { return to_bf16(static_cast<f32>(x)); }
/// A pair as the matrix instructions take it: the first in the lower half.
WICK_FUNCTION u32 pair_of(f16 first, f16 second) { return first.bits | static_cast<u32>(second.bits) << 16; }
WICK_FUNCTION u32 pair_of(bf16 first, bf16 second) { return first.bits | static_cast<u32>(second.bits) << 16; }

/// Any byte but zero is true.
WICK_FUNCTION bool to_bool(bool8 x) { return x.byte != 0; }
WICK_FUNCTION bool8 to_bool8(bool x) { return {static_cast<u8>(x)}; }

/// Converts a float toward zero. NaN and values that i64 cannot hold give INT64_MIN.
WICK_FUNCTION i64 to_i64(f64 x) {
  return x >= -0x1p63 && x < 0x1p63 ? static_cast<i64>(x) : static_cast<i64>(0x8000000000000000ull);
}
WICK_FUNCTION i64 to_i64(f32 x) {
  return x >= -0x1p63f && x < 0x1p63f ? static_cast<i64>(x) : static_cast<i64>(0x8000000000000000ull);
}

/// kCount numbers that are loaded or stored at once. 16, 8, 4, 2 or 1 bytes together.
template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Vector {
  T at[kCount];
  WICK_FUNCTION T& operator[](int i) { return at[i]; }
  WICK_FUNCTION const T& operator[](int i) const { return at[i]; }
};
/// `from` and `to` are aligned to the vector's size.
template <typename T, int kCount>
WICK_FUNCTION Vector<T, kCount> load_vector(const T* from, int line = __builtin_LINE()) {
  static_assert(sizeof(T) * kCount <= 16, "at most 16 bytes");
  typedef Vector<T, kCount> Type;
  if constexpr (sizeof(Type) == 16) {
    return __builtin_bit_cast(Type, load_words4(from, line));
  } else if constexpr (sizeof(Type) == 8) {
    return __builtin_bit_cast(Type, load_words2(from, line));
  } else {
    return *reinterpret_cast<const Type*>(from);
  }
}
template <typename T, int kCount>
WICK_FUNCTION void store_vector(T* to, const Vector<T, kCount>& vector, int line = __builtin_LINE()) {
  if constexpr (sizeof vector == 16) {
    store_words4(to, __builtin_bit_cast(Words4, vector), line);
  } else if constexpr (sizeof vector == 8) {
    store_words2(to, __builtin_bit_cast(Words2, vector), line);
  } else {
    *reinterpret_cast<Vector<T, kCount>*>(to) = vector;
  }
}

}  // namespace
}  // namespace wick_text
