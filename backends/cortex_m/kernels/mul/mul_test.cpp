#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m::mul_test {
namespace {

constexpr char kName[] = "cortex_m::quantized_mul.out";

TEST(CortexMMul, IsItsEquation) {
  Random random(5);
  for (int i = 0; i < 3000; ++i) {
    const int32_t channels = static_cast<int32_t>(random.in(1, 9)), rows = static_cast<int32_t>(random.in(1, 5));
    const std::vector<int32_t> sizes = {1, channels, rows, 2}, row = {1, channels, 1, 1};
    const bool narrow = random.one_in(3);
    const std::vector<int64_t> x = random_int8(random, product(sizes)),
                               y = random_int8(random, narrow ? channels : product(sizes));
    const int64_t zero_x = random.in(-128, 127),
                  zero_y = random.one_in(4) ? random.in(-32640, 32640) : random.in(-128, 127);
    const OutputParameters p = random_output(random, 1);
    OutputParameters whole = p;
    whole.min = -128;
    whole.max = 127;
    std::vector<double> expected;
    for (size_t k = 0; k < x.size(); ++k) {
      const size_t channel = k / static_cast<size_t>(rows * 2);
      expected.push_back(whole((x[k] - zero_x) * (y[narrow ? channel : k] - zero_y)));
    }
    const TestTensor a = make_ints_in(DType::i8, sizes, x, {0, 2, 3, 1}),
                     b = make_ints_in(DType::i8, narrow ? row : sizes, y, {0, 2, 3, 1});
    TestTensor out = make_out(DType::i8, sizes, {0, 2, 3, 1});
    ASSERT_TRUE(runs(kName, {a, zero_x, b, zero_y, p.offset, p.multiplier, p.shift, out}));
    ASSERT_TRUE(equals(out, expected)) << i;
    ASSERT_TRUE(runs(kName, {b, zero_y, a, zero_x, p.offset, p.multiplier, p.shift, out}));
    ASSERT_TRUE(equals(out, expected)) << i;
  }
}

TEST(CortexMMul, WicksOwnBroadcastsAsNumPyInAnyLayout) {
  Random random(15);
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(i);
    const auto [a, b] = random_broadcasting(random);
    const std::vector<int32_t> sizes = broadcast(a, b);
    const std::vector<int64_t> x = random_int8(random, product(a)), y = random_int8(random, product(b));
    const int64_t zero_x = random.in(-128, 127), zero_y = random.in(-32640, 32640);
    OutputParameters p = random_output(random, 1);
    p.min = -128;
    p.max = 127;
    std::vector<double> expected;
    for (size_t k = 0; k < static_cast<size_t>(product(sizes)); ++k)
      expected.push_back(p((x[operand_index(k, sizes, a)] - zero_x) * (y[operand_index(k, sizes, b)] - zero_y)));
    TestTensor out = make_out(DType::i8, sizes, random_order(random, sizes));
    ASSERT_TRUE(runs("wick_cortex_m::mul.out", {make_ints_in(DType::i8, a, x, random_order(random, a)), zero_x,
                                                make_ints_in(DType::i8, b, y, random_order(random, b)), zero_y,
                                                p.offset, p.multiplier, p.shift, out}));
    ASSERT_TRUE(equals(out, expected));
  }
}

TEST(CortexMMul, ChecksItsArguments) {
  const TestTensor a = make(DType::i8, {4}, {1}), b = make(DType::i8, {4}, {2}), wide = make(DType::i16, {4}, {2});
  TestTensor out = make_out(DType::i8, {4});
  for (const int fits : {-32640, 32640}) EXPECT_TRUE(runs(kName, {a, fits, b, fits, 0, 1, 0, out}));
  for (const int does_not : {-32641, 32641}) {
    EXPECT_TRUE(refuses(kName, {a, does_not, b, 0, 0, 1, 0, out}, "16 bits"));
    EXPECT_TRUE(refuses(kName, {a, 0, b, does_not, 0, 1, 0, out}, "16 bits"));
  }
  EXPECT_TRUE(refuses(kName, {a, 0, b, 0, 128, 1, 0, out}, "zero point"));
  EXPECT_TRUE(refuses(kName, {a, 0, b, 0, 0, int64_t{INT32_MIN}, 0, out}, "multiplier"));
  EXPECT_TRUE(refuses(kName, {a, 0, b, 0, 0, 1, 31, out}, "shift"));
  EXPECT_TRUE(refuses(kName, {a, 0, wide, 0, 0, 1, 0, out}, "not int8"));
}

}  // namespace
}  // namespace wick::cortex_m::mul_test
