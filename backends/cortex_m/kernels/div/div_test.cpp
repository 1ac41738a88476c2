#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m::div_test {
namespace {

constexpr char kName[] = "cortex_m::quantized_div.out";

void check(Random& random, DType dtype) {
  const int64_t low = dtype == DType::i8 ? -128 : -32768, high = dtype == DType::i8 ? 127 : 32767;
  const int64_t zero_a = random.in(low, high), zero_b = random.in(low, high), zero_out = random.in(low, high);
  const float scale = static_cast<float>(std::exp2(0.1 * static_cast<double>(random.in(-100, 150))));
  std::vector<int64_t> a, b;
  std::vector<double> expected;
  for (int k = 0; k < 20; ++k) {
    a.push_back(random.in(low, high));
    b.push_back(random.one_in(5) ? zero_b : random.in(low, high));
    const float quotient =
        b.back() == zero_b ? 0.0f : static_cast<float>(a.back() - zero_a) / static_cast<float>(b.back() - zero_b);
    expected.push_back(std::clamp<double>(std::round(static_cast<double>(quotient * scale)) + zero_out, low, high));
  }
  const TestTensor x = make_ints(dtype, {4, 5}, a), y = make_ints(dtype, {4, 5}, b);
  TestTensor out = make_out(dtype, {4, 5});
  ASSERT_TRUE(runs(kName, {x, zero_a, y, zero_b, zero_out, double{scale}, out}));
  ASSERT_TRUE(equals(out, expected));
}

TEST(CortexMDiv, IsItsEquationForBothDtypes) {
  Random random(6);
  for (int i = 0; i < 2000; ++i) {
    check(random, i % 2 ? DType::i8 : DType::i16);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(CortexMDiv, RoundsHalvesAwayFromZeroAndSaturates) {
  const TestTensor a = make(DType::i8, {6}, {1, -1, 3, 5, 5, -5}), b = make(DType::i8, {6}, {2, 2, 2, 0, 1, 1});
  TestTensor out = make_out(DType::i8, {6});
  ASSERT_TRUE(runs(kName, {a, 0, b, 0, 0, 1.0, out}));
  EXPECT_TRUE(equals(out, {1, -1, 2, 0, 5, -5}));
  ASSERT_TRUE(runs(kName, {a, 0, b, 0, 100, 3e38, out}));
  EXPECT_TRUE(equals(out, {127, -128, 127, 100, 127, -128}));
}

TEST(CortexMDiv, ChecksItsArguments) {
  const TestTensor a = make(DType::i8, {2}, {1}), wide = make(DType::i16, {2}, {1}), more = make(DType::i8, {3}, {1});
  const TestTensor bytes = make(DType::u8, {2}, {1});
  TestTensor out = make_out(DType::i8, {2});
  EXPECT_TRUE(runs(kName, {a, -128, a, 127, 127, 0.0, out}));
  for (const int bad : {-129, 128}) {
    EXPECT_TRUE(refuses(kName, {a, bad, a, 0, 0, 1.0, out}, "zero point"));
    EXPECT_TRUE(refuses(kName, {a, 0, a, bad, 0, 1.0, out}, "zero point"));
    EXPECT_TRUE(refuses(kName, {a, 0, a, 0, bad, 1.0, out}, "zero point"));
  }
  for (const double bad : std::vector<double>{-1, INFINITY, NAN})
    EXPECT_TRUE(refuses(kName, {a, 0, a, 0, 0, bad, out}, "output_scale"));
  EXPECT_TRUE(refuses(kName, {a, 0, wide, 0, 0, 1.0, out}, "int8"));
  EXPECT_TRUE(refuses(kName, {bytes, 0, bytes, 0, 0, 1.0, out}, "int8"));
  EXPECT_TRUE(refuses(kName, {a, 0, more, 0, 0, 1.0, out}, "sizes"));
}

}  // namespace
}  // namespace wick::cortex_m::div_test
