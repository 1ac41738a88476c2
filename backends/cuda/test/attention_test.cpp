// Attention kernels, by tiles of queries and query by query: masks, groups of heads, widths, splits of the keys.
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
  EXPECT_EQ(schedule(12, 2048, 8, 64, true).threads, 128u);  // their partial rows must fit in the memory of the keys
  EXPECT_EQ(schedule(1, 30, 8, 64, true).tile.n, 32u);
  EXPECT_EQ(schedule(1, 2048, 8, 256, true).tile.n, 32u);  // limited by shared memory
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

// All kinds of attention in one graph, so that one twin runs them all. q, k and v have heads of 24 features; results
// have 40.
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

// A row in which all keys are masked is 0. Keys past the last one do not count.
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

// Models mask keys by adding the lowest number of the dtype. Here to whole tiles of keys, and to all keys of a query.
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

// 17 splits of the keys. A causal query sees only keys of the first one.
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

// 256 features are the most that one kernel takes.
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

// --- attention as separate operators ---

// Scores, masks, softmax and product of 40 queries (tiles) or 3 queries (one by one): with a bias, with a select of
// -100, with rows whose scores are all -inf, guarded and unguarded, and with heads that share their keys.
std::string written(const char* dtype, int queries) {
  return fmt::format(
      R"(graph f(%q: {0}[2, 4, {1}, 24], %k: {0}[2, 2, 40, 24], %v: {0}[2, 2, 40, 32], %b: {0}[{1}, 40], %m: bool[{1}, 40], %d: bool[{1}, 1]) {{
  const %low: {0}[] = [-100.0]
  const %inf: {0}[] = [-inf]
  const %zero: {0}[] = [0.0]
  %k1: {0}[2, 2, 1, 40, 24] = aten.unsqueeze(%k, 2)
  %k2: {0}[2, 2, 2, 40, 24] = aten.expand(%k1, [2, 2, 2, 40, 24])
  %k3: {0}[2, 4, 40, 24] = aten.view(%k2, [2, 4, 40, 24])
  %kt: {0}[2, 4, 24, 40] = aten.transpose.int(%k3, -2, -1)
  %v1: {0}[2, 2, 1, 40, 32] = aten.unsqueeze(%v, 2)
  %v2: {0}[2, 2, 2, 40, 32] = aten.expand(%v1, [2, 2, 2, 40, 32])
  %v3: {0}[2, 4, 40, 32] = aten.view(%v2, [2, 4, 40, 32])
  %s0: {0}[2, 4, {1}, 40] = aten.matmul(%q, %kt)
  %f0: {0}[2, 4, {1}, 40] = aten.mul.Scalar(%s0, 0.25)
  %a0: {0}[2, 4, {1}, 40] = aten.add.Tensor(%f0, %b)
  %w0: {0}[2, 4, {1}, 40] = aten._softmax(%a0, -1, false)
  %y0: {0}[2, 4, {1}, 32] = aten.matmul(%w0, %v3)
  %q1: {0}[2, 4, {1}, 24] = aten.mul.Scalar(%q, 0.25)
  %s1: {0}[2, 4, {1}, 40] = aten.matmul(%q1, %kt)
  %a1: {0}[2, 4, {1}, 40] = aten.where.self(%m, %s1, %low)
  %w1: {0}[2, 4, {1}, 40] = aten._softmax(%a1, -1, false)
  %y1: {0}[2, 4, {1}, 32] = aten.matmul(%w1, %v3)
  %q2: {0}[2, 4, {1}, 24] = aten.mul.Scalar(%q, 0.5)
  %s2: {0}[2, 4, {1}, 40] = aten.matmul(%q2, %kt)
  %a2: {0}[2, 4, {1}, 40] = aten.where.self(%d, %s2, %inf)
  %w2: {0}[2, 4, {1}, 40] = aten._softmax(%a2, -1, false)
  %y2: {0}[2, 4, {1}, 32] = aten.matmul(%w2, %v3)
  %q3: {0}[2, 4, {1}, 24] = aten.mul.Scalar(%q, 0.125)
  %s3: {0}[2, 4, {1}, 40] = aten.matmul(%q3, %kt)
  %a3: {0}[2, 4, {1}, 40] = aten.where.self(%d, %s3, %inf)
  %w3: {0}[2, 4, {1}, 40] = aten._softmax(%a3, -1, false)
  %n3: bool[2, 4, {1}, 40] = aten.ne.Scalar(%a3, -inf)
  %l3: bool[2, 4, {1}, 1] = aten.any.dim(%n3, -1, true)
  %g3: {0}[2, 4, {1}, 40] = aten.where.self(%l3, %w3, %zero)
  %y3: {0}[2, 4, {1}, 32] = aten.matmul(%g3, %v3)
  return %y0, %y1, %y2, %y3
}})",
      dtype, queries);
}

// All true, except for every `period`th.
HostTensor bools(const std::vector<int32_t>& sizes, size_t period) {
  HostTensor out = numbers(DType::f16, sizes, 1);
  out.dtype = DType::boolean;
  out.bytes.resize(out.bytes.size() / 2);
  for (size_t i = 0; i < out.bytes.size(); ++i) out.bytes[i] = i % period != 0;
  return out;
}

TEST_F(Attention, ThatIsWrittenOutIsOneKernel) {
  for (const auto& [name, dtype, queries, error] :
       {std::tuple("f32", DType::f32, 3, 1e-5), {"bf16", DType::bf16, 40, 1.0 / 32}}) {
    compile(written(name, queries));
    EXPECT_EQ(launches(), 4u);
    expect_like_portable(
        {numbers(dtype, {2, 4, queries, 24}, 1), numbers(dtype, {2, 2, 40, 24}, 2), numbers(dtype, {2, 2, 40, 32}, 3),
         numbers(dtype, {queries, 40}, 4), bools({queries, 40}, 3), bools({queries, 1}, 2)},
        error);
  }
}

}  // namespace
}  // namespace wick::cuda
