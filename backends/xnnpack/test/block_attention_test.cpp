// Attention whose scores are computed in blocks, against portable kernels on all of them at once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/testing/pipeline.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing::block_attention_test {
namespace {

struct Case {
  const char* dtype;
  int batch, heads, queries, keys, width;
  const char* mask = "";  // its sizes
};

// Groups of heads, heads alone, a rest of either, several batches, rows with and without a rest.
constexpr Case kCases[] = {
    {"f32", 1, 4, 600, 600, 5},
    {"f32", 1, 7, 600, 601, 3, "1, 1, 600, 601"},
    {"f32", 1, 18, 400, 400, 2, "18, 1, 400"},
    {"f32", 3, 5, 301, 500, 4, "3, 1, 1, 500"},
    {"f32", 1, 3, 1201, 1103, 3, "1201, 1103"},
    {"f32", 1, 1, 1201, 1000, 8, "1, 1, 1201, 1"},
    {"f32", 1, 5, 1201, 201, 8, "5, 1, 201"},
    {"f16", 1, 5, 900, 901, 4, "1, 1, 900, 901"},
};

class BlockAttention : public ::testing::TestWithParam<Case> {};

TEST_P(BlockAttention, GivesTheSameNumbers) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  const Case& c = GetParam();
  const bool masked = *c.mask != '\0';
  const int features = c.heads * c.width;
  const auto heads = [&](const char* name, int rows, const char* order) {
    return fmt::format(" %{0}v = aten.view(%{0}, [{1}, {2}, {3}, {4}])\n %{0}h = aten.permute(%{0}v, [{5}])\n", name,
                       c.batch, rows, c.heads, c.width, order);
  };
  Pipeline p = Pipeline::from_text(
      fmt::format("graph f(%q: {0}[{1}, {2}, {3}], %k: {0}[{1}, {4}, {3}], %v: {0}[{1}, {4}, {3}]{5}) {{\n", c.dtype,
                  c.batch, c.queries, features, c.keys, masked ? fmt::format(", %m: {}[{}]", c.dtype, c.mask) : "") +
      heads("q", c.queries, "0, 2, 1, 3") + heads("k", c.keys, "0, 2, 3, 1") + heads("v", c.keys, "0, 2, 1, 3") +
      fmt::format(
          " %s = aten.matmul(%qh, %kh)\n %a = {}\n %p = aten._softmax(%a, -1, false)\n"
          " %o = aten.matmul(%p, %vh)\n %t = aten.permute(%o, [0, 2, 1, 3])\n %y = aten.view(%t, [{}, {}, {}])\n"
          " return %y\n}}",
          masked ? "aten.add.Tensor(%s, %m)" : "aten.mul.Scalar(%s, 0.5)", c.batch, c.queries, features));
  p.backend("xnnpack").at(Stage::passes).check("aten.cat");
  p.at(Stage::partition).check_delegates(1).check_outside({});
  Tolerance tolerance;
  if (std::string_view(c.dtype) == "f16") tolerance = {2e-3, 1e-2, 0};
  p.run_and_compare(tolerance);
  EXPECT_EQ(p.failures(), "");
}

INSTANTIATE_TEST_SUITE_P(Xnnpack, BlockAttention, ::testing::ValuesIn(kCases));

}  // namespace
}  // namespace wick::testing::block_attention_test
