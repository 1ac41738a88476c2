// ExecuTorch's operators for language models: against the formula, and what they refuse.
#include <numeric>
#include <random>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::llm_test {
namespace {

TestTensor random_tensor(DType dtype, std::vector<int32_t> sizes, uint32_t seed, double low = -2, double high = 2) {
  TestTensor t = make_out(dtype, std::move(sizes));
  std::mt19937 rng(seed);
  for_each_element(t, [&](size_t, auto& element) {
    const double value = low + (high - low) * static_cast<double>(rng() % 4096) / 4096;
    element = element_from<std::remove_reference_t<decltype(element)>>(value);
  });
  return t;
}

struct Step {
  std::vector<int32_t> query, cache;  // [batch, length, heads, features]
  int64_t start = 0;
  bool causal = true;
  std::vector<double> mask = {};  // [queries, keys]
  double scale = 0;               // 0: 1 / sqrt(features)
};

// Elements of a tensor [batch, length, heads, features], or with length and heads swapped.
struct Elements {
  std::vector<double> data;
  std::vector<int32_t> sizes;
  bool swapped = false;
  double at(int32_t b, int32_t row, int32_t head, int32_t i) const {
    const int32_t second = swapped ? head : row, third = swapped ? row : head;
    return data[static_cast<size_t>(((b * sizes[1] + second) * sizes[2] + third) * sizes[3] + i)];
  }
  int32_t length() const { return sizes[swapped ? 2 : 1]; }
  int32_t heads() const { return sizes[swapped ? 1 : 2]; }
};

// The formula in double, element by element.
std::vector<double> attend(const Step& step, const Elements& q, const Elements& k, const Elements& v) {
  std::vector<double> out(q.data.size());
  const int32_t group = q.heads() / k.heads(), features = q.sizes[3];
  const int64_t keys = step.mask.empty() ? step.start + q.length() : k.length();
  const double scale = step.scale != 0 ? step.scale : 1 / std::sqrt(static_cast<double>(features));
  for (int32_t b = 0; b < q.sizes[0]; ++b) {
    for (int32_t h = 0; h < q.heads(); ++h) {
      for (int32_t row = 0; row < q.length(); ++row) {
        std::vector<double> scores;
        for (int32_t j = 0; j < keys; ++j) {
          double score = 0;
          for (int32_t i = 0; i < features; ++i) score += q.at(b, row, h, i) * k.at(b, j, h / group, i);
          score *= scale;
          if (!step.mask.empty())
            score += step.mask[static_cast<size_t>(row) * static_cast<size_t>(keys) + static_cast<size_t>(j)];
          if (step.causal && j > step.start + row) score = -INFINITY;
          scores.push_back(score);
        }
        const double top = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (double& score : scores) sum += score = std::exp(score - top);
        for (int32_t i = 0; i < features; ++i) {
          double value = 0;
          for (int32_t j = 0; j < keys; ++j) value += scores[static_cast<size_t>(j)] * v.at(b, j, h / group, i);
          const int32_t second = q.swapped ? h : row, third = q.swapped ? row : h;
          out[static_cast<size_t>(((b * q.sizes[1] + second) * q.sizes[2] + third) * features + i)] = value / sum;
        }
      }
    }
  }
  return out;
}

Elements elements(const TestTensor& t, bool swapped = false) { return {values(t), t.sizes, swapped}; }
Arg mask_arg(const TestTensor& mask, bool present) { return present ? Arg(mask) : Arg(nullptr); }
Arg scale_arg(double scale) { return scale != 0 ? Arg(scale) : Arg(nullptr); }

const std::vector<Step> kSteps = {
    {{1, 1, 4, 8}, {1, 16, 4, 8}, 0},         // first token
    {{2, 1, 6, 8}, {2, 16, 2, 8}, 13},        // decoding, groups
    {{1, 1, 12, 5}, {1, 600, 1, 5}, 599},     // more heads in a group than few rows, several blocks
    {{1, 3, 4, 8}, {1, 16, 2, 8}, 5},         // few queries
    {{2, 7, 4, 8}, {2, 16, 2, 8}, 9},         // up to the end of the cache
    {{1, 70, 2, 16}, {1, 700, 1, 16}, 600},   // blocks of queries and keys
    {{1, 5, 2, 8}, {1, 16, 2, 8}, 4, false},  // all keys up to the last query's position
    {{1, 5, 2, 8}, {1, 16, 2, 8}, 4, true, {}, 0.3},
};

TEST(CachedAttention, AgreesWithTheFormula) {
  for (const Step& step : kSteps) {
    SCOPED_TRACE(testing::PrintToString(step.query) + " at " + std::to_string(step.start));
    for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      TestTensor q = random_tensor(dtype, step.query, 1), k = random_tensor(dtype, step.cache, 2),
                 v = random_tensor(dtype, step.cache, 3);
      const std::vector<double> wanted = attend(step, elements(q), elements(k), elements(v));
      const double rounding = dtype == DType::f32 ? 2e-6 : dtype == DType::f16 ? 6e-4 : 5e-3;
      for (bool split : {false, true}) {
        TestTensor out = make_out(dtype, step.query);
        EXPECT_EQ((split ? call_split : call)("llama::custom_sdpa.out", {q, k, v, step.start, nullptr, 0.0, step.causal,
                                                                         scale_arg(step.scale), out}),
                  Error::Ok);
        EXPECT_TRUE(near(out, wanted, rounding, rounding));
      }
    }
  }
}

