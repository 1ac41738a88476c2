// Kernel vocabulary: matmuls of a few rows with a matrix that is read once, by matrix instructions. 16 lines of the
// matrix are the rows of operand a[], the few rows are the columns of b[]. A lane loads chunks of 16 bytes of two
// lines: lane / 4 and lane / 4 + 8. An instruction may multiply any 16 steps of k, if they are the same for both
// factors.
namespace wick_text {
namespace {

// A kind of chunk has kParts parts of 8 steps of k. pairs() converts a part to pairs of 16-bit floats. ordered() puts 8
// steps of the rows into the same order.

/// 16-bit floats.
struct FloatChunk {
  static constexpr u32 kParts = 1;
  template <typename T>
  WICK_FUNCTION static Words4 pairs(const Words4& chunk, u32, f32, T) {
    return chunk;
  }
  WICK_FUNCTION static Words4 ordered(const Words4& floats) { return floats; }
};

/// Signed bytes, times a scale of the chunk.
struct ByteChunk {
  static constexpr u32 kParts = 2;
  template <typename T>
  WICK_FUNCTION static Words4 pairs(const Words4& chunk, u32 part, f32 scale, T) {
    Words4 out;
    WICK_UNROLL
    for (u32 i = 0; i < 2; ++i) {
      const u32 word = chunk.at[2 * part + i] ^ 0x80808080u;
      f32 real[4];
      // The float with the bits 0x4700xx00 is 2^15 + xx; xx is the byte + 128.
      WICK_UNROLL
      for (u32 e = 0; e < 4; ++e)
        real[e] = (f32_of_bits(select_bytes(word, 0x47000000u, 0x7604u | e << 4)) - 32896.0f) * scale;
      out.at[2 * i] = rounded_pair(real[0], real[1], T());
      out.at[2 * i + 1] = rounded_pair(real[2], real[3], T());
    }
    return out;
  }
  WICK_FUNCTION static Words4 ordered(const Words4& floats) { return floats; }
};

/// Elements of four bits, minus kOffset, times a scale of the chunk that is exact in T.
template <u32 kOffset>
struct NibbleChunk {
  static constexpr u32 kParts = 4;
  /// Steps i and i + 4 of a part are pair i.
  template <typename T>
  WICK_FUNCTION static Words4 pairs(const Words4& chunk, u32 part, f32 scale, T) {
    constexpr u32 kFirst = first_of(T());
    constexpr f32 kBase = base_of(T()) + kOffset;
    const u32 base = rounded_pair(-kBase, -kBase, T()), scales = rounded_pair(scale, scale, T());
    Words4 out;
    WICK_UNROLL
    for (u32 i = 0; i < 4; ++i) {
      const u32 integers = and_or(chunk.at[part] >> 4 * i, 0x000f000fu, kFirst << 16 | kFirst);
      out.at[i] = product_of_pairs(sum_of_pairs(integers, base, T()), scales, T());
    }
    return out;
  }
  WICK_FUNCTION static Words4 ordered(const Words4& floats) {
    const u32* const at = floats.at;
    return {{select_bytes(at[0], at[2], 0x5410u), select_bytes(at[0], at[2], 0x7632u),
             select_bytes(at[1], at[3], 0x5410u), select_bytes(at[1], at[3], 0x7632u)}};
  }

 private:
  // The number from which on the lowest bit of the mantissa counts 1: its bits, and its value.
  WICK_FUNCTION static constexpr u32 first_of(bf16) { return 0x4300u; }
  WICK_FUNCTION static constexpr u32 first_of(f16) { return 0x6400u; }
  WICK_FUNCTION static constexpr f32 base_of(bf16) { return 128.0f; }
  WICK_FUNCTION static constexpr f32 base_of(f16) { return 1024.0f; }
};

/// Adds the products of the rows, whose floats are ordered(), with a chunk of line lane / 4 (`upper`) and one of line
/// lane / 4 + 8 (`lower`).
template <typename Chunk, typename T>
WICK_FUNCTION void multiply_chunks(f32 (&sums)[4], const Words4& upper, f32 upper_scale, const Words4& lower,
                                   f32 lower_scale, const Words4 (&rows)[Chunk::kParts], T) {
  WICK_UNROLL
  for (u32 part = 0; part < Chunk::kParts; ++part) {
    const Words4 a = Chunk::pairs(upper, part, upper_scale, T()), b = Chunk::pairs(lower, part, lower_scale, T());
    WICK_UNROLL
    for (u32 i = 0; i < 4; i += 2)
      multiply_fragments(sums, {a.at[i], b.at[i], a.at[i + 1], b.at[i + 1]}, {rows[part].at[i], rows[part].at[i + 1]},
                         T());
  }
}

/// Writes a warp's sums of 16 lines and kRows rows to `to` [16][kRows].
template <u32 kRows>
WICK_FUNCTION void put_line_sums(f32* to, const f32 (&sums)[4]) {
  WICK_UNROLL
  for (u32 i = 0; i < 4; ++i) {
    const u32 line = lane() / 4 + i / 2 * 8, row = lane() % 4 * 2 + i % 2;
    if (row < kRows) to[line * kRows + row] = sums[i];
  }
}
/// The sum of one element over kParts warps, whose elements are `step` apart.
template <u32 kParts>
WICK_FUNCTION f32 sum_of_parts(const f32* from, u32 step) {
  f32 sum = from[0];
  WICK_UNROLL
  for (u32 part = 1; part < kParts; ++part) sum += from[part * step];
  return sum;
}

}  // namespace
}  // namespace wick_text
