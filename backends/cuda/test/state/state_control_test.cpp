// Mutable buffers that conditions and loops read, depend on, and change.
#include "backends/cuda/test/state/state_test_support.h"

namespace wick::cuda {
namespace {

using CudaStateControl = CudaState;

// The cache of a cross attention: the first call fills it, and a buffer remembers that it has.
TEST_F(CudaStateControl, ABufferDecidesWhichBranchFillsAnother) {
  compile_state({R"(graph a(%x: f32[4, 8]) {
  state %cache: f32[4, 8] "cache" = ...
  state %filled: bool[] "filled" = ...
  const %yes: bool[] = [true]
  %k: f32[4, 8] = higher_order.cond(%filled, [%cache, %x]) graph (%c: f32[4, 8], %u: f32[4, 8]) {
    return %c
  } graph (%c: f32[4, 8], %u: f32[4, 8]) {
    %e: f32[4, 8] = aten.mul.Tensor(%u, 3)
    return %e
  }
  %y: f32[4, 8] = aten.add.Tensor(%k, %x)
  update %cache = %k
  update %filled = %yes
  return %y, %cache
})"});
  EXPECT_EQ(result_.methods[0].delegates, 1u);
  EXPECT_EQ(reason_outside(0, "cache"), "held");
  EXPECT_EQ(reason_outside(0, "filled"), "held");
  std::vector<Call> calls;
  for (uint64_t seed = 1; seed <= 4; ++seed) calls.push_back({"a", {numbers(DType::f32, {4, 8}, seed)}});
  expect_like_portable_after(calls);
}

// The branch reads the cache after the earlier write and before the later one.
TEST_F(CudaStateControl, BranchesReadTheVersionThatTheyAreGiven) {
  compile_state({R"(graph a(%p: bool[], %x: f32[2, 8]) {
  state %cache: f32[8, 8] "cache" = ...
  %k: f32[8, 8] = aten.slice_scatter(%cache, %x, 0, 1, 3)
  %old: f32[2, 8] = aten.slice.Tensor(%k, 0, 2, 4)
  %r: f32[2, 8] = higher_order.cond(%p, [%k, %old]) graph (%c: f32[8, 8], %o: f32[2, 8]) {
    %part: f32[2, 8] = aten.slice.Tensor(%c, 0, 4, 6)
    %s: f32[2, 8] = aten.add.Tensor(%part, %o)
    return %s
  } graph (%c: f32[8, 8], %o: f32[2, 8]) {
    %t: f32[8] = aten.sum.dim_IntList(%c, [0])
    %s: f32[2, 8] = aten.mul.Tensor(%o, %t)
    return %s
  }
  %k_2: f32[8, 8] = aten.slice_scatter(%k, %r, 0, 3, 5)
  %y: f32[2, 8] = aten.add.Tensor(%r, %old)
  update %cache = %k_2
  return %y, %k_2
})"});
  EXPECT_EQ(result_.methods[0].delegates, 1u);
  EXPECT_EQ(reason_outside(0, "cache"), "held");
  std::vector<Call> calls;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    HostTensor taken;
    taken.dtype = DType::boolean;
    taken.bytes = {static_cast<uint8_t>(seed % 2)};
    calls.push_back({"a", {taken, numbers(DType::f32, {2, 8}, seed)}});
  }
  expect_like_portable_after(calls);
}

// A loop carries one buffer and reads another in each round; a third buffer counts the rounds of all calls.
TEST_F(CudaStateControl, ALoopCarriesABuffer) {
  compile_state({R"(graph a(%n: i64[], %x: f32[4]) {
  state %sum: f32[4] "sum" = [1, 2, 3, 4]
  state %weights: f32[4] "weights" = [0.5, 2, 1, -1]
  state %rounds: i64[] "rounds" = ...
  %i: i64[], %s: f32[4], %c: i64[] = higher_order.while_loop([%n, %sum, %rounds], [%weights, %x]) graph (%a: i64[], %b: f32[4], %r: i64[], %w: f32[4], %v: f32[4]) {
    %p: bool[] = aten.gt.Scalar(%a, 0)
    return %p
  } graph (%a: i64[], %b: f32[4], %r: i64[], %w: f32[4], %v: f32[4]) {
    %d: i64[] = aten.sub.Scalar(%a, 1)
    %m: f32[4] = aten.mul.Tensor(%b, %w)
    %e: f32[4] = aten.add.Tensor(%m, %v)
    %f: i64[] = aten.add.Scalar(%r, 1)
    return %d, %e, %f
  }
  %next: f32[4] = aten.mul.Tensor(%weights, -0.5)
  update %sum = %s
  update %weights = %next
  update %rounds = %c
  return %s, %c, %sum
})"});
  EXPECT_EQ(result_.methods[0].delegates, 1u);
  for (const char* name : {"sum", "weights", "rounds"}) EXPECT_EQ(reason_outside(0, name), "held");
  std::vector<Call> calls;
  for (const int64_t rounds : {2, 0, 3, 1})
    calls.push_back({"a", {integers({rounds}, {}), numbers(DType::f32, {4}, static_cast<uint64_t>(rounds))}});
  expect_like_portable_after(calls);
}

// A loop writes a row of a cache in each round, which is a mutable buffer or a value of its own. Nothing else is
// copied, except the old rows that a body still reads, and those that are read after the loop.
TEST_F(CudaStateControl, ALoopWritesRowsInPlace) {
  const auto text = [](const char* first, const char* inner, const char* carried, const char* behind) {
    return fmt::format(R"(graph a(%n: i64[], %x: f32[1, 8]) {{
  state %cache: f32[64, 8] "cache" = ...
  %one: f32[64, 8] = aten.full([64, 8], 1.5)
  %i: i64[], %h: f32[1, 8], %k: f32[64, 8] = higher_order.while_loop([%n, %x, {0}], [%x]) graph (%a: i64[], %u: f32[1, 8], %c: f32[64, 8], %m: f32[1, 8]) {{
    %p: bool[] = aten.gt.Scalar(%a, 0)
    return %p
  }} graph (%a: i64[], %u: f32[1, 8], %c: f32[64, 8], %m: f32[1, 8]) {{
    %b: i64[] = aten.sub.Scalar(%a, 1)
    %r: i64[1] = aten.view(%b, [1])
    %d: f32[64, 8] = aten.index_put(%c, [%r], %u)
{1}
    %w: f32[1, 8] = aten.slice.Tensor({2}, 0, 1, 2)
    %t: f32[1, 8] = aten.amax(%d, [0], true)
    %s: f32[1, 8] = aten.mul.Tensor(%t, 0.25)
    %e: f32[1, 8] = aten.add.Tensor(%s, %w)
    %g: f32[1, 8] = aten.sub.Tensor(%e, %m)
    return %b, %g, {3}
  }}
  %o: f32[8] = aten.amax({4}, [0])
  update %cache = %k
  return %h, %o
}})",
                       first, inner, carried, *inner ? "%d_2" : "%d", behind);
  };
  const char* const again = "    %d_2: f32[64, 8] = aten.slice_scatter(%d, %u, 0, 2, 3)";
  const char* const in_other_sizes =
      "    %f: f32[512] = aten.view(%d, [512])\n    %q: f32[8] = aten.view(%u, [8])\n"
      "    %j: f32[512] = aten.slice_scatter(%f, %q, 0, 16, 24)\n    %d_2: f32[64, 8] = aten.view(%j, [64, 8])";
  const uint64_t rounds = 8 * 4 + 8, all = 64 * 8 * 4;  // numbers written besides rows: the loop's own state
  for (const auto& [graph, most] : {std::pair(text("%cache", "", "%d", "%k"), all / 2),
                                    {text("%cache", "", "%c", "%k"), all / 2},
                                    {text("%cache", "", "%d", "%cache"), all + all / 2},
                                    {text("%cache", again, "%d", "%k"), all / 2},
                                    {text("%cache", in_other_sizes, "%d", "%k"), all / 2},
                                    {text("%one", "", "%c", "%k"), 2 * all + all / 2}}) {
    compile_state({graph});
    EXPECT_EQ(result_.methods[0].delegates, 1u);
    EXPECT_EQ(reason_outside(0, "cache"), "held");
    EXPECT_LE(written_bytes(plan_of(0)), most + rounds) << graph;
    std::vector<Call> calls;
    for (const int64_t count : {3, 0, 2})
      calls.push_back({"a", {integers({count}, {}), numbers(DType::f32, {1, 8}, static_cast<uint64_t>(count) + 1)}});
    expect_like_portable_after(calls);
  }
}

