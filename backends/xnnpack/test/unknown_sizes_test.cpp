// Delegates whose tensors have several sizes known only at run time, called with some of them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/testing/pipeline.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing {
namespace {

struct Call {
  int64_t batch, length;
};

HostValue waves(const std::vector<int64_t>& sizes, float speed) {
  size_t count = 1;
  for (const int64_t size : sizes) count *= static_cast<size_t>(size);
  std::vector<uint8_t> bytes(count * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    const float element = std::sin(speed * static_cast<float>(i));
    std::memcpy(bytes.data() + i * sizeof element, &element, sizeof element);
  }
  return HostTensor{DType::f32, {sizes.begin(), sizes.end()}, std::move(bytes)};
}

class SeveralUnknownSizes : public ::testing::TestWithParam<Call> {};

// Six query heads on three heads of keys and values, a bias for each head, rows of all batches through a gate.
constexpr char kAttention[] = R"(graph f(%x: f32[s0, s1, 48], %m: f32[s0, 1, s1, s1], %e: f32[1, 6, s1, s1]) {
  range s0: 1..4
  range s1: 1..20
  const %wk: f32[24, 48] = ...
  const %wo: f32[40, 48] = ...
  const %bo: f32[40] = ...
  %h: f32[s0, s1, 6, 8] = aten.view(%x, [s0, s1, 6, 8])
  %q: f32[s0, 6, s1, 8] = aten.permute(%h, [0, 2, 1, 3])
  %l: f32[s0, s1, 24] = aten.linear(%x, %wk)
  %g: f32[s0, s1, 3, 8] = aten.view(%l, [s0, s1, 3, 8])
  %k: f32[s0, 3, s1, 8] = aten.permute(%g, [0, 2, 1, 3])
  %k1: f32[s0, 3, 1, s1, 8] = aten.view(%k, [s0, 3, 1, s1, 8])
  %k2: f32[s0, 3, 2, s1, 8] = aten.expand(%k1, [s0, 3, 2, s1, 8])
  %v: f32[s0, 6, s1, 8] = aten.view(%k2, [s0, 6, s1, 8])
  %t: f32[s0, 6, 8, s1] = aten.permute(%v, [0, 1, 3, 2])
  %s: f32[s0, 6, s1, s1] = aten.matmul(%q, %t)
  %a: f32[s0, 6, s1, s1] = aten.add.Tensor(%s, %m)
  %b: f32[s0, 6, s1, s1] = aten.add.Tensor(%a, %e)
  %p: f32[s0, 6, s1, s1] = aten._softmax(%b, 3, false)
  %o: f32[s0, 6, s1, 8] = aten.matmul(%p, %v)
  %w: f32[s0, s1, 6, 8] = aten.permute(%o, [0, 2, 1, 3])
  %r: f32[s0*s1, 48] = aten.view(%w, [s0*s1, 48])
  %n: f32[s0*s1, 40] = aten.linear(%r, %wo, %bo)
  %u: f32[s0*s1, 40] = aten.gelu(%n)
  %y: f32[s0, s1, 40] = aten.view(%u, [s0, s1, 40])
  %c: f32[s0, 40] = aten.select.int(%y, 1, 0)
  return %y, %c
})";

TEST_P(SeveralUnknownSizes, AttentionIsOneDelegate) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  const auto [n, s] = GetParam();
  Pipeline p = Pipeline::from_text(kAttention);
  p.backend("xnnpack").at(Stage::partition).check_delegates(1);
  p.run_and_compare({}, {waves({n, s, 48}, 0.7f), waves({n, 1, s, s}, 0.3f), waves({1, 6, s, s}, 1.1f)});
  EXPECT_EQ(p.failures(), "");
}

