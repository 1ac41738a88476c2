// Kernel vocabulary: tiles of matrices in shared memory, and their products. A tile consists of rows of 16-byte chunks;
// T is the type of its elements, kWidth their number in a row. Along k, rows are lines of the factor, otherwise steps
// of k.
namespace wick_text {
namespace {

template <typename T>
WICK_FUNCTION constexpr u32 chunk_elements() {
  return 16 / sizeof(T);
}

template <u32 kWidth, typename T>
WICK_FUNCTION u32 tile_place(u32 row, u32 column) {
  constexpr u32 kElements = chunk_elements<T>();
  return chunk_place<kWidth / kElements>(row, column / kElements) * kElements + column % kElements;
}
template <u32 kWidth, typename T>
WICK_FUNCTION T* tile_at(T* tile, u32 row, u32 column) {
  return tile + tile_place<kWidth, T>(row, column);
}

template <u32 kWidth>
WICK_FUNCTION f32* spread_tile_at(f32* tile, u32 row, u32 column) {
  static_assert(kWidth % 32 == 0, "");
  return tile + spread_chunk_place<kWidth / 4>(row, column / 4) * 4 + column % 4;
}
template <u32 kWidth>
WICK_FUNCTION const f32* spread_tile_at(const f32* tile, u32 row, u32 column) {
  return spread_tile_at<kWidth>(const_cast<f32*>(tile), row, column);
}

template <u32 kRows, typename T>
WICK_FUNCTION T* swizzled_tile_at(T* tile, u32 row, u32 column) {
  return tile + swizzled_place<kRows>(row, column);
}

/// Loads lines `line` .. line + 15 and steps k .. k + 15 of the left factor as operand a[] of a matrix instruction.
template <u32 kWidth, bool kAlongK, typename T>
WICK_FUNCTION void load_left(u32 (&to)[4], const T* tile, u32 line, u32 k) {
  if constexpr (kAlongK) {
    ldmatrix_x4(to, tile, tile_place<kWidth, T>(line + lane() % 16, k + lane() / 16 * 8));
  } else {
    ldmatrix_x4_transposed(to, tile,
                           tile_place<kWidth, T>(k + lane() / 16 * 8 + lane() % 8, line + lane() / 8 % 2 * 8));
  }
}
/// Loads the same steps of the right factor as operands b[] of two instructions: lines `line` .. line + 7, and the next
/// 8.
template <u32 kWidth, bool kAlongK, typename T>
WICK_FUNCTION void load_right(u32 (&first)[2], u32 (&second)[2], const T* tile, u32 line, u32 k) {
  u32 both[4];
  if constexpr (kAlongK) {
    ldmatrix_x4(both, tile, tile_place<kWidth, T>(line + lane() / 16 * 8 + lane() % 8, k + lane() / 8 % 2 * 8));
  } else {
    ldmatrix_x4_transposed(both, tile, tile_place<kWidth, T>(k + lane() % 16, line + lane() / 16 * 8));
  }
  first[0] = both[0];
  first[1] = both[1];
  second[0] = both[2];
  second[1] = both[3];
}

WICK_FUNCTION void multiply_fragments(f32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2], bf16) {
  mma_m16n8k16_bf16(c, a, b);
}
WICK_FUNCTION void multiply_fragments(f32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2], f16) {
  mma_m16n8k16_f16(c, a, b);
}

/// The layout of the two tiles of a product: steps of k, widths of their rows, and whether rows are along k.
template <u32 kDepth, u32 kLeftWidth, bool kLeftAlongK, u32 kRightWidth, bool kRightAlongK>
struct TilePair {
  static constexpr u32 depth = kDepth, left_width = kLeftWidth, right_width = kRightWidth;
  static constexpr bool left_along_k = kLeftAlongK, right_along_k = kRightAlongK;
};

/// The operands of a warp's matrix instructions for 16 steps of k.
template <u32 kM, u32 kN>
struct FragmentPair {
  u32 a[kM][4], b[kN][2];
};

/// Loads the operands for lines first_m .. and first_n .., from step left_k of one tile and right_k of the other.
template <typename Tiles, typename T, u32 kM, u32 kN>
WICK_FUNCTION void load_fragments(FragmentPair<kM, kN>& to, const T* left, const T* right, u32 first_m, u32 first_n,
                                  u32 left_k, u32 right_k) {
  WICK_UNROLL
  for (u32 i = 0; i < kM; ++i)
    load_left<Tiles::left_width, Tiles::left_along_k>(to.a[i], left, first_m + 16 * i, left_k);
  WICK_UNROLL
  for (u32 j = 0; j < kN; j += 2)
    load_right<Tiles::right_width, Tiles::right_along_k>(to.b[j], to.b[j + 1], right, first_n + 8 * j, right_k);
}