TEST(CachedAttention, AddsAMaskOverTheWholeCache) {
  for (int32_t queries : {1, 3, 50}) {
    Step step{{1, queries, 4, 8}, {1, 300, 2, 8}, 0, false};
    TestTensor mask = random_tensor(DType::f32, {queries, 300}, 4);
    mask.tensor.as<float>()[7] = -INFINITY;
    step.mask = values(mask);
    TestTensor q = random_tensor(DType::f32, step.query, 1), k = random_tensor(DType::f32, step.cache, 2),
               v = random_tensor(DType::f32, step.cache, 3), out = make_out(DType::f32, step.query);
    EXPECT_EQ(call("llama::custom_sdpa.out", {q, k, v, 0, mask, 0.0, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(near(out, attend(step, elements(q), elements(k), elements(v)), 2e-6, 2e-6));
  }
}

TEST(CachedAttention, IgnoresWhatLiesBehindTheLastPosition) {
  TestTensor q = random_tensor(DType::f32, {1, 2, 2, 4}, 1), k = random_tensor(DType::f32, {1, 8, 2, 4}, 2),
             v = random_tensor(DType::f32, {1, 8, 2, 4}, 3), a = make_out(DType::f32, {1, 2, 2, 4}),
             b = make_out(DType::f32, {1, 2, 2, 4});
  EXPECT_EQ(call("llama::custom_sdpa.out", {q, k, v, 3, nullptr, 0.0, true, nullptr, a}), Error::Ok);
  for (size_t i = 5 * 8; i < 64; ++i) k.tensor.as<float>()[i] = v.tensor.as<float>()[i] = NAN;
  EXPECT_EQ(call("llama::custom_sdpa.out", {q, k, v, 3, nullptr, 0.0, true, nullptr, b}), Error::Ok);
  EXPECT_EQ(values(a), values(b));
}

TEST(CachedAttention, ARowThatIsMaskedCompletelyIsNan) {
  TestTensor q = random_tensor(DType::f32, {1, 2, 1, 4}, 1), k = random_tensor(DType::f32, {1, 3, 1, 4}, 2),
             mask = make(DType::f32, {2, 3}, {0, 0, 0, -INFINITY, -INFINITY, -INFINITY}),
             out = make_out(DType::f32, {1, 2, 1, 4});
  EXPECT_EQ(call("llama::custom_sdpa.out", {q, k, k, 0, mask, 0.0, false, nullptr, out}), Error::Ok);
  const std::vector<double> got = values(out);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(std::isnan(got[i]), i >= 4);
}

TEST(CachedAttention, WithoutQueriesThereIsNothingToDo) {
  TestTensor q = make_out(DType::f32, {1, 0, 2, 4}), k = random_tensor(DType::f32, {1, 3, 2, 4}, 2),
             out = make_dynamic(DType::f32, {1, 2, 2, 4});
  EXPECT_EQ(call("llama::custom_sdpa.out", {q, k, k, 3, nullptr, 0.0, true, nullptr, out}), Error::Ok);
  EXPECT_TRUE(has_shape(out, {1, 0, 2, 4}));
}

TEST(CachedAttention, RefusesWhatDoesNotFit) {
  struct Bad {
    std::vector<int32_t> query, key, value;
    int64_t start;
    bool causal = true;
    std::vector<int32_t> mask = {};
    DType mask_dtype = DType::f32;
  };
  const std::vector<Bad> calls = {
      {{1, 2, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}, -1},
      {{1, 2, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}, 5},
      {{1, 2, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}, 7},
      {{1, 2, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}, INT64_MAX},
      {{1, 2, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}, INT64_MIN},
      {{1, 7, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}, 0},
      {{1, 2, 4, 8}, {1, 6, 3, 8}, {1, 6, 3, 8}, 0},
      {{1, 2, 4, 8}, {1, 6, 0, 8}, {1, 6, 0, 8}, 0},
      {{1, 2, 4, 8}, {1, 6, 2, 8}, {1, 5, 2, 8}, 0},
      {{1, 2, 4, 8}, {1, 6, 2, 8}, {1, 6, 1, 8}, 0},
      {{1, 2, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 4}, 0},
      {{1, 2, 4, 8}, {1, 6, 2, 4}, {1, 6, 2, 4}, 0},
      {{2, 2, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}, 0},
      {{2, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}, 0},
      {{1, 2, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}, 0, true, {2, 6}},
      {{1, 2, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}, 0, false, {2, 5}},
      {{1, 2, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}, 0, false, {1, 6}},
      {{1, 2, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}, 0, false, {1, 2, 6}},
      {{1, 2, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}, 0, false, {2, 6}, DType::boolean},
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(i);
    const Bad& bad = calls[i];
    TestTensor q = make(DType::f32, bad.query, {1}), k = make_out(DType::f32, bad.key),
               v = make_out(DType::f32, bad.value), out = make_out(DType::f32, {1, 2, 4, 8}),
               mask = make_out(bad.mask_dtype, bad.mask);
    EXPECT_EQ(call("llama::custom_sdpa.out",
                   {q, k, v, bad.start, mask_arg(mask, !bad.mask.empty()), 0.0, bad.causal, nullptr, out}),
              Error::InvalidArgument);
  }
  TestTensor q = make(DType::f32, {1, 2, 4, 8}, {1}), half = make(DType::f16, {1, 2, 4, 8}, {1}),
             bytes = make(DType::i8, {1, 2, 4, 8}, {1}), k = make(DType::f32, {1, 6, 2, 8}, {1});
  TestTensor out = make_out(DType::f32, {1, 2, 4, 8});
  EXPECT_EQ(call("llama::custom_sdpa.out", {half, k, k, 0, nullptr, 0.0, true, nullptr, out}), Error::InvalidType);
  EXPECT_EQ(call("llama::custom_sdpa.out", {q, k, k, 0, nullptr, 0.0, true, nullptr, half}), Error::InvalidType);
  EXPECT_EQ(call("llama::custom_sdpa.out", {bytes, bytes, bytes, 0, nullptr, 0.0, true, nullptr, bytes}),
            Error::InvalidType);
  TestTensor permuted = make_out(DType::f32, {1, 6, 2, 8}, {0, 2, 1, 3});
  EXPECT_EQ(call("llama::custom_sdpa.out", {q, permuted, k, 0, nullptr, 0.0, true, nullptr, out}), Error::NotSupported);
}

struct Quantized {
  TestTensor data, zero_points, scales;
  // The numbers that the bytes stand for.
  Elements elements(bool swapped) const {
    Elements out{values(data), data.sizes, swapped};
    const std::vector<double> zeros = values(zero_points), factors = values(scales);
    const size_t width = static_cast<size_t>(data.sizes[3]);
    for (size_t i = 0; i < out.data.size(); ++i) out.data[i] = (out.data[i] - zeros[i / width]) * factors[i / width];
    return out;
  }
};
Quantized quantized(std::vector<int32_t> sizes, uint32_t seed) {
  std::vector<int32_t> rows = sizes;
  rows[3] = 1;
  return {random_tensor(DType::i8, std::move(sizes), seed, -128, 127),
          random_tensor(DType::i8, rows, seed + 1, -20, 20), random_tensor(DType::f32, rows, seed + 2, 0.01, 0.03)};
}

TEST(QuantizedCachedAttention, AgreesWithTheFormulaOverWhatTheBytesStandFor) {
  for (bool swapped : {false, true}) {
    for (Step step : kSteps) {
      SCOPED_TRACE(testing::PrintToString(step.query) + " at " + std::to_string(step.start));
      if (swapped) {
        std::swap(step.query[1], step.query[2]);
        std::swap(step.cache[1], step.cache[2]);
      }
      const Quantized q = quantized(step.query, 1), k = quantized(step.cache, 4), v = quantized(step.cache, 7);
      TestTensor out = make_out(DType::f32, step.query);
      EXPECT_EQ(call_split("llama::custom_quantized_sdpa.out",
                           {q.data, k.data, v.data, step.start, nullptr, 0.0, step.causal, scale_arg(step.scale),
                            q.zero_points, q.scales, k.zero_points, k.scales, v.zero_points, v.scales, swapped, out}),
                Error::Ok);
      EXPECT_TRUE(near(out, attend(step, q.elements(swapped), k.elements(swapped), v.elements(swapped)), 5e-6, 1e-5));
    }
  }
}

TEST(QuantizedCachedAttention, RefusesMissingOrMisshapenParameters) {
  const Quantized q = quantized({1, 2, 4, 8}, 1), k = quantized({1, 6, 2, 8}, 4);
  TestTensor out = make_out(DType::f32, {1, 2, 4, 8});
  const auto run = [&](Arg zero_points, Arg scales) {
    return call("llama::custom_quantized_sdpa.out",
                {q.data, k.data, k.data, 0, nullptr, 0.0, true, nullptr, q.zero_points, q.scales,
                 std::move(zero_points), std::move(scales), k.zero_points, k.scales, false, out});
  };
  TestTensor floats = make(DType::f32, {1, 6, 2, 1}, {0}), fewer = make(DType::f32, {1, 5, 2, 1}, {0}),
             each = make(DType::f32, {1, 6, 2, 8}, {0}), flat = make(DType::f32, {12}, {0});
  EXPECT_EQ(run(k.zero_points, k.scales), Error::Ok);
  EXPECT_EQ(run(nullptr, k.scales), Error::InvalidArgument);
  EXPECT_EQ(run(k.zero_points, nullptr), Error::InvalidArgument);
  EXPECT_EQ(run(floats, k.scales), Error::InvalidArgument);
  EXPECT_EQ(run(k.zero_points, k.zero_points), Error::InvalidArgument);
  for (const TestTensor* scales : {&fewer, &each, &flat})
    EXPECT_EQ(run(k.zero_points, *scales), Error::InvalidArgument);
}

TEST(QuantizedCachedAttention, OfFloatsTakesNoNoticeOfParameters) {
  const TestTensor q = make(DType::f32, {1, 2, 4, 8}, {1}), k = make(DType::f32, {1, 6, 2, 8}, {1}),
                   few = make(DType::f32, {1, 1, 1, 1}, {1});
  TestTensor out = make_out(DType::f32, {1, 2, 4, 8});
  EXPECT_EQ(call("llama::custom_quantized_sdpa.out",
                 {q, k, k, 0, nullptr, 0.0, true, nullptr, nullptr, few, few, nullptr, nullptr, few, false, out}),
            Error::Ok);
}

TEST(UpdateCache, WritesTheRowsAndNothingElse) {
  TestTensor cache = make(DType::f32, {2, 5, 1, 2}, {9}), value = random_tensor(DType::f32, {2, 2, 1, 2}, 1),
             out = make_out(DType::f32, {1});
  EXPECT_EQ(call("llama::update_cache.out", {value, cache, 3, out}), Error::Ok);
  const std::vector<double> got = values(cache), rows = values(value);
  for (size_t b = 0; b < 2; ++b) {
    for (size_t i = 0; i < 10; ++i) EXPECT_EQ(got[b * 10 + i], i < 6 ? 9 : rows[b * 4 + i - 6]);
  }
  TestTensor bytes = make(DType::i8, {1, 3, 1, 1}, {1, 2, 3}), byte = make(DType::i8, {1, 1, 1, 1}, {-7}),
             none = make_out(DType::i8, {1, 0, 1, 1}), byte_out = make_out(DType::i8, {1});
  EXPECT_EQ(call("llama::update_cache.out", {byte, bytes, 0, byte_out}), Error::Ok);
  EXPECT_EQ(call("llama::update_cache.out", {none, bytes, 3, byte_out}), Error::Ok);
  EXPECT_TRUE(equals(bytes, {-7, 2, 3}));
}

TEST(UpdateCache, RefusesRowsOutsideTheCache) {
  TestTensor cache = make(DType::f32, {1, 5, 1, 2}, {9}), value = make(DType::f32, {1, 2, 1, 2}, {1}),
             out = make_out(DType::f32, {1});
  for (int64_t start : {int64_t{-1}, int64_t{4}, int64_t{5}, int64_t{6}, INT64_MAX, INT64_MIN, INT64_MAX - 1})
    EXPECT_EQ(call("llama::update_cache.out", {value, cache, start, out}), Error::InvalidArgument) << start;
  for (const std::vector<int32_t>& sizes :
       {std::vector<int32_t>{2, 5, 1, 2}, {1, 5, 2, 2}, {1, 5, 1, 1}, {1, 5, 2}, {1, 1, 1, 2}}) {
    TestTensor other = make(DType::f32, sizes, {9});
    EXPECT_EQ(call("llama::update_cache.out", {value, other, 0, out}), Error::InvalidArgument);
    EXPECT_TRUE(equals(other, std::vector<double>(other.tensor.numel, 9)));
  }
  TestTensor bytes = make(DType::i8, {1, 5, 1, 2}, {9});
  EXPECT_EQ(call("llama::update_cache.out", {value, bytes, 0, out}), Error::InvalidArgument);
  TestTensor permuted = make_out(DType::f32, {1, 5, 1, 2}, {3, 0, 1, 2});
  EXPECT_EQ(call("llama::update_cache.out", {value, permuted, 0, out}), Error::NotSupported);
  cache.tensor.read_only = true;
  EXPECT_EQ(call("llama::update_cache.out", {value, cache, 0, out}), Error::InvalidProgram);
  EXPECT_TRUE(equals(cache, std::vector<double>(10, 9)));
}

TEST(UpdateCacheWithIndices, WritesEachRowWhereItsIndexSays) {
  TestTensor cache = make(DType::f32, {2, 4, 1, 1}, {9}), value = make(DType::f32, {2, 2, 1, 1}, {1, 2, 3, 4}),
             out = make_out(DType::f32, {1});
  EXPECT_EQ(call("llama::update_cache_with_indices.out",
                 {value, cache, 99, make_ints(DType::i64, {2, 2}, {3, 0, 1, 1}), out}),
            Error::Ok);
  EXPECT_TRUE(equals(cache, {2, 9, 9, 1, 9, 4, 9, 9}));
  for (int64_t bad : {int64_t{4}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(call("llama::update_cache_with_indices.out",
                   {value, cache, 0, make_ints(DType::i64, {2, 2}, {0, 0, 0, bad}), out}),
              Error::InvalidArgument);
  }
  EXPECT_TRUE(equals(cache, {2, 9, 9, 1, 9, 4, 9, 9})) << "a row was written before all indices were checked";
  for (const std::vector<int32_t>& sizes : {std::vector<int32_t>{4}, {2, 1}, {1, 2}, {2, 3}}) {
    TestTensor indices = make(DType::i64, sizes, {0});
    EXPECT_EQ(call("llama::update_cache_with_indices.out", {value, cache, 0, indices, out}), Error::InvalidArgument);
  }
  TestTensor small = make(DType::i32, {2, 2}, {0});
  EXPECT_EQ(call("llama::update_cache_with_indices.out", {value, cache, 0, small, out}), Error::InvalidArgument);
}

TEST(AttentionWithCache, UpdatesBothCachesAndReadsThem) {
  TestTensor q = random_tensor(DType::f32, {1, 2, 4, 8}, 1), k = random_tensor(DType::f32, {1, 2, 2, 8}, 2),
             v = random_tensor(DType::f32, {1, 2, 2, 8}, 3), keys = random_tensor(DType::f32, {1, 6, 2, 8}, 4),
             cache = random_tensor(DType::f32, {1, 6, 2, 8}, 5), out = make_out(DType::f32, {1, 2, 4, 8});
  EXPECT_EQ(call("llama::sdpa_with_kv_cache.out", {q, k, v, keys, cache, 3, 2, nullptr, 0.0, true, nullptr, out}),
            Error::Ok);
  const std::vector<double> rows = values(v), all = values(cache);
  EXPECT_EQ(std::vector<double>(all.begin() + 48, all.begin() + 80), rows);
  const Step step{q.sizes, keys.sizes, 3};
  EXPECT_TRUE(near(out, attend(step, elements(q), elements(keys), elements(cache)), 2e-6, 2e-6));
}

TEST(AttentionWithCache, WritesNothingWhenItRefuses) {
  TestTensor q = make(DType::f32, {1, 2, 4, 8}, {1}), k = make(DType::f32, {1, 2, 2, 8}, {1}),
             keys = make(DType::f32, {1, 6, 2, 8}, {9}), shorter = make(DType::f32, {1, 4, 2, 8}, {9}),
             out = make_out(DType::f32, {1, 2, 4, 8});
  const auto run = [&](const TestTensor& value_cache, int64_t start, int64_t length) {
    return call("llama::sdpa_with_kv_cache.out",
                {q, k, k, keys, value_cache, start, length, nullptr, 0.0, true, nullptr, out});
  };
  TestTensor values_cache = make(DType::f32, {1, 6, 2, 8}, {9});
  EXPECT_EQ(run(values_cache, 5, 2), Error::InvalidArgument);
  EXPECT_EQ(run(values_cache, -1, 2), Error::InvalidArgument);
  EXPECT_EQ(run(values_cache, 0, 1), Error::InvalidArgument);
  EXPECT_EQ(run(values_cache, 0, 3), Error::InvalidArgument);
  EXPECT_EQ(run(shorter, 3, 2), Error::InvalidArgument);
  EXPECT_TRUE(equals(keys, std::vector<double>(96, 9)));
}

// The rows of the transform of the unit matrix, up to its scale.
std::vector<double> transform_of_units(int32_t order) {
  std::vector<double> unit(static_cast<size_t>(order) * static_cast<size_t>(order));
  for (size_t i = 0; i < static_cast<size_t>(order); ++i) unit[i * static_cast<size_t>(order) + i] = 1;
  TestTensor in = make(DType::f64, {order, order}, unit), out = make_out(DType::f64, {order, order});
  EXPECT_EQ(call("llama::fast_hadamard_transform.out", {in, out}), Error::Ok);
  return values(out);
}

TEST(HadamardTransform, IsOrthogonalUpToItsScale) {
  for (int32_t order : {1, 2, 16, 28, 56, 112}) {
    const size_t n = static_cast<size_t>(order);
    const double square = order % 28 == 0 ? 28 : 1;
    const std::vector<double> m = transform_of_units(order);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        EXPECT_NEAR(std::abs(m[i * n + j]), std::sqrt(square / order), 1e-12);
        const double product =
            std::inner_product(m.begin() + static_cast<long>(i * n), m.begin() + static_cast<long>(i * n + n),
                               m.begin() + static_cast<long>(j * n), 0.0);
        EXPECT_NEAR(product, i == j ? square : 0, 1e-10);
      }
    }
  }
}

TEST(HadamardTransform, RefusesOtherNumbersOfColumns) {
  for (int32_t columns : {3, 12, 29, 84}) {
    TestTensor in = make(DType::f32, {2, columns}, {1}), out = make_out(DType::f32, {2, columns});
    EXPECT_EQ(call("llama::fast_hadamard_transform.out", {in, out}), Error::InvalidArgument) << columns;
  }
  TestTensor scalar = make(DType::f32, {}, {1}), ints = make(DType::i32, {2, 4}, {1}), out = make_out(DType::f32, {}),
             int_out = make_out(DType::i32, {2, 4}), none = make_out(DType::f32, {0, 4}),
             none_out = make_out(DType::f32, {0, 4});
  EXPECT_EQ(call("llama::fast_hadamard_transform.out", {scalar, out}), Error::InvalidArgument);
  EXPECT_EQ(call("llama::fast_hadamard_transform.out", {ints, int_out}), Error::InvalidType);
  EXPECT_EQ(call("llama::fast_hadamard_transform.out", {none, none_out}), Error::Ok);
}

}  // namespace
}  // namespace wick::test::llm_test