TEST_P(SeveralUnknownSizes, AttentionThatExportLeavesWholeIsOneDelegate) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  const auto [n, s] = GetParam();
  Pipeline p = Pipeline::from_text(R"(graph f(%x: f32[s0, 3, s1, 8]) {
  range s0: 1..4
  range s1: 1..20
  %q: f32[s0, 3, s1, 8] = aten.tanh(%x)
  %y: f32[s0, 3, s1, 8] = aten.scaled_dot_product_attention(%q, %x, %q)
  return %y
})");
  p.backend("xnnpack").at(Stage::partition).check_delegates(1).check_outside({});
  p.run_and_compare({}, {waves({n, 3, s, 8}, 0.7f)});
  EXPECT_EQ(p.failures(), "");
}

TEST_P(SeveralUnknownSizes, DataMovementStaysInside) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  const auto [n, s] = GetParam();
  Pipeline p = Pipeline::from_text(R"(graph f(%x: f32[s0, s1, 6]) {
  range s0: 1..4
  range s1: 1..20
  %a: f32[s0, s1, 6] = aten.roll(%x, [2], [2])
  %b: f32[s0, s1, 12] = aten.repeat(%a, [1, 1, 2])
  %c: f32[s0, s1, 12] = aten.slice_scatter(%b, %x, 2, 3, 9)
  %d: f32[s0*s1, 12] = aten.view(%c, [s0*s1, 12])
  %e: f32[s0, s1, 12] = aten.exp(%c)
  return %d, %e
})");
  p.backend("xnnpack").at(Stage::partition).check_delegates(1).check_outside({});
  p.run_and_compare({}, {waves({n, s, 6}, 0.7f)});
  EXPECT_EQ(p.failures(), "");
}

TEST_P(SeveralUnknownSizes, StepsAlongAKnownSize) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  Pipeline p = Pipeline::from_text(R"(graph f(%x: f32[s0, 7, 3]) {
  range s0: 1..4
  %a: f32[s0, 3, 3] = aten.slice.Tensor(%x, 1, 1, 7, 2)
  %b: f32[s0, 3, 3] = aten.abs(%a)
  return %b
})");
  p.backend("xnnpack").at(Stage::partition).check_delegates(1).check_outside({});
  p.run_and_compare({}, {waves({GetParam().batch, 7, 3}, 0.7f)});
  EXPECT_EQ(p.failures(), "");
}

// Two ways to half a size twice, of which the graph spells one out where the other is computed.
TEST_P(SeveralUnknownSizes, SizesOfImagesAreKnownToAgree) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  const auto [h, w] = GetParam();
  Pipeline p = Pipeline::from_text(R"(graph f(%x: f32[2, 3, s0, s1]) {
  range s0: 1..4
  range s1: 1..20
  const %a: f32[4, 3, 3, 3] = ...
  const %b: f32[4, 4, 3, 3] = ...
  const %c: f32[4, 3, 1, 1] = ...
  %y = aten.convolution(%x, %a, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 1)
  %z: f32[2, 4, floordiv(s0 + 3, 4), floordiv(s1 + 3, 4)] = aten.convolution(%y, %b, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 1)
  %u: f32[2, 4, floordiv(s0 + 3, 4), floordiv(s1 + 3, 4)] = aten.convolution(%x, %c, none, [4, 4], [0, 0], [1, 1], false, [0, 0], 1)
  %s: f32[2, 4, floordiv(s0 + 3, 4), floordiv(s1 + 3, 4)] = aten.add.Tensor(%z, %u)
  return %s
})");
  p.backend("xnnpack").at(Stage::partition).check_delegates(1).check_outside({});
  p.run_and_compare({}, {waves({2, 3, h, w}, 0.7f)});
  EXPECT_EQ(p.failures(), "");
}