template <typename T, u32 kM, u32 kN>
WICK_FUNCTION void multiply_all(f32 (&sums)[kM][kN][4], const FragmentPair<kM, kN>& fragments) {
  WICK_UNROLL
  for (u32 i = 0; i < kM; ++i) {
    WICK_UNROLL
    for (u32 j = 0; j < kN; ++j) multiply_fragments(sums[i][j], fragments.a[i], fragments.b[j], T());
  }
}

/// Adds the products of lines first_m .. and first_n .. to the fragments of a warp.
template <typename Tiles, typename T, u32 kM, u32 kN>
WICK_FUNCTION void multiply_by_matrices(f32 (&sums)[kM][kN][4], const T* left, const T* right, u32 first_m,
                                        u32 first_n) {
  WICK_UNROLL
  for (u32 k = 0; k < Tiles::depth; k += 16) {
    FragmentPair<kM, kN> fragments;
    load_fragments<Tiles>(fragments, left, right, first_m, first_n, k, k);
    multiply_all<T>(sums, fragments);
  }
}

/// The same in two parts, so that fragments are loaded while earlier ones are multiplied, also across tiles. This is
/// all but the last 16 steps of a tile, whose steps begin at left_k of `left` and right_k of `right`. Requires:
/// fragments[0] holds the operands of the first 16 steps.
template <typename Tiles, typename T, u32 kM, u32 kN>
WICK_FUNCTION void multiply_first_steps(f32 (&sums)[kM][kN][4], FragmentPair<kM, kN> (&fragments)[2], const T* left,
                                        const T* right, u32 first_m, u32 first_n, u32 left_k, u32 right_k) {
  WICK_UNROLL
  for (u32 k = 16; k < Tiles::depth; k += 16) {
    load_fragments<Tiles>(fragments[k / 16 % 2], left, right, first_m, first_n, left_k + k, right_k + k);
    multiply_all<T>(sums, fragments[1 - k / 16 % 2]);
  }
}
/// The last 16 steps. Before this, the caller loads the first operands of the next tile into next_fragments().
template <typename Tiles, typename T, u32 kM, u32 kN>
WICK_FUNCTION void multiply_last_steps(f32 (&sums)[kM][kN][4], FragmentPair<kM, kN> (&fragments)[2]) {
  constexpr u32 kLast = (Tiles::depth / 16 - 1) % 2;
  multiply_all<T>(sums, fragments[kLast]);
  if constexpr (kLast == 0) fragments[0] = fragments[1];
}
template <typename Tiles, u32 kM, u32 kN>
WICK_FUNCTION FragmentPair<kM, kN>& next_fragments(FragmentPair<kM, kN> (&fragments)[2]) {
  return fragments[Tiles::depth / 16 % 2];
}

/// The descriptor of a factor's tile from line `line`, a multiple of 64, and step k on, for instructions of a
/// warpgroup. Along k, a group of 8 rows has 8 lines, otherwise 8 steps.
template <u32 kDepth, bool kAlongK, typename T>
WICK_FUNCTION u64 swizzled_factor(const T* tile, u32 line, u32 k) {
  return shared_matrix(tile + (kAlongK ? line * 64 + k : line * kDepth + k * 64), 1024, kAlongK ? 16 : kDepth * 128);
}
/// Starts to add the products of 64 lines of `left` from first_m on and all kN lines of `right` to the sums of four
/// warps.
template <typename Tiles, u32 kN, typename T>
WICK_FUNCTION void multiply_by_warpgroup(WarpgroupSums<kN>& sums, const T* left, const T* right, u32 first_m) {
  static_assert(!Tiles::left_along_k || Tiles::depth == 64, "a row is a chunk of 128 bytes");
  static_assert(!Tiles::right_along_k || Tiles::depth == 64, "a row is a chunk of 128 bytes");
  warpgroup_begin(sums);
  WICK_UNROLL
  for (u32 k = 0; k < Tiles::depth; k += 16) {
    warpgroup_multiply<Tiles::left_along_k, Tiles::right_along_k>(
        sums, swizzled_factor<Tiles::depth, Tiles::left_along_k>(left, first_m, k),
        swizzled_factor<Tiles::depth, Tiles::right_along_k>(right, 0, k), T());
  }
  warpgroup_commit(sums);
}

