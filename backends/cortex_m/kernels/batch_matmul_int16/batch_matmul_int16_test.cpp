#include "backends/cortex_m/kernels/int16_test_support.h"

namespace wick::cortex_m::batch_matmul_int16_test {
namespace {

constexpr char kName[] = "wick_cortex_m::batch_matmul_int16.out";

TEST(CortexMBatchMatmulInt16, IsItsEquation) {
  Random random(71);
  for (int trial = 0; trial < 1500; ++trial) {
    const auto batch = static_cast<int32_t>(random.in(1, 3)), rows = static_cast<int32_t>(random.in(1, 6)),
               columns = static_cast<int32_t>(random.in(1, 6)), inner = static_cast<int32_t>(random.in(0, 40));
    const std::vector<int64_t> a = random_int16(random, int64_t{batch} * rows * inner),
                               b = random_int16(random, int64_t{batch} * columns * inner);
    Int16Output to(random, 1, inner);
    to.wide = true;
    to.bias = {0};
    to.shifts[0] = std::min(to.shifts[0] - 8, 14);
    if (to.shifts[0] < -31) to.shifts[0] = -31;
    TestTensor out = make_out(DType::i16, {batch, rows, columns});
    ASSERT_TRUE(
        runs(kName, {make_ints(DType::i16, {batch, rows, inner}, a), make_ints(DType::i16, {batch, columns, inner}, b),
                     int64_t{to.multipliers[0]}, int64_t{to.shifts[0]}, to.min, to.max, out}));
    const std::vector<int64_t> found = ints(out);
    for (size_t i = 0; i < found.size(); ++i) {
      const auto row = static_cast<int64_t>(i) / columns, column = static_cast<int64_t>(i) % columns;
      int64_t sum = 0;
      for (int64_t k = 0; k < inner; ++k)
        sum += a[static_cast<size_t>(row * inner + k)] *
               b[static_cast<size_t>((row / rows * columns + column) * inner + k)];
      ASSERT_EQ(static_cast<double>(found[i]), to(sum, 0)) << trial;
    }
  }
}

TEST(CortexMBatchMatmulInt16, ChecksItsArguments) {
  const TestTensor a = make_ints(DType::i16, {1, 2, 3}, {1, 2, 3, 4, 5, 6}),
                   bytes = make_ints(DType::i8, {1, 2, 3}, {1});
  const TestTensor b = make_ints(DType::i16, {1, 1, 3}, {1, 2, 3}), two = make_ints(DType::i16, {2, 1, 3}, {1}),
                   short_b = make_ints(DType::i16, {1, 1, 2}, {1, 2}), flat = make_ints(DType::i16, {1, 3}, {1, 2, 3});
  TestTensor out = make_out(DType::i16, {1, 2, 1}), other = make_out(DType::i16, {1, 1, 2});
  const auto call = [&](const TestTensor& left, const TestTensor& right, int64_t multiplier, int64_t shift, int64_t min,
                        TestTensor& y) {
    return static_cast<bool>(runs(kName, {left, right, multiplier, shift, min, 32767, y}));
  };
  EXPECT_TRUE(call(a, b, 1 << 30, -10, -32768, out));
  EXPECT_TRUE(call(a, b, 1 << 30, 14, -32768, out));
  EXPECT_FALSE(call(a, b, 1 << 30, 15, -32768, out));
  EXPECT_FALSE(call(a, b, INT32_MIN, -10, -32768, out));
  EXPECT_FALSE(call(a, b, 1 << 30, -10, -32769, out));
  EXPECT_FALSE(call(a, two, 1 << 30, -10, -32768, out));
  EXPECT_FALSE(call(a, short_b, 1 << 30, -10, -32768, out));
  EXPECT_FALSE(call(a, flat, 1 << 30, -10, -32768, out));
  EXPECT_FALSE(call(bytes, b, 1 << 30, -10, -32768, out));
  EXPECT_FALSE(call(a, b, 1 << 30, -10, -32768, other));
}

}  // namespace
}  // namespace wick::cortex_m::batch_matmul_int16_test
