#include "backends/cortex_m/kernels/int4_test_support.h"

namespace wick::cortex_m::linear_int4_test {
namespace {

constexpr char kName[] = "wick_cortex_m::linear_int4.out";

TEST(CortexMLinearInt4, IsItsEquationWithBiasAndWithKernelSum) {
  Random random(31);
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(i);
    const auto rows = static_cast<int32_t>(random.in(1, 4)), outputs = static_cast<int32_t>(random.in(1, 20));
    const auto inputs = static_cast<int32_t>(random.one_in(20) ? 0 : random.in(1, 70));
    const std::vector<int64_t> x = random_int8(random, int64_t{rows} * inputs);
    const std::vector<int64_t> w = random_int4(random, int64_t{outputs} * inputs);
    const std::vector<int64_t> bias = random_bias(random, outputs);
    const int64_t input_offset = random.in(-127, 128), filter_offset = random.one_in(3) ? random.in(-127, 128) : 0;
    const bool one_scale = random.one_in(2), with_bias = random.one_in(2), with_sum = random.one_in(2);
    const OutputParameters shared = random_output(random, inputs);
    std::vector<OutputParameters> scales(static_cast<size_t>(outputs), shared);
    std::vector<int64_t> multipliers, shifts, sums;
    std::vector<double> expected;
    for (OutputParameters& scale : scales) {
      if (!one_scale) randomize_scale(random, inputs, &scale);
      if (one_scale && !multipliers.empty()) continue;
      multipliers.push_back(scale.multiplier);
      shifts.push_back(scale.shift);
    }
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t n = 0; n < outputs; ++n) {
        int64_t total = with_bias ? bias[n] : 0, sum = total;
        for (int64_t k = 0; k < inputs; ++k) {
          total += (x[row * inputs + k] + input_offset) * (w[n * inputs + k] + filter_offset);
          sum += input_offset * (w[n * inputs + k] + filter_offset);
        }
        if (row == 0) sums.push_back(static_cast<int32_t>(sum));
        expected.push_back(scales[n](total));
      }
    }
    const auto scale_count = static_cast<int32_t>(multipliers.size());
    const TestTensor bias_tensor = make_ints(DType::i32, {outputs}, bias),
                     sum_tensor = make_ints(DType::i32, {1, outputs}, sums);
    TestTensor out = make_out(DType::i8, {rows, outputs});
    ASSERT_TRUE(runs(
        kName, {make_ints(DType::i8, {rows, inputs}, x),
                make_ints(DType::u8, {outputs, (inputs + 7) / 8 * 4}, packed_int4(random, w, inputs)),
                with_bias && !with_sum ? Arg(bias_tensor) : Arg(nullptr), with_sum ? Arg(sum_tensor) : Arg(nullptr),
                input_offset, filter_offset, shared.offset, make_ints(DType::i32, {scale_count}, multipliers),
                make_ints(DType::i32, {scale_count}, shifts), shared.min, shared.max, out}));
    ASSERT_TRUE(equals(out, expected));
  }
}

TEST(CortexMLinearInt4, ChecksItsArguments) {
  const TestTensor x = make(DType::i8, {2, 9}, {1}), w = make(DType::u8, {3, 8}, {1}), one = make(DType::i32, {1}, {1}),
                   three = make(DType::i32, {3}, {1});
  TestTensor out = make_out(DType::i8, {2, 3});
  const auto message = [&](const TestTensor& from, const TestTensor& weights, const TestTensor& multipliers,
                           const TestTensor& shifts) {
    return run(kName, {from, weights, nullptr, nullptr, 0, 0, 0, multipliers, shifts, -128, 127, out}).message;
  };
  EXPECT_EQ(message(x, w, one, one), "");
  EXPECT_EQ(message(x, w, three, three), "");
  EXPECT_EQ(message(make(DType::i8, {2, 16}, {1}), w, one, one), "");
  for (const int32_t inputs : {8, 17})
    EXPECT_NE(message(make(DType::i8, {2, inputs}, {1}), w, one, one).find("4 ceil(K / 8)"), std::string::npos);
  EXPECT_NE(message(x, make(DType::i8, {3, 8}, {1}), one, one).find("packed weights are not uint8"), std::string::npos);
  EXPECT_NE(message(x, make(DType::u8, {3, 9}, {1}), one, one).find("4 ceil(K / 8)"), std::string::npos);
  EXPECT_NE(message(x, make(DType::u8, {3, 8}, {1}, {1, 0}), one, one).find("contiguous"), std::string::npos);
  EXPECT_NE(message(x, w, three, one).find("one element per output"), std::string::npos);
  EXPECT_NE(message(x, w, one, make(DType::i32, {2}, {1})).find("one element per output"), std::string::npos);
  EXPECT_NE(message(x, w, make(DType::i64, {1}, {1}), one).find("int32"), std::string::npos);
  EXPECT_NE(message(x, w, one, make(DType::i32, {1}, {31})).find("shift"), std::string::npos);
  EXPECT_NE(message(x, w, one, make(DType::i32, {1}, {-32})).find("shift"), std::string::npos);
  EXPECT_NE(message(x, w, make(DType::i32, {1}, {-2147483648.0}), one).find("multiplier"), std::string::npos);
}

}  // namespace
}  // namespace wick::cortex_m::linear_int4_test
