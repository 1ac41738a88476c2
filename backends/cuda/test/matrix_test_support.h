// Kernels with matrix instructions. Tests only.
#pragma once
#include "backends/cuda/test/vocabulary_test_support.h"

namespace wick::cuda {

// c (f32, row major m x n) = a (bf16, row major m x k) times the transpose of b (bf16, row major n x k). k is a
// multiple of 32, and rows are 16-byte aligned. A block of 128 threads computes 64 x 64 elements of c; warp w has rows
// from 32 (w / 2) and columns from 32 (w % 2) on. Two tiles of 64 x 32 of a and of b are used in turns. Chunk c of row
// r is at c ^ (r / 2 % 4), so that ldmatrix has no bank conflicts.
inline const KernelText kGemm = {"gemm", R"(
static WICK_FUNCTION bf16* tile_chunk(bf16* tile, i32 row, i32 chunk) { return tile + row * 32 + 8 * (chunk ^ (row / 2 % 4)); }

static WICK_FUNCTION void load_tile(bf16* tile, const bf16* from, i32 first_row, i32 rows, i32 k, i32 first_k) {
  for (i32 i = thread_x(); i < 256; i += 128) {
    const i32 row = i / 4, chunk = i % 4;
    const bool inside = first_row + row < rows;
    const bf16* const source = from + static_cast<i64>(inside ? first_row + row : 0) * k + first_k + 8 * chunk;
    cp_async16(tile_chunk(tile, row, chunk), source, inside ? 16 : 0);
  }
}

WICK_KERNEL_BLOCKS(gemm, 128, 4)(const bf16* __restrict__ a, const bf16* __restrict__ b, f32* __restrict__ c, i32 m, i32 n, i32 k) {
  WICK_SHARED(bf16, a_tiles, 2 * 64 * 32);
  WICK_SHARED(bf16, b_tiles, 2 * 64 * 32);
  const i32 first_row = block_y() * 64, first_column = block_x() * 64;
  const i32 warp = thread_x() / 32, warp_row = 32 * (warp / 2), warp_column = 32 * (warp % 2), l = lane();
  f32 sums[2][4][4] = {};
  load_tile(a_tiles, a, first_row, m, k, 0);
  load_tile(b_tiles, b, first_column, n, k, 0);
  cp_async_commit();
  for (i32 step = 0; step < k / 32; ++step) {
    const i32 now = step % 2, next = 1 - now;
    cp_async_wait<0>();
    block_barrier();
    if (32 * (step + 1) < k) {
      load_tile(a_tiles + next * 2048, a, first_row, m, k, 32 * (step + 1));
      load_tile(b_tiles + next * 2048, b, first_column, n, k, 32 * (step + 1));
    }
    cp_async_commit();
    WICK_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      u32 a_parts[2][4], b_parts[2][4];
      WICK_UNROLL
      for (i32 i = 0; i < 2; ++i) {
        const i32 row = 16 * i + l % 16, chunk = 2 * half + l / 16;
        ldmatrix_x4(a_parts[i], tile_chunk(a_tiles + now * 2048, warp_row + row, chunk));
        ldmatrix_x4(b_parts[i], tile_chunk(b_tiles + now * 2048, warp_column + row, chunk));
      }
      WICK_UNROLL
      for (i32 i = 0; i < 2; ++i) {
        WICK_UNROLL
        for (i32 j = 0; j < 4; ++j) {
          const u32 b_part[2] = {b_parts[j / 2][j % 2], b_parts[j / 2][2 + j % 2]};
          mma_m16n8k16_bf16(sums[i][j], a_parts[i], b_part);
        }
      }
    }
  }
  WICK_UNROLL
  for (i32 i = 0; i < 2; ++i) {
    WICK_UNROLL
    for (i32 j = 0; j < 4; ++j) {
      WICK_UNROLL
      for (i32 e = 0; e < 4; ++e) {
        const i32 row = first_row + warp_row + 16 * i + l / 4 + 8 * (e / 2);
        const i32 column = first_column + warp_column + 8 * j + 2 * (l % 4) + e % 2;
        if (row < m && column < n) c[static_cast<i64>(row) * n + column] = sums[i][j][e];
      }
    }
  }
}
)",
                                 true};

