#include "backends/cortex_m/kernels/log_softmax/log_softmax_test_support.h"

namespace wick::cortex_m::log_softmax_test {
namespace {

constexpr char kName[] = "wick_cortex_m::log_softmax.out";

struct Case {
  int32_t rows = 1, columns = 1;
  std::vector<int64_t> x = {};
  int64_t multiplier = 1 << 30, shift = 15;  // 2^14: steps of 2^-6
  OutputParameters to = {1 << 30, -13, 0, -128, 127};

  Outcome run(std::vector<int64_t>* found) const {
    const TestTensor input = make_ints(DType::i8, {rows, columns}, x);
    TestTensor out = make_out(DType::i8, {rows, columns});
    const Outcome outcome = cortex_m::run(kName, {input, multiplier, shift, int64_t{to.offset}, int64_t{to.multiplier},
                                                  int64_t{to.shift}, int64_t{to.min}, int64_t{to.max}, out});
    *found = ints(out);
    return outcome;
  }
};

TEST(CortexMLogSoftmax, IsItsEquation) {
  Random random(51);
  for (int trial = 0; trial < 2000; ++trial) {
    Case c;
    c.rows = static_cast<int32_t>(random.in(1, 3));
    c.columns = static_cast<int32_t>(random.one_in(10) ? random.in(1, 2000) : random.in(1, 30));
    c.x = random_int8(random, int64_t{c.rows} * c.columns);
    c.multiplier = random.in(1 << 30, INT32_MAX);
    c.shift = random.in(5, 22);
    c.to.multiplier = static_cast<int32_t>(random.in(1 << 30, INT32_MAX));
    c.to.shift = static_cast<int32_t>(random.in(-20, -10));
    c.to.offset = static_cast<int32_t>(random.in(-128, 127));
    if (random.one_in(3)) c.to.min = static_cast<int32_t>(random.in(-128, 0));
    std::vector<int64_t> found;
    ASSERT_EQ(c.run(&found).message, "");
    ASSERT_TRUE(is_log_softmax(c.x, c.columns, c.multiplier, c.shift, c.to, 3, std::ldexp(1, -9), found)) << trial;
  }
}

// ln 1/4 = -1.386 for four equal elements: 2^6 of them.
TEST(CortexMLogSoftmax, ARowByHand) {
  const Case c{.columns = 4, .x = {5, 5, 5, 5}};
  std::vector<int64_t> found;
  ASSERT_EQ(c.run(&found).message, "");
  EXPECT_EQ(found, std::vector<int64_t>(4, -89));
}

TEST(CortexMLogSoftmax, ChecksItsArguments) {
  const Case good{.columns = 2, .x = {1, 2}};
  std::vector<int64_t> found;
  EXPECT_EQ(good.run(&found).message, "");
  Case c = good;
  c.shift = 22;
  EXPECT_EQ(c.run(&found).message, "");
  c.shift = 23;
  EXPECT_NE(c.run(&found).error, Error::Ok);
  c = good;
  c.multiplier = -1;
  EXPECT_NE(c.run(&found).error, Error::Ok);
  c = good;
  c.to.offset = 128;
  EXPECT_NE(c.run(&found).error, Error::Ok);
  c = good;
  c.to.min = 5, c.to.max = 4;
  EXPECT_NE(c.run(&found).error, Error::Ok);
}

}  // namespace
}  // namespace wick::cortex_m::log_softmax_test
