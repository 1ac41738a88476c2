#include "backends/cortex_m/kernels/requantize.h"

#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m {
namespace {

const std::vector<int32_t> kEdges = {
    INT32_MIN, INT32_MIN + 1, -(1 << 30) - 1, -(1 << 30), -257,          -256,     -3, -2, -1, 0, 1, 2, 3,
    255,       256,           (1 << 30) - 1,  1 << 30,    INT32_MAX - 1, INT32_MAX};

template <typename F>
void for_each_case(const F& check) {
  for (const int32_t value : kEdges) {
    for (const int32_t multiplier : kEdges) {
      for (int32_t shift = kMinShift; shift <= kMaxShift && multiplier != INT32_MIN; ++shift)
        check(value, multiplier, shift);
    }
  }
  Random random(1);
  for (int i = 0; i < 200000; ++i) {
    const int64_t magnitude = int64_t{1} << random.in(0, 31);
    check(static_cast<int32_t>(random.in(-magnitude, magnitude - 1)),
          static_cast<int32_t>(random.in(-INT32_MAX, INT32_MAX)),
          static_cast<int32_t>(random.in(kMinShift, kMaxShift)));
  }
}

TEST(Requantize, IsItsEquations) {
  for_each_case([](int32_t value, int32_t multiplier, int32_t shift) {
    ASSERT_EQ(requantize(value, multiplier, shift), exact_requantize(value, multiplier, shift))
        << value << " " << multiplier << " " << shift;
  });
}

// VQRDMULH, VQADD of the sign, VRSHL.
int32_t vector_form(int32_t value, int32_t multiplier, int32_t shift) {
  const int64_t wide = static_cast<int32_t>(static_cast<uint32_t>(value) << std::max(shift, 0));
  const int64_t high = std::min<int64_t>((2 * wide * multiplier + (int64_t{1} << 31)) >> 32, INT32_MAX);
  if (shift >= 0) return static_cast<int32_t>(high);
  const int64_t fixed = std::max<int64_t>(high - (high < 0), INT32_MIN);
  return static_cast<int32_t>((fixed + (int64_t{1} << (-shift - 1))) >> -shift);
}

TEST(Requantize, IsTheVectorFormForAllAllowedMultipliers) {
  for_each_case([](int32_t value, int32_t multiplier, int32_t shift) {
    if (value == INT32_MIN && multiplier == INT32_MIN) return;
    ASSERT_EQ(requantize(value, multiplier, shift), vector_form(value, multiplier, shift))
        << value << " " << multiplier << " " << shift;
  });
}

TEST(Requantize, SaturatesOnlyWhereBothFactorsAreTheSmallest) {
  EXPECT_EQ(doubling_high_mul(INT32_MIN, INT32_MIN), INT32_MAX);
  EXPECT_EQ(doubling_high_mul(INT32_MIN, INT32_MIN + 1), INT32_MAX);
  EXPECT_EQ(doubling_high_mul(INT32_MIN, INT32_MAX), INT32_MIN + 1);
}

TEST(OutputStage, WrapsTheOffsetAndClamps) {
  OutputStage stage;
  stage.multiplier = INT32_MAX;
  stage.shift = 1;
  stage.offset = 127;
  EXPECT_EQ(stage(1 << 29), 127);
  EXPECT_EQ(stage(INT32_MAX / 2), -128);  // 2^31 - 3 + 127
  stage.min = -5;
  stage.max = 7;
  EXPECT_EQ(stage(-(1 << 29)), -5);
  EXPECT_EQ(stage(0), 7);
}

}  // namespace
}  // namespace wick::cortex_m
