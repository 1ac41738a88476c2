#include "backends/cortex_m/kernels/int16_test_support.h"

namespace wick::cortex_m::linear_int16_test {
namespace {

constexpr char kName[] = "wick_cortex_m::linear_int16.out";

TEST(CortexMLinearInt16, IsItsEquation) {
  Random random(41);
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(i);
    const auto rows = static_cast<int32_t>(random.in(1, 4)), outputs = static_cast<int32_t>(random.in(1, 20));
    const auto inputs = static_cast<int32_t>(random.one_in(20) ? 0 : random.one_in(40) ? 600 : random.in(1, 70));
    const std::vector<int64_t> x = random_int16(random, int64_t{rows} * inputs),
                               w = random_int8(random, int64_t{outputs} * inputs);
    const Int16Output output(random, outputs, inputs);
    std::vector<double> expected;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t n = 0; n < outputs; ++n) {
        int64_t sum = 0;
        for (int64_t k = 0; k < inputs; ++k) sum += x[row * inputs + k] * w[n * inputs + k];
        expected.push_back(output(sum, n));
      }
    }
    const TestTensor bias = output.bias_tensor();
    TestTensor out = make_out(DType::i16, {rows, outputs});
    ASSERT_TRUE(runs(kName, {make_ints(DType::i16, {rows, inputs}, x), make_ints(DType::i8, {outputs, inputs}, w),
                             output.bias.empty() ? Arg(nullptr) : Arg(bias), Int16Output::row(output.multipliers),
                             Int16Output::row(output.shifts), output.min, output.max, out}));
    ASSERT_TRUE(equals(out, expected));
  }
}

// 2^15 * 128 * 600 has 32 bits: with an int64 bias nothing wraps.
TEST(CortexMLinearInt16, ABiasOfInt64KeepsLongSums) {
  const TestTensor x = make_ints(DType::i16, {1, 600}, std::vector<int64_t>(600, -32768)),
                   w = make_ints(DType::i8, {1, 600}, std::vector<int64_t>(600, -128));
  const TestTensor multiplier = make(DType::i32, {1}, {1 << 30}), shift = make(DType::i32, {1}, {-17});
  TestTensor out = make_out(DType::i16, {1, 1});
  ASSERT_TRUE(runs(kName, {x, w, make_ints(DType::i64, {1}, {0}), multiplier, shift, -32768, 32767, out}));
  EXPECT_TRUE(equals(out, {9600}));  // 600 * 2^22 / 2^18
  ASSERT_TRUE(runs(kName, {x, w, nullptr, multiplier, shift, -32768, 32767, out}));
  EXPECT_TRUE(equals(out, {9600 - 16384}));
}

class CortexMLinearInt16Checks : public ::testing::Test {
 protected:
  TestTensor x = make(DType::i16, {2, 3}, {1}), w = make(DType::i8, {4, 3}, {1}), bias = make(DType::i32, {4}, {1});
  TestTensor multipliers = make(DType::i32, {4}, {1 << 30}), shifts = make(DType::i32, {4}, {0});
  TestTensor out = make_out(DType::i16, {2, 4});
  int64_t min = -32768, max = 32767;

  std::string message() { return run(kName, {x, w, bias, multipliers, shifts, min, max, out}).message; }
  template <typename T>
  void expect_refused(T& place, T other, const char* part) {
    std::swap(place, other);
    EXPECT_NE(message().find(part), std::string::npos) << part << ": " << message();
    std::swap(place, other);
    EXPECT_EQ(message(), "");
  }
};

TEST_F(CortexMLinearInt16Checks, Tensors) {
  expect_refused(x, make(DType::i8, {2, 3}, {1}), "input is not int16");
  expect_refused(out, make_out(DType::i8, {2, 4}), "output is not int16");
  expect_refused(w, make(DType::i16, {4, 3}, {1}), "weights are not int8");
  expect_refused(w, make(DType::i8, {12}, {1}), "rank 2");
  expect_refused(w, make(DType::i8, {4, 3}, {1}, {1, 0}), "contiguous");
  expect_refused(x, make(DType::i16, {2, 2}, {1}), "[.., K]");
  expect_refused(x, make(DType::i16, {1, 3}, {1}), "cannot have the input's sizes");
  expect_refused(out, make_out(DType::i16, {2, 3}), "[.., K]");
  expect_refused(bias, make(DType::i16, {4}, {1}), "bias is not int32 or int64");
  expect_refused(bias, make(DType::i64, {3}, {1}), "bias is not contiguous with one element");
  for (TestTensor* row : {&multipliers, &shifts}) {
    expect_refused(*row, make(DType::i32, {5}, {1}), "one element per channel");
    expect_refused(*row, make(DType::i32, {1}, {1}), "one element per channel");
    expect_refused(*row, make(DType::i64, {4}, {1}), "one element per channel");
  }
  expect_refused(multipliers, make(DType::i32, {4}, {1, 1, 1, -2147483648.0}), "multiplier");
}

TEST_F(CortexMLinearInt16Checks, Numbers) {
  for (const int64_t bad : {-32769, 32768}) {
    expect_refused(min, bad, "activation_min");
    expect_refused(max, bad, "activation_max");
  }
  max = 5;
  expect_refused(min, int64_t{6}, "activation_min is greater");
  min = 5;
  EXPECT_EQ(message(), "");
  for (const double fits : {-31.0, 30.0}) {
    shifts = make(DType::i32, {4}, {fits});
    EXPECT_EQ(message(), "");
  }
  for (const double bad : {-32.0, 31.0}) expect_refused(shifts, make(DType::i32, {4}, {bad}), "shift");
  bias = make(DType::i64, {4}, {1});
  shifts = make(DType::i32, {4}, {14});
  EXPECT_EQ(message(), "");
  expect_refused(shifts, make(DType::i32, {4}, {15}), "greater than 14");
}

}  // namespace
}  // namespace wick::cortex_m::linear_int16_test