TEST_P(SeveralUnknownSizes, ConvolutionsOverOneDimensionStayInside) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  const auto [batch, length] = GetParam();
  constexpr const char* kForms[][2] = {{"[8, 6, 3]", "[1], [1], [1], false, [0], 1"},
                                       {"[8, 3, 1]", "[1], [0], [1], false, [0], 2"},
                                       {"[6, 1, 3]", "[1], [1], [1], false, [0], 6"},
                                       {"[8, 6, 5]", "[2], [2], [1], false, [0], 1"},
                                       {"[6, 8, 4]", "[2], [1], [1], true, [0], 1"}};
  for (const auto& [weight, window] : kForms) {
    const std::string text = fmt::format(
        "graph f(%x: f32[s0, 6, s1]) {{\n range s0: 1..4\n range s1: 2..20\n const %w: f32{0} = ...\n"
        " %c = aten.convolution(%x, %w, none, {1})\n %y = aten.gelu(%c)\n return %y\n}}",
        weight, window);
    SCOPED_TRACE(text);
    Pipeline p = Pipeline::from_text(text);
    p.backend("xnnpack").at(Stage::partition).check_delegates(1).check_outside({});
    p.run_and_compare({}, {waves({batch, 6, length}, 0.7f)});
    EXPECT_EQ(p.failures(), "");
  }
}

constexpr int64_t kBatch = -1, kLength = -2;

struct Reduced {
  std::vector<int64_t> x, y;  // sizes
  const char* body;
};

// Over sizes known only at run time, beside others, over several, with and without the dimensions that are reduced.
const Reduced kReduced[] = {
    {{kBatch, 3, kLength, kLength}, {kBatch, 3}, "aten.mean.dim(%a, [2, 3])"},
    {{kBatch, 3, kLength, kLength}, {kBatch, 3, 1, 1}, "aten.mean.dim(%a, [2, 3], true)"},
    {{kBatch, 3, kLength, 5}, {kBatch, 3, 1, 1}, "aten.sum.dim_IntList(%a, [2, 3], true)"},
    {{2, 3, kBatch, kLength}, {2, 3}, "aten.mean.dim(%a, [2, 3])"},
    {{2, 3, kBatch, kLength}, {2, 3}, "aten.sum.dim_IntList(%a, [2, 3])"},
    {{2, 3, kBatch, kLength}, {2, 1, 1, 1}, "aten.var.correction(%a, [1, 2, 3], 1, true)"},
    {{kBatch, kLength, 3}, {kBatch, 3}, "aten.mean.dim(%a, [1])"},
    {{kBatch, kLength, 3}, {kBatch, 3}, "aten.sum.dim_IntList(%a, [1])"},
    {{kBatch, kLength, 3}, {kBatch, 1, 3}, "aten.sum.dim_IntList(%a, [1], true)"},
    {{kBatch, kLength, 3}, {kBatch, kLength}, "aten.mean.dim(%a, [2])"},
    {{kBatch, kLength, 3}, {kBatch, kLength}, "aten.sum.dim_IntList(%a, [-1])"},
    {{kBatch, 3, kLength}, {kBatch, kLength}, "aten.mean.dim(%a, [1])"},
    {{kBatch, 3, kLength}, {kBatch, 1, kLength}, "aten.var.correction(%a, [1], 0, true)"},
    {{kBatch, 3, 2, kLength}, {kBatch, kLength}, "aten.mean.dim(%a, [1, 2])"},
    {{kBatch, 3, kLength}, {kBatch, 3}, "aten.var.correction(%a, [2], 0.5)"},
    {{kBatch, kLength, 3, kLength}, {kLength, 3}, "aten.mean.dim(%a, [0, 3])"},
    {{kBatch, kLength, 3, kLength}, {kBatch, kLength, 3}, "aten.sum.dim_IntList(%a, [3])"},
    {{kBatch, kLength}, {}, "aten.mean.dim(%a, [])"},
    {{kBatch, kLength}, {}, "aten.sum.dim_IntList(%a, none)"},
    {{kLength}, {1}, "aten.mean.dim(%a, [0], true)"},
    {{4, kLength}, {4}, "aten.sum.dim_IntList(%a, [1])"},
    {{kLength, 300}, {300}, "aten.mean.dim(%a, [0])"},
    {{kBatch, kLength, 5}, {kBatch, kLength, 5}, "aten._log_softmax(%a, 2, false)"},
    {{kBatch, kLength, 5}, {kBatch, kLength, 5}, "aten._log_softmax(%a, 1, false)"},
    {{kBatch, 3, 2, kLength}, {kBatch, 3, 2, kLength}, "aten._log_softmax(%a, 3, false)"},
    {{kLength}, {kLength}, "aten._log_softmax(%a, 0, false)"},
    {{2, 6, kBatch, kLength}, {2, 6, kBatch, kLength}, "aten.group_norm(%a, 3)"},
    {{1, 8, kLength}, {1, 8, kLength}, "aten.group_norm(%a, 2)"},
    {{kBatch, 6, kLength}, {kBatch, 6, kLength}, "aten.group_norm(%a, 6)"},
    {{kBatch, 6, kLength, kLength}, {kBatch, 6, kLength, kLength}, "aten.group_norm(%a, 2)"},
    {{kBatch, 4, kLength, 2, 3}, {kBatch, 4, kLength, 2, 3}, "aten.group_norm(%a, 2)"},
    {{3, 4, kLength, 5, kBatch}, {3, 4, kLength, 5, kBatch}, "aten.group_norm(%a, 4)"},
};

