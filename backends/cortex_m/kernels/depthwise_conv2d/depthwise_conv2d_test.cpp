#include "backends/cortex_m/kernels/convolution_test_support.h"

namespace wick::cortex_m::depthwise_conv2d_test {
namespace {

constexpr char kName[] = "cortex_m::quantized_depthwise_conv2d.out";

/// weights [1, kH, kW, O]
std::vector<double> expected(const ConvolutionCase& c, int64_t multiplier, const std::vector<int64_t>& w) {
  std::vector<double> y;
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t o = 0; o < c.outputs; ++o) {
      for (int64_t p = 0; p < c.positions(0) * c.positions(1); ++p) {
        const int64_t top = p / c.positions(1) * c.stride[0] - c.padding[0],
                      left = p % c.positions(1) * c.stride[1] - c.padding[1];
        int64_t sum = 0;
        for (int64_t k = 0; k < c.kernel[0] * c.kernel[1]; ++k)
          sum += w[k * c.outputs + o] *
                 c.at(n, o / multiplier, top + k / c.kernel[1] * c.dilation[0], left + k % c.kernel[1] * c.dilation[1]);
        y.push_back(c.finish(sum, o));
      }
    }
  }
  return y;
}

TEST(CortexMDepthwiseConv2d, IsItsEquation) {
  Random random(13);
  const TestTensor scratch = make_out(DType::u8, {0});
  int ran = 0;
  while (ran < 2000) {
    ConvolutionCase c = random_window(random);
    const int64_t multiplier = random.one_in(2) ? 1 : random.in(1, 4), taps = c.kernel[0] * c.kernel[1];
    c.outputs = c.channels * multiplier;
    c.randomize(random, taps);
    const std::vector<int64_t> w = random_int8(random, c.outputs * taps);
    if (c.positions(0) * c.positions(1) == 0) continue;
    ++ran;
    const TestTensor bias = c.bias_tensor();
    const TestTensor weights = make_ints(
        DType::i8,
        {1, static_cast<int32_t>(c.kernel[0]), static_cast<int32_t>(c.kernel[1]), static_cast<int32_t>(c.outputs)}, w);
    TestTensor out = c.output(c.positions(0), c.positions(1));
    ASSERT_TRUE(runs(kName, {c.input(), weights, c.bias.empty() ? Arg(nullptr) : Arg(bias), c.pair(c.stride),
                             c.pair(c.padding), c.pair(c.dilation), multiplier, c.input_offset, c.stages[0].offset,
                             c.multipliers(), c.shifts(), c.stages[0].min, c.stages[0].max, scratch, out}));
    ASSERT_TRUE(equals(out, expected(c, multiplier, w))) << ran;
  }
}

TEST(CortexMDepthwiseConv2d, ChecksItsArguments) {
  const std::vector<uint8_t> order{0, 2, 3, 1};
  const TestTensor x = make(DType::i8, {1, 3, 4, 4}, {1}, order), w = make(DType::i8, {1, 3, 3, 6}, {1});
  const TestTensor row = make(DType::i32, {6}, {1}), few = make(DType::i32, {3}, {1}),
                   scratch = make_out(DType::u8, {0});
  TestTensor out = make_out(DType::i8, {1, 6, 2, 2}, order), tall = make_out(DType::i8, {1, 6, 3, 2}, order);
  const std::vector<int64_t> one{1, 1}, zero{0, 0};
  const auto call_it = [&](const TestTensor& weights, int64_t multiplier, const TestTensor& shifts, TestTensor& to) {
    return run(kName, {x, weights, nullptr, one, zero, one, multiplier, 0, 0, row, shifts, -128, 127, scratch, to})
        .message;
  };
  EXPECT_EQ(call_it(w, 2, row, out), "");
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{1} << 31})
    EXPECT_NE(call_it(w, bad, row, out).find("depth_multiplier"), std::string::npos);
  for (const int64_t bad : {1, 3}) EXPECT_NE(call_it(w, bad, row, out).find("wanted weights"), std::string::npos);
  EXPECT_NE(call_it(make(DType::i8, {1, 3, 3, 3}, {1}), 2, row, out).find("wanted weights"), std::string::npos);
  EXPECT_NE(call_it(make(DType::i8, {2, 3, 3, 6}, {1}), 2, row, out).find("wanted weights"), std::string::npos);
  EXPECT_NE(call_it(w, 2, few, out).find("one element per channel"), std::string::npos);
  EXPECT_NE(call_it(w, 2, row, tall).find("height and width"), std::string::npos);
}

}  // namespace
}  // namespace wick::cortex_m::depthwise_conv2d_test