/// Loads lines `line` .. line + 15 and steps k .. k + 7 of a left factor of f32, rounded to TF32, as operand a[] of a
/// matrix instruction. Along k, each matrix of ldmatrix has four elements of 8 lines.
template <u32 kWidth, bool kAlongK>
WICK_FUNCTION void load_left_tf32(u32 (&to)[4], const f32* tile, u32 line, u32 k) {
  if constexpr (kAlongK) {
    ldmatrix_x4(to, tile_at<kWidth>(tile, line + lane() % 16, k + lane() / 16 * 4));
    WICK_UNROLL
    for (u32 i = 0; i < 4; ++i) to[i] = to_tf32(f32_of_bits(to[i]));
  } else {
    WICK_UNROLL
    for (u32 i = 0; i < 4; ++i)
      to[i] = to_tf32(*spread_tile_at<kWidth>(tile, k + lane() % 4 + i / 2 * 4, line + lane() / 4 + i % 2 * 8));
  }
}
/// Loads the same steps of the right factor as operands b[] of two instructions: lines `line` .. line + 7, and the next
/// 8.
template <u32 kWidth, bool kAlongK>
WICK_FUNCTION void load_right_tf32(u32 (&first)[2], u32 (&second)[2], const f32* tile, u32 line, u32 k) {
  if constexpr (kAlongK) {
    u32 both[4];
    ldmatrix_x4(both, tile_at<kWidth>(tile, line + lane() / 16 * 8 + lane() % 8, k + lane() / 8 % 2 * 4));
    WICK_UNROLL
    for (u32 i = 0; i < 2; ++i) {
      first[i] = to_tf32(f32_of_bits(both[i]));
      second[i] = to_tf32(f32_of_bits(both[2 + i]));
    }
  } else {
    WICK_UNROLL
    for (u32 i = 0; i < 2; ++i) {
      first[i] = to_tf32(*spread_tile_at<kWidth>(tile, k + lane() % 4 + i * 4, line + lane() / 4));
      second[i] = to_tf32(*spread_tile_at<kWidth>(tile, k + lane() % 4 + i * 4, line + 8 + lane() / 4));
    }
  }
}

/// multiply_by_matrices() for factors of f32, rounded to TF32.
template <typename Tiles, u32 kM, u32 kN>
WICK_FUNCTION void multiply_by_tf32(f32 (&sums)[kM][kN][4], const f32* left, const f32* right, u32 first_m,
                                    u32 first_n) {
  WICK_UNROLL
  for (u32 k = 0; k < Tiles::depth; k += 8) {
    u32 a[kM][4], b[kN][2];
    WICK_UNROLL
    for (u32 i = 0; i < kM; ++i)
      load_left_tf32<Tiles::left_width, Tiles::left_along_k>(a[i], left, first_m + 16 * i, k);
    WICK_UNROLL
    for (u32 j = 0; j < kN; j += 2)
      load_right_tf32<Tiles::right_width, Tiles::right_along_k>(b[j], b[j + 1], right, first_n + 8 * j, k);
    WICK_UNROLL
    for (u32 i = 0; i < kM; ++i) {
      WICK_UNROLL
      for (u32 j = 0; j < kN; ++j) mma_m16n8k8_tf32(sums[i][j], a[i], b[j]);
    }
  }
}

WICK_FUNCTION Vector<f32, 4> load_four(const f32* tile, int line = __builtin_LINE()) {
  typedef Vector<f32, 4> Four;
  return __builtin_bit_cast(Four, load_shared_words4(tile, line));
}
/// Loads four steps of k for all lines of a thread.
template <u32 kWidth, bool kAlongK, u32 kThreads, u32 kLines>
WICK_FUNCTION void load_lines(f32 (&to)[kLines][4], const f32* tile, u32 own, u32 k) {
  if constexpr (kAlongK) {
    WICK_UNROLL
    for (u32 i = 0; i < kLines; ++i) {
      const Vector<f32, 4> steps = load_four(tile_at<kWidth>(tile, own + i * kThreads, k));
      WICK_UNROLL
      for (u32 e = 0; e < 4; ++e) to[i][e] = steps[e];
    }
  } else {
    WICK_UNROLL
    for (u32 e = 0; e < 4; ++e) {
      WICK_UNROLL
      for (u32 i = 0; i < kLines; i += 4) {
        const Vector<f32, 4> lines = load_four(tile_at<kWidth>(tile, k + e, (i / 4 * kThreads + own) * 4));
        WICK_UNROLL
        for (u32 l = 0; l < 4; ++l) to[i + l][e] = lines[l];
      }
    }
  }
}