std::string text_of(const std::vector<int64_t>& sizes) {
  std::vector<std::string> parts;
  for (const int64_t size : sizes)
    parts.push_back(size == kBatch ? "s0" : size == kLength ? "s1" : std::to_string(size));
  return fmt::format("f32[{}]", fmt::join(parts, ", "));
}

std::vector<int64_t> sizes_of(std::vector<int64_t> sizes, const Call& call) {
  for (int64_t& size : sizes) size = size == kBatch ? call.batch : size == kLength ? call.length : size;
  return sizes;
}

TEST_P(SeveralUnknownSizes, ReductionsStayInside) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  for (const Reduced& test : kReduced) {
    const std::string x = text_of(test.x);
    const std::string text = fmt::format(
        "graph f(%x: {0}) {{\n range s0: 1..4\n range s1: 2..20\n %a: {0} = aten.neg(%x)\n %y: {1} = {2}\n"
        " return %y\n}}",
        x, text_of(test.y), test.body);
    SCOPED_TRACE(text);
    Pipeline p = Pipeline::from_text(text);
    p.backend("xnnpack").at(Stage::partition).check_delegates(1).check_outside({});
    p.run_and_compare({}, {waves(sizes_of(test.x, GetParam()), 0.7f)});
    EXPECT_EQ(p.failures(), "");
  }
}

// A last window begins as soon as one row of a stride remains; a convolution loses its last rows.
TEST(UnknownRows, HaveAsManyWindowsAsInEager) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  constexpr const char* kBodies[] = {
      "%y, %i = aten.max_pool2d_with_indices(%a, [3, 3], [2, 2], [0, 0], [1, 1], true)",
      "%y, %i = aten.max_pool2d_with_indices(%a, [3, 2], [1, 2], [1, 0], [2, 1], true)",
      "%y = aten.avg_pool2d(%a, [3, 3], [2, 2], [1, 1], true, false)",
      "%y = aten.avg_pool2d(%a, [4, 4], [3, 3], [0, 0], true)",
      "%c = aten.convolution(%a, %w, none, [1, 1], [2, 3], [1, 1], false, [0, 0], 1)\n"
      " %y: f32[2, 5, s0, 5] = aten.slice.Tensor(%c, 2, 0, s0)",
      "%c = aten.convolution(%a, %w, none, [1, 2], [4, 3], [2, 1], false, [0, 0], 1)\n"
      " %y: f32[2, 5, s0 + 3, 3] = aten.slice.Tensor(%c, 2, none, -1)",
  };
  for (const char* body : kBodies) {
    for (int64_t rows = 4; rows < 10; ++rows) {
      const std::string text = fmt::format(
          "graph f(%x: f32[2, 3, s0, 5]) {{\n range s0: 4..9\n const %w: f32[5, 3, 3, 7] = ...\n %a = aten.neg(%x)\n"
          " {}\n return %y\n}}",
          body);
      SCOPED_TRACE(fmt::format("{} rows: {}", rows, text));
      Pipeline p = Pipeline::from_text(text);
      p.backend("xnnpack").at(Stage::partition).check_delegates(1).check_outside({});
      p.run_and_compare({}, {waves({2, 3, rows, 5}, 0.7f)});
      EXPECT_EQ(p.failures(), "");
    }
  }
}

