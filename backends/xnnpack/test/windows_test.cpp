// Convolutions that are lowered otherwise than with the windows they have, and max pools, against portable kernels.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/random.h"
#include "compiler/testing/pipeline.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing::windows_test {
namespace {

struct Case {
  const char *dtype, *input, *filter, *window;
  const char* range = "";
};

// Windows beyond the library's depthwise kernels. 11 channels: more than one vector of the library's kernels and a
// rest.
constexpr Case kLarge[] = {
    {"f32", "2, 11, 13, 9", "11, 1, 7, 7", "[1, 1], [3, 3], [1, 1], false, [0, 0], 11"},
    {"f32", "1, 11, 13, 12", "11, 1, 7, 7", "[2, 2], [3, 3], [1, 1], false, [0, 0], 11"},
    {"f32", "1, 11, 20, 22", "11, 1, 7, 7", "[1, 2], [4, 6], [2, 3], false, [0, 0], 11"},
    {"f32", "1, 11, 20, 13", "11, 1, 7, 7", "[2, 1], [0, 1], [2, 1], false, [0, 0], 11"},
    {"f32", "1, 11, 9, 8", "11, 1, 9, 9", "[1, 1], [4, 4], [1, 1], false, [0, 0], 11"},
    {"f32", "1, 11, 4, 30", "11, 1, 3, 27", "[1, 1], [1, 13], [1, 1], false, [0, 0], 11"},
    {"f32", "1, 11, 1, 30", "11, 1, 3, 27", "[1, 1], [1, 13], [1, 1], false, [0, 0], 11"},
    {"f32", "1, 11, 40", "11, 1, 31", "[1], [15], [1], false, [0], 11"},
    {"f32", "1, 11, 60", "11, 1, 51", "[3], [2], [1], false, [0], 11"},
    {"f16", "1, 11, 13, 9", "11, 1, 7, 7", "[1, 1], [3, 3], [1, 1], false, [0, 0], 11"},
    {"f32", "1, 11, s0, 9", "11, 1, 7, 7", "[1, 1], [3, 3], [1, 1], false, [0, 0], 11", "range s0: 2..14\n"},
};

// Windows side by side in their rows.
constexpr Case kPatches[] = {
    {"f32", "2, 3, 12, 8", "11, 3, 4, 4", "[4, 4], [0, 0], [1, 1], false, [0, 0], 1"},
    {"f32", "1, 5, 7, 6", "11, 5, 3, 2", "[1, 2], [1, 0], [2, 1], false, [0, 0], 1"},
    {"f32", "2, 3, 12", "11, 3, 2", "[2], [0], [1], false, [0], 1"},
    {"f16", "1, 3, 8, 8", "11, 3, 2, 2", "[2, 2], [0, 0], [1, 1], false, [0, 0], 1"},
    {"f32", "s0, 3, 8, 12", "11, 3, 4, 4", "[4, 4], [0, 0], [1, 1], false, [0, 0], 1", "range s0: 1..5\n"},
    {"f32", "1, 3, s0, 12", "11, 3, 4, 4", "[4, 4], [0, 0], [1, 1], false, [0, 0], 1", "range s0: 4..40\n"},
    {"f32", "1, 3, 12, s0", "11, 3, 4, 4", "[4, 4], [0, 0], [1, 1], false, [0, 0], 1", "range s0: 4..40\n"},
};

class ChangedWindow : public ::testing::TestWithParam<Case> {};

TEST_P(ChangedWindow, IsRight) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  const Case& c = GetParam();
  Pipeline p = Pipeline::from_text(
      fmt::format("graph f(%x: {0}[{1}]) {{\n {4} const %w: {0}[{2}] = ...\n const %b: {0}[11] = ...\n"
                  " %a = aten.convolution(%x, %w, %b, {3})\n %y = aten.hardtanh(%a, -1.0, 1.5)\n return %y\n}}",
                  c.dtype, c.input, c.filter, c.window, c.range));
  p.backend("xnnpack").at(Stage::partition).check_delegates(1).check_outside({});
  Tolerance tolerance;
  if (std::string_view(c.dtype) == "f16") tolerance = {1e-2, 1e-2, 0};
  p.run_and_compare(tolerance);
  EXPECT_EQ(p.failures(), "");
}

INSTANTIATE_TEST_SUITE_P(LargeDepthwise, ChangedWindow, ::testing::ValuesIn(kLarge));
INSTANTIATE_TEST_SUITE_P(Patches, ChangedWindow, ::testing::ValuesIn(kPatches));

// One dimension of a max pool.
struct Axis {
  int kernel, stride, padding, dilation, size;
};

std::vector<Axis> axes() {
  std::vector<Axis> out;
  for (int kernel = 1; kernel <= 3; ++kernel)
    for (int stride = 1; stride <= 3; ++stride)
      for (int padding = 0; padding <= kernel / 2; ++padding)
        for (int dilation = 1; dilation <= 3; ++dilation)
          for (int size = 1; size <= 7; ++size) {
            if (size + 2 * padding > dilation * (kernel - 1)) out.push_back({kernel, stride, padding, dilation, size});
          }
  return out;
}

// Windows of which a part, at either end, lies in the padding or behind it.
TEST(MaxPools, OfAnyWindowAreRightOrOutside) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  const std::vector<Axis> all = axes();
  size_t delegated = 0, dilated = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    const auto random = philox4x32(20261130, i);
    const Axis &h = all[random.words[0] % all.size()], &w = all[random.words[1] % all.size()];
    Pipeline p = Pipeline::from_text(
        fmt::format("graph f(%x: f32[2, 3, {}, {}]) {{\n %y, %i = aten.max_pool2d_with_indices(%x, [{}, {}], [{}, {}], "
                    "[{}, {}], [{}, {}], {})\n return %y\n}}",
                    h.size, w.size, h.kernel, w.kernel, h.stride, w.stride, h.padding, w.padding, h.dilation,
                    w.dilation, random.words[2] % 2 == 1));
    p.backend("xnnpack");
    if (p.delegates() == 0) continue;
    ++delegated;
    dilated += h.dilation > 1 || w.dilation > 1;
    p.run_and_compare();
    ASSERT_EQ(p.failures(), "") << i;
  }
  EXPECT_GT(delegated, 700u);
  EXPECT_GT(dilated, 200u);
}

}  // namespace
}  // namespace wick::testing::windows_test
