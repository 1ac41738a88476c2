#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m::softmax_test {
namespace {

constexpr char kName[] = "cortex_m::softmax.out";

struct Scale {
  int64_t multiplier = 0, shift = 0, diff_min = 0;
};

/// The arguments that stock computes from the input's scale: exp's operand has 5 integer bits.
Scale scale_of(double input_scale) {
  const double real = std::min(input_scale * (1 << 26), 2147483647.0);
  int exponent = 0;
  Scale scale;
  scale.multiplier = std::llround(std::ldexp(std::frexp(real, &exponent), 31));
  if (scale.multiplier == int64_t{1} << 31) {
    scale.multiplier /= 2;
    ++exponent;
  }
  scale.shift = exponent;
  scale.diff_min = -static_cast<int64_t>(std::floor(31.0 * (1 << 26) / std::exp2(exponent)));
  return scale;
}

// The fixed-point result is within one step of softmax in double.
TEST(CortexMSoftmax, IsSoftmaxWithinOneStep) {
  Random random(8);
  for (int i = 0; i < 1000; ++i) {
    const int64_t rows = random.in(1, 4), count = random.in(1, 300);
    const double input_scale = std::exp2(-0.1 * static_cast<double>(random.in(0, 90)));
    const Scale scale = scale_of(input_scale);
    const std::vector<int64_t> values = random_int8(random, rows * count);
    const TestTensor x = make_ints(DType::i8, {static_cast<int32_t>(rows), static_cast<int32_t>(count)}, values);
    TestTensor out = make_out(DType::i8, {static_cast<int32_t>(rows), static_cast<int32_t>(count)});
    ASSERT_TRUE(runs(kName, {x, -1, 7, -128, scale.multiplier, scale.shift, scale.diff_min, out}));
    const std::vector<int64_t> found = ints(out);
    for (int64_t row = 0; row < rows; ++row) {
      const auto begin = values.begin() + row * count;
      const int64_t max = *std::max_element(begin, begin + count);
      double sum = 0;
      for (int64_t k = 0; k < count; ++k) sum += std::exp(input_scale * static_cast<double>(begin[k] - max));
      for (int64_t k = 0; k < count; ++k) {
        const double wanted = 256 * std::exp(input_scale * static_cast<double>(begin[k] - max)) / sum - 128;
        ASSERT_NEAR(static_cast<double>(found[row * count + k]), std::clamp(wanted, -128.0, 127.0), 1.0) << i;
      }
    }
  }
}

// Rows computed by hand according to CMSIS-NN's documentation of gemmlowp's arithmetic: equal elements and distant
// ones.
TEST(CortexMSoftmax, KnownRows) {
  const Scale scale = scale_of(1.0 / 16);
  TestTensor two = make_out(DType::i8, {1, 2}), one = make_out(DType::i8, {1, 1});
  ASSERT_TRUE(
      runs(kName, {make(DType::i8, {1, 2}, {5, 5}), 1, 0, -128, scale.multiplier, scale.shift, scale.diff_min, two}));
  EXPECT_TRUE(equals(two, {0, 0}));
  ASSERT_TRUE(runs(
      kName, {make(DType::i8, {1, 2}, {127, -128}), 1, 0, -128, scale.multiplier, scale.shift, scale.diff_min, two}));
  EXPECT_TRUE(equals(two, {127, -128}));
  ASSERT_TRUE(
      runs(kName, {make(DType::i8, {1, 1}, {-7}), 1, 0, -128, scale.multiplier, scale.shift, scale.diff_min, one}));
  EXPECT_TRUE(equals(one, {127}));
  // Terms below diff_min count as 0.
  ASSERT_TRUE(runs(kName, {make(DType::i8, {1, 2}, {5, 4}), 1, 0, -128, scale.multiplier, scale.shift, 0, two}));
  EXPECT_TRUE(equals(two, {127, -128}));
}

// 512 equal maxima need a shift by 32 bits; 4096 of them exceed the sum.
TEST(CortexMSoftmax, LongRowsOfEqualElements) {
  const Scale scale = scale_of(0.1);
  for (const int32_t count : {256, 511, 512, 1024, 4095}) {
    TestTensor out = make_out(DType::i8, {1, count});
    ASSERT_TRUE(runs(
        kName, {make(DType::i8, {1, count}, {3}), 1, 0, -128, scale.multiplier, scale.shift, scale.diff_min, out}));
    const double each = count < 512 ? std::round(256.0 / count) - 128 : -128;
    EXPECT_TRUE(equals(out, std::vector<double>(static_cast<size_t>(count), each))) << count;
  }
  TestTensor out = make_out(DType::i8, {1, 4096});
  EXPECT_TRUE(refuses(kName,
                      {make(DType::i8, {1, 4096}, {3}), 1, 0, -128, scale.multiplier, scale.shift, scale.diff_min, out},
                      "31 bits"));
}

TEST(CortexMSoftmax, RunsAlongTheInnermostDimensionOfMemory) {
  const Scale scale = scale_of(0.1);
  const TestTensor x = make(DType::i8, {1, 2, 1, 2}, {1, 50, 1, -50}, {0, 2, 3, 1});
  TestTensor out = make_out(DType::i8, {1, 2, 1, 2}, {0, 2, 3, 1});
  ASSERT_TRUE(runs(kName, {x, 1, 0, -128, scale.multiplier, scale.shift, scale.diff_min, out}));
  EXPECT_TRUE(equals(out, {0, 127, 0, -128}));
  EXPECT_TRUE(refuses(kName, {x, 3, 0, -128, scale.multiplier, scale.shift, scale.diff_min, out}, "innermost"));
}

TEST(CortexMSoftmax, ChecksItsArguments) {
  const TestTensor x = make(DType::i8, {2, 3}, {1}), bytes = make(DType::u8, {2, 3}, {1}),
                   none = make(DType::i8, {0, 3}, {});
  TestTensor out = make_out(DType::i8, {2, 3}), turned = make_out(DType::i8, {3, 2}),
             empty = make_out(DType::i8, {0, 3});
  const int m = 1 << 30;
  for (const int dim : {-1, 1}) EXPECT_TRUE(runs(kName, {x, dim, 0, -128, m, 30, 0, out}));
  EXPECT_TRUE(runs(kName, {none, 1, 0, -128, m, 0, 0, empty}));
  for (const int dim : {-3, 2}) EXPECT_TRUE(refuses(kName, {x, dim, 0, -128, m, 20, -9, out}, "none of"));
  EXPECT_TRUE(refuses(kName, {x, 0, 0, -128, m, 20, -9, out}, "innermost"));
  for (const int zero : {-129, 128}) EXPECT_TRUE(refuses(kName, {x, 1, zero, -128, m, 20, -9, out}, "zero point"));
  EXPECT_TRUE(refuses(kName, {x, 1, 0, -127, m, 20, -9, out}, "not -128"));
  EXPECT_TRUE(refuses(kName, {x, 1, 0, -128, -1, 20, -9, out}, "negative"));
  EXPECT_TRUE(refuses(kName, {x, 1, 0, -128, m, -1, -9, out}, "negative"));
  EXPECT_TRUE(refuses(kName, {x, 1, 0, -128, m, 31, -9, out}, "shift"));
  EXPECT_TRUE(refuses(kName, {x, 1, 0, -128, m, 20, 1, out}, "diff_min"));
  EXPECT_TRUE(refuses(kName, {x, 1, 0, -128, m, 20, -9, turned}, "sizes"));
  EXPECT_TRUE(refuses(kName, {bytes, 1, 0, -128, m, 20, -9, out}, "not int8"));
}

}  // namespace
}  // namespace wick::cortex_m::softmax_test