// A tensor is taken apart and joined again; dimensions of size 1 come, go and move.
const Reduced kMoved[] = {
    {{kBatch, kLength, 6}, {kBatch, kLength, 2, 3}, "aten.view(%a, [s0, s1, 2, 3])"},
    {{kBatch, kLength, 2, 3}, {kBatch, kLength, 6}, "aten.view(%a, [s0, s1, 6])"},
    {{kBatch, kLength, 24}, {kBatch, kLength, 2, 3, 4}, "aten.view(%a, [s0, s1, 2, 3, 4])"},
    {{kBatch, kLength, 2, 3, 4}, {kBatch, kLength, 24}, "aten.view(%a, [s0, s1, 24])"},
    {{kBatch, kLength, 4, 6}, {kBatch, kLength, 8, 3}, "aten.view(%a, [s0, s1, 8, 3])"},
    {{1, kBatch, 4, kLength, 3}, {kBatch, 2, 2, kLength, 3}, "aten.view(%a, [s0, 2, 2, s1, 3])"},
    {{kBatch, 2, 2, kLength, 1}, {1, kBatch, 4, kLength}, "aten.view(%a, [1, s0, 4, s1])"},
    {{kBatch, kLength, 1}, {kBatch, kLength}, "aten.view(%a, [s0, s1])"},
    {{kBatch, 1, kLength, kLength}, {kBatch, kLength, kLength}, "aten.view(%a, [s0, s1, s1])"},
    {{kBatch, kLength, 5}, {kBatch, kLength}, "aten.select.int(%a, 2, 3)"},
    {{kBatch, 4, kLength, kLength}, {kBatch, kLength, kLength}, "aten.select.int(%a, 1, -1)"},
    {{kBatch, 4, kLength, 16}, {kBatch, 4, kLength, 8}, "aten.slice.Tensor(%a, 3, 1, 16, 2)"},
    {{kBatch, 7, kLength}, {kBatch, 2, kLength}, "aten.slice.Tensor(%a, 1, 2, 7, 4)"},
};

TEST_P(SeveralUnknownSizes, ViewsOfKnownPartsStayInside) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  for (const Reduced& test : kMoved) {
    const std::string x = text_of(test.x), y = text_of(test.y);
    const std::string text = fmt::format(
        "graph f(%x: {0}) {{\n range s0: 1..4\n range s1: 2..20\n %a: {0} = aten.exp(%x)\n %b: {1} = {2}\n"
        " %y: {1} = aten._softmax(%b, -1, false)\n return %y\n}}",
        x, y, test.body);
    SCOPED_TRACE(text);
    Pipeline p = Pipeline::from_text(text);
    p.backend("xnnpack").skip("avoid_views").at(Stage::partition).check_delegates(1).check_outside({});
    p.run_and_compare({}, {waves(sizes_of(test.x, GetParam()), 0.7f)});
    EXPECT_EQ(p.failures(), "");
  }
}

TEST_P(SeveralUnknownSizes, WhatIsMergedOnlyForMatmulsStaysApart) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  const auto [n, s] = GetParam();
  Pipeline p = Pipeline::from_text(R"(graph f(%x: f32[s1, s0, 32]) {
  range s0: 1..4
  range s1: 1..20
  const %w: f32[32, 32] = ...
  const %k: f32[4, 16, 8] = ...
  %r: f32[s0*s1, 32] = aten.view(%x, [s0*s1, 32])
  %m: f32[s0*s1, 32] = aten.mm(%r, %w)
  %h: f32[s1, s0, 4, 8] = aten.view(%m, [s1, s0, 4, 8])
  %p: f32[s0, 4, s1, 8] = aten.permute(%h, [1, 2, 0, 3])
  %q: f32[4*s0, s1, 8] = aten.view(%p, [4*s0, s1, 8])
  %t: f32[4*s0, 8, s1] = aten.permute(%q, [0, 2, 1])
  %b: f32[4*s0, s1, s1] = aten.bmm(%q, %t)
  %g: f32[4*s0, 16, 8] = aten.repeat(%k, [s0, 1, 1])
  %u: f32[4*s0, 8, 16] = aten.permute(%g, [0, 2, 1])
  %c: f32[4*s0, s1, 16] = aten.bmm(%q, %u)
  %d: f32[4*s0, s1, 1] = aten.slice.Tensor(%c, 2, 5, 6)
  %a: f32[4*s0, s1, s1] = aten.add.Tensor(%b, %d)
  %e: f32[s0, 4, s1, s1] = aten.view(%a, [s0, 4, s1, s1])
  %y: f32[s0, 4, s1, s1] = aten._softmax(%e, 3, false)
  return %y
})");
  p.backend("xnnpack")
      .at(Stage::partition)
      .check_delegates(1)
      .check_outside({"aten.expand.default: an expansion to a size known only at run time"});
  p.run_and_compare({}, {waves({s, n, 32}, 0.7f)});
  EXPECT_EQ(p.failures(), "");
}

