#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m::group_norm_test {
namespace {

constexpr char kName[] = "wick_cortex_m::group_norm.out", kRows[] = "wick_cortex_m::layer_norm.out";

struct Case {
  std::vector<int32_t> sizes;
  std::vector<uint8_t> order = {};
  int64_t groups = 1, zero = 0, epsilon = 5, epsilon_bits = 0, shift = 20, output_zero = 0, min = -128, max = 127;
  std::vector<int64_t> x = {}, scales = {}, offsets = {};

  Outcome call(TestTensor& out) const {
    const TestTensor input = make_ints_in(DType::i8, sizes, x, order);
    const TestTensor s = make_ints(DType::i32, {static_cast<int32_t>(scales.size())}, scales),
                     o = make_ints(DType::i32, {static_cast<int32_t>(offsets.size())}, offsets);
    return run(kName, {input, s, o, groups, zero, epsilon, shift, output_zero, min, max, epsilon_bits, out});
  }
  bool refused(const char* part) const {
    TestTensor out = make_out(DType::i8, sizes, order);
    return call(out).message.find(part) != std::string::npos;
  }
};

Case random_case(Random& random) {
  Case c;
  c.groups = random.in(1, 4);
  const int64_t channels = c.groups * random.in(1, 5);
  c.sizes = {static_cast<int32_t>(random.in(1, 3)), static_cast<int32_t>(channels)};
  for (int64_t d = random.in(0, 2); d > 0; --d) c.sizes.push_back(static_cast<int32_t>(random.in(1, 6)));
  c.order = random_order(random, c.sizes);
  c.zero = random.in(-128, 127);
  c.epsilon = random.in(0, 5000);
  c.epsilon_bits = random.in(0, 32);
  c.shift = random.in(12, 30);
  c.output_zero = random.in(-128, 127);
  if (random.one_in(3)) c.min = random.in(-128, 0), c.max = random.in(0, 127);
  c.x = random_int8(random, product(c.sizes));
  c.scales = random_int32(random, channels, 1 << 24);
  c.offsets = random_int32(random, channels, 1 << 22);
  return c;
}

// Each group is a row of layer_norm, with the parameters of its elements' channels.
TEST(CortexMGroupNorm, IsLayerNormOfEachGroup) {
  Random random(51);
  for (int trial = 0; trial < 1500; ++trial) {
    const Case c = random_case(random);
    TestTensor out = make_out(DType::i8, c.sizes, c.order);
    ASSERT_EQ(c.call(out).message, "");
    const std::vector<int64_t> found = ints(out);
    const int64_t channels = c.sizes[1], area = product(c.sizes) / c.sizes[0] / channels;
    const int64_t of_group = channels / c.groups, count = of_group * area;
    const auto cells = static_cast<int32_t>(count);
    for (int64_t row = 0; row < c.sizes[0] * c.groups; ++row) {
      std::vector<int64_t> scales, offsets;
      for (int64_t i = 0; i < count; ++i) {
        const auto channel = static_cast<size_t>(row % c.groups * of_group + i / area);
        scales.push_back(c.scales[channel]);
        offsets.push_back(c.offsets[channel]);
      }
      const auto begin = c.x.begin() + row * count;
      const TestTensor input = make_ints(DType::i8, {1, cells}, std::vector<int64_t>(begin, begin + count));
      TestTensor wanted = make_out(DType::i8, {1, cells});
      ASSERT_TRUE(runs(kRows, {input, make_ints(DType::i32, {cells}, scales), make_ints(DType::i32, {cells}, offsets),
                               true, c.zero, c.epsilon, c.shift, c.output_zero, c.min, c.max, c.epsilon_bits, wanted}));
      const std::vector<int64_t> part(found.begin() + row * count, found.begin() + (row + 1) * count);
      ASSERT_EQ(part, ints(wanted)) << trial;
    }
  }
}

TEST(CortexMGroupNorm, TheLargestNumbersDoNotOverflow) {
  Case c{.sizes = {1, 1, 1 << 18}, .zero = -128, .epsilon = int64_t{1} << 60, .shift = 0};
  c.x.assign(1 << 18, -128);
  c.x[0] = 127;
  c.scales = {INT32_MAX};
  c.offsets = {INT32_MIN};
  for (const int64_t epsilon : {int64_t{1} << 60, int64_t{1}, int64_t{0}}) {
    c.epsilon = epsilon;
    TestTensor out = make_out(DType::i8, c.sizes);
    ASSERT_EQ(c.call(out).message, "");
    EXPECT_EQ(ints(out)[1], -128);
  }
}

TEST(CortexMGroupNorm, ChecksItsArguments) {
  const Case good{.sizes = {1, 4, 2},
                  .groups = 2,
                  .x = std::vector<int64_t>(8, 3),
                  .scales = {1, 2, 3, 4},
                  .offsets = {0, 0, 0, 0}};
  EXPECT_FALSE(good.refused("."));
  for (const int64_t groups : {int64_t{0}, int64_t{-2}, int64_t{3}, int64_t{8}, int64_t{1} << 40}) {
    Case c = good;
    c.groups = groups;
    EXPECT_TRUE(c.refused("groups do not divide"));
  }
  Case c = good;
  c.scales = {1, 2};
  EXPECT_TRUE(c.refused("one element per channel"));
  c = good;
  c.offsets = {1, 2, 3, 4, 5};
  EXPECT_TRUE(c.refused("one element per channel"));
  c = good;
  c.sizes = {8};
  EXPECT_TRUE(c.refused("wanted an input"));
  c = good;
  c.epsilon = -1;
  EXPECT_TRUE(c.refused("epsilon"));
  c = good;
  c.sizes = {1, 1, (1 << 18) + 1}, c.groups = 1;
  c.x.assign((1 << 18) + 1, 0);
  c.scales = c.offsets = {0};
  EXPECT_TRUE(c.refused("262144"));
}

}  // namespace
}  // namespace wick::cortex_m::group_norm_test
