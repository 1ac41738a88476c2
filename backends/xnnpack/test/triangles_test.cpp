// Triangles of matrices whose other elements are NaN or infinite.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "compiler/testing/pipeline.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing {
namespace {

HostValue floats(std::vector<int32_t> sizes, const std::vector<float>& elements) {
  std::vector<uint8_t> bytes(elements.size() * sizeof(float));
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  return HostTensor{DType::f32, {sizes.begin(), sizes.end()}, std::move(bytes)};
}

// The decay between places of a text: that from later places to earlier ones overflows, and is masked.
constexpr char kDecay[] = R"(graph f(%g: f32[2, 4]) {
  const %m: bool[4, 4] = [false, true, true, true, false, false, true, true, false, false, false, true, false, false, false, false]
  %l: f32[2, 4] = aten.log(%g)
  %r: f32[2, 4, 1] = aten.view(%l, [2, 4, 1])
  %c: f32[2, 1, 4] = aten.view(%l, [2, 1, 4])
  %d: f32[2, 4, 4] = aten.sub.Tensor(%r, %c)
  %e: f32[2, 4, 4] = aten.exp(%d)
  %y: f32[2, 4, 4] = aten.tril(%e)
  %n: f32[2, 4, 4] = aten.masked_fill.Scalar(%d, %m, -inf)
  %p: f32[2, 4, 4] = aten.exp(%n)
  %s: f32[2, 4, 4] = aten.triu(%e, 2)
  return %y, %p, %s
})";

class Triangles : public ::testing::TestWithParam<bool> {};

TEST_P(Triangles, AreEagersWhereTheRestIsNoNumber) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Pipeline p = Pipeline::from_text(kDecay);
  p.backend("xnnpack").options().strict_nan = GetParam();
  if (!GetParam()) p.at(Stage::partition).check_delegates(1).check_outside({});
  // Logarithms: zeros, infinities of either sign in the last place, a NaN in the first.
  p.run_and_compare({}, {floats({2, 4}, {1e-30f, 1, 1e30f, 0, 1e-37f, 3e38f, 2, kInfinity})});
  p.run_and_compare({}, {floats({2, 4}, {1, 2, 3, 4, -1, 2, 3, 0})});
  EXPECT_EQ(p.failures(), "");
}

INSTANTIATE_TEST_SUITE_P(Xnnpack, Triangles, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "strict" : "plain"; });

}  // namespace
}  // namespace wick::testing
