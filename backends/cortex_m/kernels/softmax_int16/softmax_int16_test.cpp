#include <algorithm>

#include "backends/cortex_m/kernels/int16_test_support.h"

namespace wick::cortex_m::softmax_int16_test {
namespace {

constexpr char kName[] = "wick_cortex_m::softmax_int16.out";

Outcome call(const TestTensor& x, int64_t multiplier, int64_t shift, const OutputParameters& to, TestTensor& y) {
  return run(kName,
             {x, multiplier, shift, int64_t{to.multiplier}, int64_t{to.shift}, int64_t{to.min}, int64_t{to.max}, y});
}

// In double, with what exp may be off by.
TEST(CortexMSoftmaxInt16, IsItsEquation) {
  Random random(61);
  for (int trial = 0; trial < 1500; ++trial) {
    const auto rows = static_cast<int32_t>(random.in(1, 3)),
               columns = static_cast<int32_t>(random.one_in(10) ? random.in(1, 2000) : random.in(1, 30));
    const std::vector<int64_t> x = random_int16(random, int64_t{rows} * columns);
    const int64_t multiplier = random.in(1 << 30, INT32_MAX), shift = random.in(-3, 16);
    OutputParameters to{static_cast<int32_t>(random.in(1 << 30, INT32_MAX)), static_cast<int32_t>(random.in(-17, -13)),
                        0, -32767, 32767};
    if (random.one_in(3)) to.min = static_cast<int32_t>(random.in(0, 100)), to.max = 20000;
    TestTensor out = make_out(DType::i16, {rows, columns});
    ASSERT_EQ(call(make_ints(DType::i16, {rows, columns}, x), multiplier, shift, to, out).message, "");
    const std::vector<int64_t> found = ints(out);
    const double step = std::ldexp(static_cast<double>(multiplier), static_cast<int>(shift) - 31 - 26);
    const double factor = std::ldexp(static_cast<double>(to.multiplier), to.shift - 31 + 30);
    for (int32_t row = 0; row < rows; ++row) {
      const int64_t* from = x.data() + int64_t{row} * columns;
      const auto most = static_cast<double>(*std::max_element(from, from + columns));
      double sum = 0;
      for (int32_t i = 0; i < columns; ++i) sum += std::exp((static_cast<double>(from[i]) - most) * step);
      for (int32_t i = 0; i < columns; ++i) {
        const double exact = std::exp((static_cast<double>(from[i]) - most) * step) / sum * factor;
        const double slack = factor * std::ldexp(1, -22) + std::ldexp(1, -8);
        const double low = std::clamp<double>(std::floor(exact + 0.5 - slack), to.min, to.max),
                     high = std::clamp<double>(std::floor(exact + 0.5 + slack), to.min, to.max);
        const auto got = static_cast<double>(found[static_cast<size_t>(int64_t{row} * columns + i)]);
        ASSERT_TRUE(got >= low && got <= high) << trial << ": " << got << " for " << exact;
      }
    }
  }
}

TEST(CortexMSoftmaxInt16, TheLargestNumbersDoNotOverflow) {
  const int32_t columns = 1 << 20;
  std::vector<int64_t> x(1 << 20, 32767);
  TestTensor out = make_out(DType::i16, {1, columns});
  const OutputParameters to{1 << 30, -10, 0, -32768, 32767};  // steps of 2^-19
  ASSERT_EQ(call(make_ints(DType::i16, {1, columns}, x), INT32_MAX, 30, to, out).message, "");
  EXPECT_EQ(ints(out)[5], 1) << "half of 1";
  x.assign(1 << 20, -32768);
  x[7] = 32767;
  ASSERT_EQ(call(make_ints(DType::i16, {1, columns}, x), INT32_MAX, 30, to, out).message, "");
  EXPECT_EQ(ints(out)[7], 32767);
  EXPECT_EQ(ints(out)[8], 0);
}

TEST(CortexMSoftmaxInt16, ChecksItsArguments) {
  const TestTensor x = make_ints(DType::i16, {1, 2}, {1, 2}), bytes = make_ints(DType::i8, {1, 2}, {1, 2});
  TestTensor out = make_out(DType::i16, {1, 2}), other = make_out(DType::i16, {2, 1});
  const OutputParameters good{1 << 30, -15, 0, -32768, 32767};
  EXPECT_EQ(call(x, 1 << 30, 3, good, out).message, "");
  EXPECT_NE(call(bytes, 1 << 30, 3, good, out).message, "");
  EXPECT_NE(call(x, 1 << 30, 3, good, other).message, "");
  EXPECT_NE(call(x, -1, 3, good, out).message.find("negative"), std::string::npos);
  EXPECT_NE(call(x, 1 << 30, 31, good, out).message, "");
  for (const OutputParameters& bad :
       {OutputParameters{INT32_MIN, -15, 0, -1, 1}, OutputParameters{1, -32, 0, -1, 1}, OutputParameters{1, 0, 0, 2, 1},
        OutputParameters{1, 0, 0, -32769, 1}, OutputParameters{1, 0, 0, -1, 32768}})
    EXPECT_NE(call(x, 1 << 30, 3, bad, out).message, "");
}

}  // namespace
}  // namespace wick::cortex_m::softmax_int16_test