/// Adds the products of a thread's lines to its sums.
template <typename Tiles, u32 kThreadsM, u32 kThreadsN, u32 kM, u32 kN>
WICK_FUNCTION void multiply_by_fma(f32 (&sums)[kM][kN], const f32* left, const f32* right, u32 own_m, u32 own_n) {
  WICK_UNROLL_BY_2
  for (u32 k = 0; k < Tiles::depth; k += 4) {
    f32 a[kM][4], b[kN][4];
    load_lines<Tiles::left_width, Tiles::left_along_k, kThreadsM>(a, left, own_m, k);
    load_lines<Tiles::right_width, Tiles::right_along_k, kThreadsN>(b, right, own_n, k);
    WICK_UNROLL
    for (u32 e = 0; e < 4; ++e) {
      WICK_UNROLL
      for (u32 i = 0; i < kM; ++i) {
        WICK_UNROLL
        for (u32 j = 0; j < kN; ++j) sums[i][j] = fused_multiply_add(a[i][e], b[j][e], sums[i][j]);
      }
    }
  }
}

/// Writes parts `part` .. part + kParts - 1 of a warp's fragments, 16 lines each, to rows of kPitch floats. A part has
/// kRows rows of all warps; `row` and `column` are where the warp's fragments begin.
template <u32 kParts, u32 kRows, u32 kPitch, u32 kM, u32 kN>
WICK_FUNCTION void put_fragments(f32* to, const f32 (&sums)[kM][kN][4], u32 part, u32 row, u32 column) {
  f32* const own = to + (row + lane() / 4) * kPitch + column + lane() % 4 * 2;
  WICK_UNROLL
  for (u32 i = 0; i < kM; ++i) {
    if (i / kParts * kParts != part) continue;
    WICK_UNROLL
    for (u32 j = 0; j < kN; ++j) {
      f32* const at = own + i % kParts * kRows * kPitch + j * 8;
      store_vector(at, Vector<f32, 2>{{sums[i][j][0], sums[i][j][1]}});
      store_vector(at + 8 * kPitch, Vector<f32, 2>{{sums[i][j][2], sums[i][j][3]}});
    }
  }
}
/// The same for a thread's lines; a part is one line of each thread.
template <u32 kParts, u32 kRows, u32 kPitch, u32 kThreadsN, bool kAlongK, u32 kM, u32 kN>
WICK_FUNCTION void put_lines(f32* to, const f32 (&sums)[kM][kN], u32 part, u32 own_m, u32 own_n) {
  WICK_UNROLL
  for (u32 i = 0; i < kM; ++i) {
    if (i / kParts * kParts != part) continue;
    f32* const at = to + (i % kParts * kRows + own_m) * kPitch;
    WICK_UNROLL
    for (u32 j = 0; j < kN; ++j) at[line_of_thread<kThreadsN, kAlongK>(own_n, j)] = sums[i][j];
  }
}

/// Whether this is the last of the `splits` blocks of a tile; then it sees what the others have written. All threads of
/// the block call it. `counter`: 0 before the first block and after the last one. `shared`: 4 bytes of shared memory
/// that nobody reads any more once all threads are here.
WICK_FUNCTION bool is_last_split(u32* counter, void* shared, u32 splits) {
  u32* const arrived = static_cast<u32*>(shared);
  global_fence();
  block_barrier();
  if (thread_x() == 0) {
    *arrived = atomic_add(counter, 1u);
    if (*arrived + 1 == splits) *counter = 0;
  }
  block_barrier();
  if (*arrived + 1 != splits) return false;
  global_fence();
  return true;
}

/// Adds the partial sums of the `splits` blocks of one tile. The last block to arrive adds them, in the order of the
/// splits; there the result is true, and `sums` complete. Each thread has kCount sums. `partial`:
/// [splits][kCount][threads], those of the tile.
template <u32 kCount>
WICK_FUNCTION bool add_splits(f32* sums, f32* partial, u32* counter, void* shared, u32 split, u32 splits, u32 threads) {
  WICK_UNROLL
  for (u32 e = 0; e < kCount; ++e) partial[(split * kCount + e) * threads + thread_x()] = sums[e];
  if (!is_last_split(counter, shared, splits)) return false;
  WICK_UNROLL
  for (u32 e = 0; e < kCount; ++e) sums[e] = 0.0f;
  for (u32 from = 0; from < splits; ++from) {
    WICK_UNROLL
    for (u32 e = 0; e < kCount; ++e) sums[e] += partial[(from * kCount + e) * threads + thread_x()];
  }
  return true;
}

}  // namespace
}  // namespace wick_text