// The registers that ldmatrix_x4, its transpose, ldmatrix_x2 and its transpose give for four matrices of ascending
// numbers.
inline const KernelText kLoadMatrix = {"load_matrix", R"(
WICK_KERNEL(load_matrix, 32)(const f16* in, u32* out) {
  WICK_SHARED(f16, matrices, 256);
  for (i32 i = lane(); i < 256; i += 32) matrices[i] = in[i];
  warp_barrier();
  u32 four[4], two[2];
  ldmatrix_x4(four, matrices + 8 * lane());
  for (i32 i = 0; i < 4; ++i) out[lane() * 4 + i] = four[i];
  ldmatrix_x4_transposed(four, matrices + 8 * lane());
  for (i32 i = 0; i < 4; ++i) out[(32 + lane()) * 4 + i] = four[i];
  ldmatrix_x2(two, matrices + 8 * (lane() % 16));
  for (i32 i = 0; i < 2; ++i) out[(64 + lane()) * 4 + i] = two[i];
  ldmatrix_x2_transposed(two, matrices + 8 * (lane() % 16));
  for (i32 i = 0; i < 2; ++i) out[(96 + lane()) * 4 + i] = two[i];
}
)",
                                       true};

/// c = a b + 1 by one instruction, with the fragments that the vocabulary documents. a is row major 16 x k, b is column
/// major k x 8, c is row major 16 x 8.
inline KernelText one_instruction(const std::string& name, const std::string& element, const std::string& sum,
                                  int per_register) {
  std::string text = R"(
WICK_KERNEL(NAME, 32)(const ELEMENT* a, const ELEMENT* b, SUM* c) {
  const i32 g = lane() / 4, t = lane() % 4;
  u32 a_part[4], b_part[2];
  for (i32 i = 0; i < 4; ++i) a_part[i] = *reinterpret_cast<const u32*>(a + (g + 8 * (i % 2)) * (8 * PER) + PER * t + 4 * PER * (i / 2));
  for (i32 i = 0; i < 2; ++i) b_part[i] = *reinterpret_cast<const u32*>(b + g * (8 * PER) + PER * t + 4 * PER * i);
  SUM c_part[4] = {1, 1, 1, 1};
  mma_NAME(c_part, a_part, b_part);
  for (i32 i = 0; i < 4; ++i) c[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = c_part[i];
}
)";
  text = replaced(replaced(replaced(text, "NAME", name), "ELEMENT", element), "SUM", sum);
  return {name, replaced(text, "PER", std::to_string(per_register)), true};
}

/// c (f32, row major 64 x 64) = a (bf16, row major 64 x 64) times the transpose of b (the same), by one warpgroup.
/// `fault` 1: b's tile begins one row late; 2: a's tile changes while instructions read it; 3: the sums are read before
/// a wait; 4: b's tile ends behind the shared memory.
inline const KernelText kWarpgroup = {"warpgroup", R"(
WICK_KERNEL(warpgroup, 128)(const bf16* a, const bf16* b, f32* c, i32 fault) {
  WICK_SWIZZLED_SHARED(bf16, tiles);
  bf16* const right = tiles + 4096;
  for (u32 i = thread_x(); i < 4096; i += 128) {
    *swizzled_tile_at<64>(tiles, i / 64, i % 64) = a[i];
    *swizzled_tile_at<64>(right, i / 64, i % 64) = b[i];
  }
  warpgroup_publish();
  block_barrier();
  WarpgroupSums<64> sums = {};
  multiply_by_warpgroup<TilePair<64, 64, true, 64, true>>(sums, tiles, right + (fault == 1 ? 64 : fault == 4 ? 512 : 0), 0);
  if (fault == 2) tiles[thread_x()] = bf16();
  if (fault == 3) c[0] = sums.of[0][0][0];
  if (fault == 3) return;
  warpgroup_wait<0>(sums);
  for (u32 j = 0; j < 8; ++j) {
    for (u32 i = 0; i < 4; ++i)
      c[(thread_x() / 32 * 16 + lane() / 4 + i / 2 * 8) * 64 + 8 * j + lane() % 4 * 2 + i % 2] = sums.of[0][j][i];
  }
}
)",
                                      true};

inline const KernelText kMatrixKernels[] = {one_instruction("m16n8k16_bf16", "bf16", "f32", 2),
                                            one_instruction("m16n8k16_f16", "f16", "f32", 2),
                                            one_instruction("m16n8k8_tf32", "f32", "f32", 1),
                                            one_instruction("m16n8k32_s8", "i8", "i32", 4),
                                            {"round_tf32", R"(
WICK_KERNEL(round_tf32, 1)(const f32* x, u32* out, i32 count) {
  for (i32 i = 0; i < count; ++i) out[i] = to_tf32(x[i]);
}
)"}};

}  // namespace wick::cuda
