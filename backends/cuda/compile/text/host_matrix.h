// Kernel vocabulary on the host: matrix instructions (device_matrix.h) by exchange between the lanes of a warp.
namespace wick_text {
namespace {

template <int kMatrices>
WICK_FUNCTION void load_matrices(u32 (&to)[kMatrices], const void* row, bool transposed, int line) {
  u16 own[8] = {};
  if (lane() < 8 * kMatrices) {
    check_alignment(row, 16, line);
    __builtin_memcpy(own, row, sizeof own);
  }
  const char* const slots = static_cast<const char*>(wick_twin::exchange("ldmatrix", line, own, sizeof own));
  const auto element = [&](u32 matrix, u32 r, u32 column) -> u32 {
    return reinterpret_cast<const u16*>(slots + (8 * matrix + r) * wick_twin::kSlotBytes)[column];
  };
  const u32 g = lane() / 4, t = lane() % 4;
  for (u32 i = 0; i < kMatrices; ++i) {
    const u32 low = transposed ? element(i, 2 * t, g) : element(i, g, 2 * t);
    const u32 high = transposed ? element(i, 2 * t + 1, g) : element(i, g, 2 * t + 1);
    to[i] = low | high << 16;
  }
}
template <typename T>
WICK_FUNCTION void ldmatrix_x4(u32 (&to)[4], const T* tile, u32 offset = 0, int line = __builtin_LINE()) {
  load_matrices(to, tile + offset, false, line);
}
template <typename T>
WICK_FUNCTION void ldmatrix_x4_transposed(u32 (&to)[4], const T* tile, u32 offset = 0, int line = __builtin_LINE()) {
  load_matrices(to, tile + offset, true, line);
}
WICK_FUNCTION void ldmatrix_x2(u32 (&to)[2], const void* row, int line = __builtin_LINE()) {
  load_matrices(to, row, false, line);
}
WICK_FUNCTION void ldmatrix_x2_transposed(u32 (&to)[2], const void* row, int line = __builtin_LINE()) {
  load_matrices(to, row, true, line);
}

#define WICK_PAIRS(type)                                                      \
  WICK_FUNCTION f32 half_of_pair(u32 pair, u32 half, type) {                  \
    return to_f32(type{static_cast<u16>(pair >> 16 * half)});                 \
  }                                                                           \
  WICK_FUNCTION u32 sum_of_pairs(u32 a, u32 b, type t) {                      \
    return pair_of(to_##type(half_of_pair(a, 0, t) + half_of_pair(b, 0, t)),  \
                   to_##type(half_of_pair(a, 1, t) + half_of_pair(b, 1, t))); \
  }                                                                           \
  WICK_FUNCTION u32 product_of_pairs(u32 a, u32 b, type t) {                  \
    return pair_of(to_##type(half_of_pair(a, 0, t) * half_of_pair(b, 0, t)),  \
                   to_##type(half_of_pair(a, 1, t) * half_of_pair(b, 1, t))); \
  }
WICK_PAIRS(bf16)
WICK_PAIRS(f16)
#undef WICK_PAIRS

struct Fragments {
  u32 a[4], b[2];
};

/// Adds to each c[i] the sum of products over the columns of a, which is computed in type Sum. A register holds
/// kPerRegister elements; element(register, part) unpacks one.
template <int kPerRegister, typename Sum, typename C, typename Element>
WICK_FUNCTION void multiply_matrices(const char* operation, int line, C (&c)[4], const u32 (&a)[4], const u32 (&b)[2],
                                     const Element& element) {
  Fragments own;
  __builtin_memcpy(own.a, a, sizeof own.a);
  __builtin_memcpy(own.b, b, sizeof own.b);
  const char* const slots = static_cast<const char*>(wick_twin::exchange(operation, line, &own, sizeof own));
  const auto fragments = [&](u32 from) {
    return reinterpret_cast<const Fragments*>(slots + from * wick_twin::kSlotBytes);
  };
  const u32 g = lane() / 4, t = lane() % 4;
  for (u32 i = 0; i < 4; ++i) {
    const u32 column = 2 * t + i % 2;
    Sum sum = 0;
    for (u32 k = 0; k < 8 * kPerRegister; ++k) {
      const u32 owner = k % (4 * kPerRegister) / kPerRegister, half = k / (4 * kPerRegister), part = k % kPerRegister;
      sum += element(fragments(4 * g + owner)->a[i / 2 + 2 * half], part) *
             element(fragments(4 * column + owner)->b[half], part);
    }
    c[i] = static_cast<C>(sum + static_cast<Sum>(c[i]));
  }
}

/// Products are exact and their sum is rounded to f32 once.
WICK_FUNCTION void mma_m16n8k16_bf16(f32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2], int line = __builtin_LINE()) {
  multiply_matrices<2, f64>("mma_m16n8k16_bf16", line, c, a, b,
                            [](u32 bits, u32 part) { return static_cast<f64>(f32_of_bits(bits >> 16 * part << 16)); });
}
WICK_FUNCTION void mma_m16n8k16_f16(f32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2], int line = __builtin_LINE()) {
  multiply_matrices<2, f64>("mma_m16n8k16_f16", line, c, a, b, [](u32 bits, u32 part) {
    return static_cast<f64>(f32_of_f16_bits(static_cast<u16>(bits >> 16 * part)));
  });
}
WICK_FUNCTION void mma_m16n8k8_tf32(f32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2], int line = __builtin_LINE()) {
  multiply_matrices<1, f64>("mma_m16n8k8_tf32", line, c, a, b,
                            [](u32 bits, u32) { return static_cast<f64>(f32_of_bits(bits & 0xffffe000u)); });
}
WICK_FUNCTION void mma_m16n8k32_s8(i32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2], int line = __builtin_LINE()) {
  multiply_matrices<4, u32>("mma_m16n8k32_s8", line, c, a, b, [](u32 bits, u32 part) {
    return static_cast<u32>(static_cast<i32>(static_cast<i8>(bits >> 8 * part)));
  });
}

WICK_FUNCTION u32 to_tf32(f32 x) {
  const u32 bits = bits_of(x);
  return x != x ? bits | 0x7fffffffu : (bits & 0x7fffffffu) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
}

}  // namespace
}  // namespace wick_text