TEST_P(SeveralUnknownSizes, ViewsStayOutsideAtTheBorder) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  const auto [n, s] = GetParam();
  Pipeline p = Pipeline::from_text(R"(graph f(%x: f32[s0, s1, 6]) {
  range s0: 1..4
  range s1: 1..20
  %v: f32[s0, s1, 2, 3] = aten.view(%x, [s0, s1, 2, 3])
  %a: f32[s0, s1, 2, 3] = aten._softmax(%v, 3, false)
  %b: f32[s0, s1, 6] = aten.view(%a, [s0, s1, 6])
  return %b
})");
  p.backend("xnnpack")
      .skip("avoid_views")
      .at(Stage::partition)
      .check_delegates(1)
      .check_outside({"aten.view.default: a view at the border of a delegate, which is free outside"});
  p.run_and_compare({}, {waves({n, s, 6}, 0.7f)});
  EXPECT_EQ(p.failures(), "");
}

TEST_P(SeveralUnknownSizes, ADimensionStaysWhereAReaderTellsTheSignOfZeros) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  const auto [n, s] = GetParam();
  Pipeline p = Pipeline::from_text(R"(graph f(%x: f32[s0, s1, 6]) {
  range s0: 1..4
  range s1: 1..20000
  %a: f32[s0, s1, 6] = aten.neg(%x)
  %b: f32[s0, s1] = aten.select.int(%a, 2, 1)
  %c: f32[s0, s1] = aten.reciprocal(%b)
  return %c
})");
  p.backend("xnnpack")
      .at(Stage::partition)
      .check_delegates(2)
      .check_outside(
          {"aten.view.default: a zero may come out with the other sign, and the model distinguishes -0 from 0"});
  HostValue x = waves({n, s, 6}, 0.7f);
  std::fill(x.tensor.bytes.begin(), x.tensor.bytes.end(), uint8_t{0});
  p.run_and_compare({}, {x});
  EXPECT_EQ(p.failures(), "");
}

