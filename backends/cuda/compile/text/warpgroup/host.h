// Kernel vocabulary on the host: matrix instructions of a warpgroup (device.h). An instruction reads its factors twice:
// when it is issued and when a thread waits for it, because a device may read at any time between. Until then the sums
// are NaN.
namespace wick_text {
namespace {

constexpr u32 kSharedBegin = 1024;  // where a block's shared memory begins, as on a device

struct WarpgroupProduct {
  u64 left, right, digest;
  bool left_along_k, right_along_k, is_bf16;
  u32 group;
  int line;
};

template <u32 kN>
struct WarpgroupSums {
  static constexpr u32 kMost = 16;  // instructions on their way
  f32 of[1][kN / 8][4];
  f32 held[kN / 8][4];
  WarpgroupProduct products[kMost];
  u32 count, group;
};

WICK_FUNCTION u64 shared_matrix(const void* at, u32 group_bytes, u32 block_bytes) {
  const char* const begin = static_cast<const char*>(wick_twin::dynamic_shared_memory());
  const u64 address = static_cast<u64>(static_cast<const char*>(at) - begin) + kSharedBegin;
  return address >> 4 | static_cast<u64>(block_bytes >> 4) << 16 | static_cast<u64>(group_bytes >> 4) << 32 |
         u64{1} << 62;
}
WICK_FUNCTION void warpgroup_publish() {}

/// The element at a line and a step of a factor that an instruction reads.
WICK_FUNCTION f32 element_of_matrix(u64 matrix, bool along_k, bool is_bf16, u32 line, u32 k, int source_line) {
  const u64 begin = (matrix & 0x3fff) << 4, block = (matrix >> 16 & 0x3fff) << 4, group = (matrix >> 32 & 0x3fff) << 4;
  const u64 linear = begin + (along_k ? line / 8 * group + line % 8 * 128 + k * 2
                                      : line / 64 * block + line % 64 * 2 + k / 8 * group + k % 8 * 128);
  const u64 place = (linear ^ (linear >> 7 & 7) << 4) - kSharedBegin;
  if (begin >> 7 & 7 || matrix >> 62 != 1 || place + 2 > wick_twin::dynamic_shared_bytes()) {
    wick_twin::report_product("reads a factor that is not aligned or lies outside shared memory", source_line);
    return 0;
  }
  u16 bits;
  __builtin_memcpy(&bits, static_cast<const char*>(wick_twin::dynamic_shared_memory()) + place, 2);
  return is_bf16 ? f32_of_bits(static_cast<u32>(bits) << 16) : f32_of_f16_bits(bits);
}

/// The thread's sums of 16 exact products each. Returns a digest of the elements that it read.
template <u32 kN>
WICK_FUNCTION u64 products_of(const WarpgroupProduct& p, f64 (&sums)[kN / 8][4]) {
  const u32 first = thread_x() / 32 % 4 * 16 + lane() / 4;
  u64 digest = 14695981039346656037ull;
  const auto read = [&](u64 matrix, bool along_k, u32 line, f32(&to)[16]) {
    for (u32 k = 0; k < 16; ++k) {
      to[k] = element_of_matrix(matrix, along_k, p.is_bf16, line, k, p.line);
      digest = (digest ^ bits_of(to[k])) * 1099511628211ull;
    }
  };
  f32 rows[2][16], column[16];
  for (u32 i = 0; i < 2; ++i) read(p.left, p.left_along_k, first + 8 * i, rows[i]);
  for (u32 j = 0; j < kN / 8; ++j) {
    for (u32 e = 0; e < 2; ++e) {
      read(p.right, p.right_along_k, 8 * j + 2 * (lane() % 4) + e, column);
      for (u32 i = 0; i < 2; ++i) {
        f64 sum = 0;
        for (u32 k = 0; k < 16; ++k) sum += static_cast<f64>(rows[i][k]) * static_cast<f64>(column[k]);
        sums[j][2 * i + e] = sum;
      }
    }
  }
  return digest;
}

template <u32 kN>
WICK_FUNCTION void warpgroup_begin(WarpgroupSums<kN>&, int line = __builtin_LINE()) {
  wick_twin::warp_wait("warpgroup_begin", line);
}
template <u32 kN>
WICK_FUNCTION void warpgroup_commit(WarpgroupSums<kN>& sums) {
  ++sums.group;
}
template <bool kLeftAlongK, bool kRightAlongK, u32 kN, typename T>
WICK_FUNCTION void warpgroup_multiply(WarpgroupSums<kN>& sums, u64 left, u64 right, T, int line = __builtin_LINE()) {
  wick_twin::warp_wait("warpgroup_multiply", line);
  if (threads_x() % 128 != 0 || sums.count == sums.kMost) {
    wick_twin::report_product("needs whole groups of four warps, and a wait", line);
    return;
  }
  if (sums.count == 0) __builtin_memcpy(sums.held, sums.of, sizeof sums.held);
  __builtin_memset(sums.of, 0xff, sizeof sums.of);
  const bool is_bf16 = __is_same(T, bf16);
  WarpgroupProduct product = {left, right, 0, kLeftAlongK, kRightAlongK, is_bf16, sums.group, line};
  f64 early[kN / 8][4];
  product.digest = products_of<kN>(product, early);
  sums.products[sums.count++] = product;
}
template <int kPending, u32 kN>
WICK_FUNCTION void warpgroup_wait(WarpgroupSums<kN>& sums, int line = __builtin_LINE()) {
  wick_twin::warp_wait("warpgroup_wait", line);
  u32 done = 0;
  for (; done < sums.count && sums.products[done].group + kPending < sums.group; ++done) {
    f64 late[kN / 8][4];
    if (products_of<kN>(sums.products[done], late) != sums.products[done].digest)
      wick_twin::report_product("reads factors that change before it is waited for", sums.products[done].line);
    for (u32 j = 0; j < kN / 8; ++j) {
      for (u32 i = 0; i < 4; ++i) sums.held[j][i] = static_cast<f32>(late[j][i] + static_cast<f64>(sums.held[j][i]));
    }
  }
  for (u32 i = done; i < sums.count; ++i) sums.products[i - done] = sums.products[i];
  if (done > 0 && done == sums.count) __builtin_memcpy(sums.of, sums.held, sizeof sums.of);
  sums.count -= done;
}

}  // namespace
}  // namespace wick_text
