// Kernel vocabulary on a device: matrix instructions. All lanes of a warp take part. With g = lane / 4 and t = lane % 4
// and P elements in a register (2 of 16 bits, 4 of 8, 1 of tf32), the first in the lowest bits, a lane holds
//   a[i]: row g + 8 (i % 2), columns P t + 4 P (i / 2) ..    of a 16 x 8P matrix
//   b[i]: rows P t + 4 P i .., column g                     of an 8P x 8 matrix
//   c[i]: row g + 8 (i / 2), column 2 t + i % 2             of a 16 x 8 matrix
namespace wick_text {
namespace {

/// The sums or products of two pairs of 16-bit floats, each rounded to nearest even.
#define WICK_PAIRS(type, instruction, one, minus_zero)                                  \
  WICK_FUNCTION u32 sum_of_pairs(u32 a, u32 b, type) {                                  \
    u32 pair;                                                                           \
    asm(instruction " %0, %1, %2, %3;" : "=r"(pair) : "r"(a), "r"(one), "r"(b));        \
    return pair;                                                                        \
  }                                                                                     \
  WICK_FUNCTION u32 product_of_pairs(u32 a, u32 b, type) {                              \
    u32 pair;                                                                           \
    asm(instruction " %0, %1, %2, %3;" : "=r"(pair) : "r"(a), "r"(b), "r"(minus_zero)); \
    return pair;                                                                        \
  }
WICK_PAIRS(bf16, "fma.rn.bf16x2", 0x3f803f80u, 0x80008000u)
WICK_PAIRS(f16, "fma.rn.f16x2", 0x3c003c00u, 0x80008000u)
#undef WICK_PAIRS

/// Loads 8 x 8 matrices of 16-bit elements from shared memory: lane 8 i + r points to row r of matrix i (16 bytes,
/// aligned). Register i gets, of row lane / 4 of matrix i (or of its transpose), columns 2 (lane % 4) and the next. A
/// lane's row begins at element `offset` of a tile: addresses whose offsets differ by constants share a register.
template <typename T>
WICK_FUNCTION void ldmatrix_x4(u32 (&to)[4], const T* tile, u32 offset = 0) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(tile) + offset * static_cast<u32>(sizeof(T)))
               : "memory");
}
template <typename T>
WICK_FUNCTION void ldmatrix_x4_transposed(u32 (&to)[4], const T* tile, u32 offset = 0) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(tile) + offset * static_cast<u32>(sizeof(T)))
               : "memory");
}
WICK_FUNCTION void ldmatrix_x2(u32 (&to)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(shared_address(row))
               : "memory");
}
WICK_FUNCTION void ldmatrix_x2_transposed(u32 (&to)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(shared_address(row))
               : "memory");
}

/// c += a b with sums in f32. The order and precision of the additions are the device's own.
#define WICK_MATRIX(name, shape, constraint, type)                                                            \
  WICK_FUNCTION void name(type(&c)[4], const u32(&a)[4], const u32(&b)[2]) {                                  \
    asm volatile("mma.sync.aligned." shape " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : "+" constraint(c[0]), "+" constraint(c[1]), "+" constraint(c[2]), "+" constraint(c[3])     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                         \
  }
WICK_MATRIX(mma_m16n8k16_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", "f", f32)
WICK_MATRIX(mma_m16n8k16_f16, "m16n8k16.row.col.f32.f16.f16.f32", "f", f32)
/// For operands rounded by to_tf32().
WICK_MATRIX(mma_m16n8k8_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", "f", f32)
/// For signed bytes; sums are modulo 2^32.
WICK_MATRIX(mma_m16n8k32_s8, "m16n8k32.row.col.s32.s8.s8.s32", "r", i32)
#undef WICK_MATRIX

/// The bits of x with 10 bits of mantissa, rounded to nearest, ties away from zero.
WICK_FUNCTION u32 to_tf32(f32 x) {
  u32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

}  // namespace
}  // namespace wick_text
