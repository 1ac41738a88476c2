// Attention by tiles of queries and query by query: masks, groups of heads, widths, splits of the keys.
#include "backends/cuda/compile/kernel/schedule.h"
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {
namespace {

using Attention = CudaLower;

Schedule schedule(int64_t queries, int64_t keys, int64_t batch, int64_t width, bool by_matrices) {
  AttentionFacts facts;
  facts.queries = queries;
  facts.keys = keys;
  facts.batch = batch;
  facts.features = facts.results = width;
  facts.by_matrices = by_matrices;
  return choose_attention(facts);
}

TEST(AttentionChoice, LargeProblemsTakeLargeTilesAndSmallOnesFillTheDevice) {
  EXPECT_EQ(schedule(1500, 1500, 6, 64, true).tile.m, 64u);
  EXPECT_EQ(schedule(1500, 1500, 6, 64, true).splits, 2u);  // two blocks on each multiprocessor
  EXPECT_EQ(schedule(197, 197, 3, 64, true).tile.m, 16u);
  const Schedule decode = schedule(4, 4096, 8, 128, true);
  EXPECT_EQ(decode.tile.m, 16u);
  EXPECT_GT(decode.splits, 8u);
}

TEST(AttentionChoice, TheWarpsOfABlockShareTheKeysOfFewQueries) {
  const Schedule decode = schedule(4, 2048, 8, 64, true);
  EXPECT_EQ(decode.tile.n, 128u);
  EXPECT_EQ(decode.threads, 256u);
  EXPECT_EQ(decode.splits, 16u);
  EXPECT_EQ(schedule(12, 2048, 8, 64, true).threads, 128u);  // their rows fill the place of the keys
  EXPECT_EQ(schedule(1, 30, 8, 64, true).tile.n, 32u);
  EXPECT_EQ(schedule(1, 2048, 8, 256, true).tile.n, 32u);  // by shared memory
}

TEST(AttentionChoice, FewQueriesOfSinglePrecisionAreTakenOneByOne) {
  EXPECT_EQ(schedule(15, 512, 8, 64, false).kind, ScheduleKind::query_per_block);
  EXPECT_EQ(schedule(16, 512, 8, 64, false).kind, ScheduleKind::query_tiles);
  EXPECT_EQ(schedule(1, 512, 8, 64, true).kind, ScheduleKind::query_matrix_tiles);
}

TEST(AttentionChoice, EveryWidthUpTo256HasTiles) {
  for (const bool by_matrices : {false, true}) {
    for (int64_t width = 2; width <= 256; ++width) {
      const Schedule s = schedule(256, 256, 16, width, by_matrices);
      EXPECT_EQ(s.kind, by_matrices ? ScheduleKind::query_matrix_tiles : ScheduleKind::query_tiles) << width;
      EXPECT_EQ(s.tile.n % 8, 0u);
      EXPECT_GE(s.stages, 1u);
    }
  }
}

// One graph of each kind of attention, so that one twin runs them all. q, k, v: heads of 24, and 40 results.
std::string kinds(const char* dtype) {
  return fmt::format(
      R"(graph f(%q: {0}[2, 4, 37, 24], %k: {0}[2, 4, 70, 24], %v: {0}[2, 4, 70, 40], %g: {0}[2, 2, 70, 24], %h: {0}[2, 2, 70, 40], %m: {0}[1, 1, 37, 70], %d: {0}[2, 4, 1, 24]) {{
  %y0: {0}[2, 4, 37, 40] = aten.scaled_dot_product_attention(%q, %k, %v)
  %y1: {0}[2, 4, 37, 40] = aten.scaled_dot_product_attention(%q, %g, %h, none, 0.0, true, 0.5, true)
  %y2: {0}[2, 4, 37, 40] = aten.scaled_dot_product_attention(%q, %k, %v, %m, 0.0, false)
  %y3: {0}[2, 4, 1, 40] = aten.scaled_dot_product_attention(%d, %g, %h, none, 0.0, false, none, true)
  return %y0, %y1, %y2, %y3
}})",
      dtype);
}

std::vector<HostValue> kind_inputs(DType dtype) {
  return {numbers(dtype, {2, 4, 37, 24}, 1), numbers(dtype, {2, 4, 70, 24}, 2), numbers(dtype, {2, 4, 70, 40}, 3),
          numbers(dtype, {2, 2, 70, 24}, 4), numbers(dtype, {2, 2, 70, 40}, 5), numbers(dtype, {1, 1, 37, 70}, 6),
          numbers(dtype, {2, 4, 1, 24}, 7)};
}