// Two caches are exchanged in each round, or one becomes an older version of the other: these are copied.
TEST_F(CudaStateControl, CarriedCachesThatBecomeEachOtherAreCopied) {
  const char* const change_places =
      "%e: f32[4, 8] = aten.index_put(%c, [%r], %u)\n    %f: f32[4, 8] = aten.mul.Tensor(%e, 0.5)\n"
      "    return %l, %d, %f";
  const char* const one_version_behind =
      "%e: f32[4, 8] = aten.index_put(%d, [%r], %u)\n    %f: f32[4, 8] = aten.slice_scatter(%e, %u, 0, 3, 4)\n"
      "    return %l, %e, %f";
  for (const char* body : {change_places, one_version_behind}) {
    SCOPED_TRACE(body);
    compile_state({fmt::format(R"(graph a(%n: i64[], %x: f32[1, 8]) {{
  state %k: f32[4, 8] "k" = ...
  state %v: f32[4, 8] "v" = ...
  %i: i64[], %a: f32[4, 8], %b: f32[4, 8] = higher_order.while_loop([%n, %k, %v], [%x]) graph (%j: i64[], %c: f32[4, 8], %d: f32[4, 8], %u: f32[1, 8]) {{
    %p: bool[] = aten.gt.Scalar(%j, 0)
    return %p
  }} graph (%j: i64[], %c: f32[4, 8], %d: f32[4, 8], %u: f32[1, 8]) {{
    %l: i64[] = aten.sub.Scalar(%j, 1)
    %r: i64[1] = aten.view(%l, [1])
    {}
  }}
  update %k = %a
  update %v = %b
  return %a, %b
}})",
                               body)});
    EXPECT_EQ(result_.methods[0].delegates, 1u);
    std::vector<Call> calls;
    for (const int64_t count : {3, 0, 2, 1})
      calls.push_back({"a", {integers({count}, {}), numbers(DType::f32, {1, 8}, static_cast<uint64_t>(count) + 1)}});
    expect_like_portable_after(calls);
  }
}