// Rows sorted by expert and back, as transformers exports it.
constexpr char kExperts[] = R"(graph f(%x: f32[s0, s1, 8]) {
  range s0: 1..4
  range s1: 1..20
  const %router: f32[4, 8] = ...
  const %up: f32[4, 8, 6] = ...
  const %down: f32[4, 6, 8] = ...
  %h: f32[s0, s1, 8] = aten.tanh(%x)
  %v: f32[s0*s1, 8] = aten.view(%h, [s0*s1, 8])
  %l: f32[s0*s1, 4] = aten.linear(%v, %router)
  %p: f32[s0*s1, 4] = aten._softmax(%l, 1, false)
  %t: f32[s0*s1, 2], %n: i64[s0*s1, 2] = aten.topk(%p, 2)
  %f: i64[2*s0*s1] = aten.view(%n, [2*s0*s1])
  %o: i64[2*s0*s1], %q: i64[2*s0*s1] = aten.sort(%f)
  %d: i64[2*s0*s1] = aten.div.Scalar_mode(%q, 2, "floor")
  %g: f32[2*s0*s1, 8] = aten.index.Tensor(%v, [%d])
  %column: i64[2*s0*s1, 1] = aten.view(%o, [2*s0*s1, 1])
  %experts: i64[4] = aten.arange.start_step(0, 4, 1, i64)
  %is: bool[2*s0*s1, 4] = aten.le.Tensor(%column, %experts)
  %e: i64[4] = aten.sum.dim_IntList(%is, [0])
  %ends: i32[4] = aten._to_copy(%e, i32)
  %a: f32[2*s0*s1, 6] = transformers.grouped_mm_fallback(%g, %up, %ends)
  %b: f32[2*s0*s1, 6] = aten.silu(%a)
  %c: f32[2*s0*s1, 8] = transformers.grouped_mm_fallback(%b, %down, %ends)
  %sum: f32[s0*s1, 1] = aten.sum.dim_IntList(%t, [1], true)
  %share: f32[s0*s1, 2] = aten.div.Tensor(%t, %sum)
  %s: f32[2*s0*s1] = aten.view(%share, [2*s0*s1])
  %w: f32[2*s0*s1] = aten.index.Tensor(%s, [%q])
  %u: f32[2*s0*s1, 1] = aten.view(%w, [2*s0*s1, 1])
  %m: f32[2*s0*s1, 8] = aten.mul.Tensor(%c, %u)
  %z: i64[2*s0*s1] = aten.full([2*s0*s1], 0, i64)
  %r: i64[2*s0*s1] = aten.arange.start_step(0, 2*s0*s1, 1, i64)
  %i: i64[2*s0*s1] = aten.index_put(%z, [%q], %r)
  %back: f32[2*s0*s1, 8] = aten.index.Tensor(%m, [%i])
  %pairs: f32[s0*s1, 2, 8] = aten.view(%back, [s0*s1, 2, 8])
  %j: f32[s0*s1, 8] = aten.sum.dim_IntList(%pairs, [1])
  %k: f32[s0, s1, 8] = aten.view(%j, [s0, s1, 8])
  %y: f32[s0, s1, 8] = aten.add.Tensor(%h, %k)
  return %y
})";

TEST_P(SeveralUnknownSizes, ExpertsAreOneDelegate) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  Pipeline p = Pipeline::from_text(kExperts);
  p.backend("xnnpack").at(Stage::partition).check_delegates(2);
  p.run_and_compare({}, {waves({GetParam().batch, GetParam().length, 8}, 0.7f)});
  EXPECT_EQ(p.failures(), "");
}

// Its delegates would leave in the sum what was there.
TEST(UnknownSizes, ThatMayBeZeroAreRefusedAtRunTimeForStockWhereADelegateMakesElementsOfNone) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  const std::pair<const char*, bool> bodies[] = {
      {"%r: f32[s0, 4] = aten.relu(%x)\n %y: f32[4] = aten.sum.dim_IntList(%r, [0])\n return %y", true},
      {"%r: f32[s0, 4] = aten.relu(%x)\n %y: f32[s0, 4] = aten.add.Tensor(%r, %x)\n return %y", false}};
  for (const auto& [body, makes_elements] : bodies) {
    for (const bool stock : {false, true}) {
      Pipeline p = Pipeline::from_text(fmt::format("graph f(%x: f32[s0, 4]) {{\n range s0: 0..9\n {}\n}}", body));
      p.backend("xnnpack");
      if (stock) p.options().profile = compiler::Profile::stock;
      p.at(Stage::partition).check_delegates(1);
      p.run_and_compare({}, {waves({0, 4}, 0.7f)});
      if (stock && makes_elements) {
        EXPECT_NE(p.failures().find("must be 1 or more: delegates on the stock runtime"), std::string::npos);
      } else {
        EXPECT_EQ(p.failures(), "");
      }
    }
  }
}

constexpr Call kCalls[] = {{1, 2}, {1, 20}, {3, 7}, {4, 20}};
INSTANTIATE_TEST_SUITE_P(Xnnpack, SeveralUnknownSizes, ::testing::ValuesIn(kCalls));

}  // namespace
}  // namespace wick::testing
