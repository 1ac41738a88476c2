// Kernel vocabulary on a device: matrix instructions of a warpgroup (four consecutive warps, the first with a number
// that is a multiple of four). For sm_90a alone. Factors lie in shared memory, in rows of 128 bytes
// (text/tile_layout.h, swizzled_place). Instructions read them while threads go on: before a thread has waited, it may
// neither touch its sums nor replace a tile. With w the warp's number in its group, g = lane / 4 and t = lane % 4 a
// lane holds
//   of[0][j][i]: row 16 w + g + 8 (i / 2), column 8 j + 2 t + i % 2    of a 64 x kN matrix
namespace wick_text {
namespace {

template <u32 kN>
struct WarpgroupSums {
  f32 of[1][kN / 8][4];
};

/// The descriptor of a factor in shared memory: its address, the bytes between groups of 8 rows, and the bytes between
/// blocks of 64 lines, for factors that are not along k.
WICK_FUNCTION u64 shared_matrix(const void* at, u32 group_bytes, u32 block_bytes) {
  return static_cast<u64>(shared_address(at) >> 4 & 0x3fffu) | static_cast<u64>(block_bytes >> 4) << 16 |
         static_cast<u64>(group_bytes >> 4) << 32 | u64{1} << 62;
}
/// To be called between a thread's own writes to shared memory (or the end of its copies) and the barrier after which
/// instructions read what it wrote.
WICK_FUNCTION void warpgroup_publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/// To be called before the first instruction, and whenever the thread has touched its sums.
template <u32 kN>
WICK_FUNCTION void warpgroup_begin(WarpgroupSums<kN>&) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/// The instructions since the last call become a group.
template <u32 kN>
WICK_FUNCTION void warpgroup_commit(WarpgroupSums<kN>&) {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most the last kPending groups still run.
template <int kPending, u32 kN>
WICK_FUNCTION void warpgroup_wait(WarpgroupSums<kN>& sums) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
  if constexpr (kPending == 0) {  // nothing that reads sums moves ahead of this
    WICK_UNROLL
    for (u32 j = 0; j < kN / 8; ++j) {
      WICK_UNROLL
      for (u32 i = 0; i < 4; ++i) asm volatile("" : "+f"(sums.of[0][j][i])::"memory");
    }
  }
}

#define WICK_NAMES_32                                                                                        \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22," \
  "%23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WICK_NAMES_64                                                                                                \
  WICK_NAMES_32                                                                                                      \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, " \
  "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WICK_NAMES_128                                                                                               \
  WICK_NAMES_64                                                                                                      \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, " \
  "%86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, " \
  "%107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, "     \
  "%125, %126, %127"
#define WICK_SUMS_4(j) "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])
#define WICK_SUMS_32(j)                                                                                               \
  WICK_SUMS_4(j), WICK_SUMS_4(j + 1), WICK_SUMS_4(j + 2), WICK_SUMS_4(j + 3), WICK_SUMS_4(j + 4), WICK_SUMS_4(j + 5), \
      WICK_SUMS_4(j + 6), WICK_SUMS_4(j + 7)
#define WICK_WARPGROUP(type, columns, names, left_name, right_name, across_left, across_right, ...)                 \
  template <bool kLeftAlongK, bool kRightAlongK>                                                                    \
  WICK_FUNCTION void warpgroup_multiply(WarpgroupSums<columns>& sums, u64 left, u64 right, type) {                  \
    f32(&c)[columns / 8][4] = sums.of[0];                                                                           \
    asm volatile("{.reg .pred adds; setp.eq.u32 adds, 0, 0; wgmma.mma_async.sync.aligned.m64n" #columns             \
                 "k16.f32." #type "." #type " {" names "}, " left_name ", " right_name ", adds, 1, 1, " across_left \
                 ", " across_right ";}"                                                                             \
                 : __VA_ARGS__                                                                                      \
                 : "l"(left), "l"(right), "n"(!kLeftAlongK), "n"(!kRightAlongK)                                     \
                 : "memory");                                                                                       \
  }
#define WICK_WARPGROUP_SIZES(type)                                                                            \
  WICK_WARPGROUP(type, 64, WICK_NAMES_32, "%32", "%33", "%34", "%35", WICK_SUMS_32(0))                        \
  WICK_WARPGROUP(type, 128, WICK_NAMES_64, "%64", "%65", "%66", "%67", WICK_SUMS_32(0), WICK_SUMS_32(8))      \
  WICK_WARPGROUP(type, 256, WICK_NAMES_128, "%128", "%129", "%130", "%131", WICK_SUMS_32(0), WICK_SUMS_32(8), \
                 WICK_SUMS_32(16), WICK_SUMS_32(24))
/// Adds the products of 64 lines and 16 steps of `left` with the lines of `right`.
WICK_WARPGROUP_SIZES(bf16)
WICK_WARPGROUP_SIZES(f16)
#undef WICK_WARPGROUP_SIZES
#undef WICK_WARPGROUP
#undef WICK_SUMS_32
#undef WICK_SUMS_4
#undef WICK_NAMES_128
#undef WICK_NAMES_64
#undef WICK_NAMES_32

}  // namespace
}  // namespace wick_text