// Draws stay in their order, whatever is written between them.
TEST_F(CudaStateControl, RandomNumbersMeetBuffersInTheirOrder) {
  compile_state({R"(graph a(%x: f32[4, 8]) {
  state %cache: f32[8, 8] "cache" = ...
  %r: f32[4, 8] = aten.rand_like(%x)
  %old: f32[4, 8] = aten.slice.Tensor(%cache, 0, 2, 6)
  %e: f32[4, 8] = aten.add.Tensor(%r, %x)
  %k: f32[8, 8] = aten.slice_scatter(%cache, %e, 0, 0, 4)
  %q: f32[4, 8] = aten.rand_like(%x)
  %f: f32[4, 8] = aten.add.Tensor(%q, %old)
  %k_2: f32[8, 8] = aten.slice_scatter(%k, %f, 0, 3, 7)
  update %cache = %k_2
  return %f, %k_2, %r
})"});
  EXPECT_EQ(result_.methods[0].delegates, 1u);
  EXPECT_EQ(reason_outside(0, "cache"), "held");
  std::vector<Call> calls;
  for (uint64_t seed = 1; seed <= 3; ++seed) calls.push_back({"a", {numbers(DType::f32, {4, 8}, seed)}});
  expect_like_portable_after(calls);
}

}  // namespace
}  // namespace wick::cuda