TEST_F(Attention, MasksGroupsOfHeadsAndSplitsInEveryDtype) {
  for (const auto& [name, dtype, error] :
       {std::tuple("f32", DType::f32, 1e-5), {"bf16", DType::bf16, 1.0 / 64}, {"f16", DType::f16, 1.0 / 512}}) {
    compile(kinds(name));
    EXPECT_EQ(launches(), 4u);
    expect_like_portable(kind_inputs(dtype), error);
  }
}

// Rows that see no key are 0, and columns beyond the last key count nothing.
TEST_F(Attention, ABooleanMaskMayHideAllKeysOfAQuery) {
  compile(R"(graph f(%q: bf16[1, 2, 20, 16], %k: bf16[1, 2, 33, 16], %v: bf16[1, 2, 33, 16], %m: f32[20, 33]) {
  %z: f32[] = aten.scalar_tensor(0.5)
  %c: bool[20, 33] = aten.gt.Tensor(%m, %z)
  %y: bf16[1, 2, 20, 16] = aten.scaled_dot_product_attention(%q, %k, %v, %c)
  return %y
})");
  HostTensor mask = numbers(DType::f32, {20, 33}, 4);
  std::fill(mask.bytes.begin(), mask.bytes.begin() + 5 * 33 * 4, uint8_t{0});
  expect_like_portable({numbers(DType::bf16, {1, 2, 20, 16}, 1), numbers(DType::bf16, {1, 2, 33, 16}, 2),
                        numbers(DType::bf16, {1, 2, 33, 16}, 3), mask},
                       1.0 / 64);
}

// As models hide keys: the lowest number of the dtype is added, to whole tiles of keys, and to all keys of a query.
TEST_F(Attention, TheLowestNumberHidesKeys) {
  constexpr uint8_t kLowest[] = {0x7f, 0xff};
  for (const int queries : {1, 16, 70}) {
    compile(fmt::format(R"(graph f(%q: bf16[1, 2, {0}, 16], %k: bf16[1, 2, 300, 16], %v: bf16[1, 2, 300, 16],
        %m: bf16[1, 1, {0}, 300]) {{
  %y: bf16[1, 2, {0}, 16] = aten.scaled_dot_product_attention(%q, %k, %v, %m)
  return %y
}})",
                        queries));
    HostTensor mask = numbers(DType::bf16, {1, 1, queries, 300}, 4);
    for (size_t i = 0; i < mask.bytes.size() / 2; ++i) {
      const bool hides = i % 300 < 130 || (i / 300 == 7 && queries > 7);
      mask.bytes[2 * i] = hides ? kLowest[0] : 0;
      mask.bytes[2 * i + 1] = hides ? kLowest[1] : 0;
    }
    expect_like_portable({numbers(DType::bf16, {1, 2, queries, 16}, 1), numbers(DType::bf16, {1, 2, 300, 16}, 2),
                          numbers(DType::bf16, {1, 2, 300, 16}, 3), mask},
                         1.0 / 64);
  }
}

// 17 splits of the keys; a causal query sees those of the first one alone.
TEST_F(Attention, ManySplitsOfTheKeysOfFewQueries) {
  compile(R"(graph f(%q: bf16[1, 1, 3, 16], %k: bf16[1, 1, 2100, 16], %v: bf16[1, 1, 2100, 32]) {
  %y: bf16[1, 1, 3, 32] = aten.scaled_dot_product_attention(%q, %k, %v)
  %z: bf16[1, 1, 3, 32] = aten.scaled_dot_product_attention(%q, %k, %v, none, 0.0, true)
  return %y, %z
})");
  EXPECT_EQ(launches(), 2u);
  expect_like_portable({numbers(DType::bf16, {1, 1, 3, 16}, 1), numbers(DType::bf16, {1, 1, 2100, 16}, 2),
                        numbers(DType::bf16, {1, 1, 2100, 32}, 3)},
                       1.0 / 64);
}

// 256 features: the widest that is one kernel.
TEST_F(Attention, TheWidestHeads) {
  for (const auto& [name, dtype, error] : {std::tuple("f32", DType::f32, 1e-5), {"bf16", DType::bf16, 1.0 / 64}}) {
    compile(fmt::format(R"(graph f(%q: {0}[1, 1, 20, 256], %k: {0}[1, 1, 40, 256], %v: {0}[1, 1, 40, 256]) {{
  %y: {0}[1, 1, 20, 256] = aten.scaled_dot_product_attention(%q, %k, %v, none, 0.0, true)
  return %y
}})",
                        name));
    EXPECT_EQ(launches(), 1u);
    expect_like_portable(
        {numbers(dtype, {1, 1, 20, 256}, 1), numbers(dtype, {1, 1, 40, 256}, 2), numbers(dtype, {1, 1, 40, 256}, 3)},
        error);
  }
}

}  // namespace
}  // namespace wick::cuda
