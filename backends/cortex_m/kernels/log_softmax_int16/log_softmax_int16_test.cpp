#include "backends/cortex_m/kernels/int16_test_support.h"
#include "backends/cortex_m/kernels/log_softmax/log_softmax_test_support.h"

namespace wick::cortex_m::log_softmax_int16_test {
namespace {

constexpr char kName[] = "wick_cortex_m::log_softmax_int16.out";

Outcome call(const TestTensor& x, int64_t multiplier, int64_t shift, const OutputParameters& to, TestTensor& y) {
  return run(kName,
             {x, multiplier, shift, int64_t{to.multiplier}, int64_t{to.shift}, int64_t{to.min}, int64_t{to.max}, y});
}

TEST(CortexMLogSoftmaxInt16, IsItsEquation) {
  Random random(71);
  for (int trial = 0; trial < 1500; ++trial) {
    const auto rows = static_cast<int32_t>(random.in(1, 3)),
               columns = static_cast<int32_t>(random.one_in(10) ? random.in(1, 2000) : random.in(1, 30));
    const std::vector<int64_t> x = random_int16(random, int64_t{rows} * columns);
    const int64_t multiplier = random.in(1 << 30, INT32_MAX), shift = random.in(-2, 14);
    OutputParameters to{static_cast<int32_t>(random.in(1 << 30, INT32_MAX)), static_cast<int32_t>(random.in(-16, -2)),
                        0, -32767, 32767};
    if (random.one_in(3)) to.min = -20000, to.max = static_cast<int32_t>(random.in(-100, 0));
    TestTensor out = make_out(DType::i16, {rows, columns});
    ASSERT_EQ(call(make_ints(DType::i16, {rows, columns}, x), multiplier, shift, to, out).message, "");
    ASSERT_TRUE(is_log_softmax(x, columns, multiplier, shift, to, 2, std::ldexp(1, -8), ints(out))) << trial;
  }
}

TEST(CortexMLogSoftmaxInt16, TheLargestNumbersDoNotOverflow) {
  std::vector<int64_t> x(1 << 20, 32767);
  x[3] = -32768;
  TestTensor out = make_out(DType::i16, {1, 1 << 20});
  const OutputParameters to{1 << 30, -9, 0, -32768, 32767};  // steps of 2^-10
  ASSERT_EQ(call(make_ints(DType::i16, {1, 1 << 20}, x), INT32_MAX, 14, to, out).message, "");
  EXPECT_EQ(ints(out)[5], -14196) << "20 ln 2";
  EXPECT_EQ(ints(out)[3], -32768) << "-1024";
}

TEST(CortexMLogSoftmaxInt16, ChecksItsArguments) {
  const TestTensor x = make_ints(DType::i16, {1, 2}, {1, 2}), bytes = make_ints(DType::i8, {1, 2}, {1, 2});
  TestTensor out = make_out(DType::i16, {1, 2}), other = make_out(DType::i16, {2, 1});
  const OutputParameters good{1 << 30, -9, 0, -32768, 32767};
  EXPECT_EQ(call(x, 1 << 30, 14, good, out).message, "");
  EXPECT_NE(call(bytes, 1 << 30, 3, good, out).message, "");
  EXPECT_NE(call(x, 1 << 30, 3, good, other).message, "");
  EXPECT_NE(call(x, -1, 3, good, out).message.find("negative"), std::string::npos);
  EXPECT_NE(call(x, 1 << 30, 15, good, out).message.find("too large"), std::string::npos);
  for (const OutputParameters& bad :
       {OutputParameters{INT32_MIN, -9, 0, -1, 1}, OutputParameters{1, -32, 0, -1, 1}, OutputParameters{1, 0, 0, 2, 1},
        OutputParameters{1, 0, 0, -32769, 1}, OutputParameters{1, 0, 0, -1, 32768}})
    EXPECT_NE(call(x, 1 << 30, 3, bad, out).message, "");
}

}  // namespace
}  // namespace wick::cortex_m::log_softmax_int16_test
