#include "backends/cortex_m/kernels/convolution_test_support.h"
#include "backends/cortex_m/kernels/int16_test_support.h"

namespace wick::cortex_m::conv2d_int16_test {
namespace {

constexpr char kName[] = "wick_cortex_m::conv2d_int16.out", kDepthwise[] = "wick_cortex_m::depthwise_conv2d_int16.out";

TestTensor image(const ConvolutionCase& c) {
  return make_ints_in(DType::i16,
                      {static_cast<int32_t>(c.batch), static_cast<int32_t>(c.channels), static_cast<int32_t>(c.height),
                       static_cast<int32_t>(c.width)},
                      c.x, {0, 2, 3, 1});
}
TestTensor output(const ConvolutionCase& c) {
  return make_out(DType::i16,
                  {static_cast<int32_t>(c.batch), static_cast<int32_t>(c.outputs), static_cast<int32_t>(c.positions(0)),
                   static_cast<int32_t>(c.positions(1))},
                  {0, 2, 3, 1});
}
ConvolutionCase random_case(Random& random) {
  ConvolutionCase c = random_window(random);
  c.input_offset = 0;
  return c;
}

/// Calls product(tap, y, x of the input) for each tap of each output, in logical order.
template <typename Product>
std::vector<double> expected(const ConvolutionCase& c, const Int16Output& finish, const Product& product) {
  std::vector<double> y;
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t o = 0; o < c.outputs; ++o) {
      for (int64_t p = 0; p < c.positions(0) * c.positions(1); ++p) {
        const int64_t top = p / c.positions(1) * c.stride[0] - c.padding[0],
                      left = p % c.positions(1) * c.stride[1] - c.padding[1];
        int64_t sum = 0;
        for (int64_t tap = 0; tap < c.kernel[0] * c.kernel[1]; ++tap)
          sum += product(n, o, tap, top + tap / c.kernel[1] * c.dilation[0], left + tap % c.kernel[1] * c.dilation[1]);
        y.push_back(finish(sum, o));
      }
    }
  }
  return y;
}

TEST(CortexMConv2dInt16, IsItsEquation) {
  Random random(61);
  for (int ran = 0; ran < 1500;) {
    ConvolutionCase c = random_case(random);
    const int64_t groups = random.one_in(3) ? random.in(1, 3) : 1, inputs = random.in(1, 9);
    c.channels = groups * inputs;
    c.outputs = groups * random.in(1, 5);
    const int64_t taps = c.kernel[0] * c.kernel[1], per_group = c.outputs / groups;
    if (c.positions(0) * c.positions(1) == 0) continue;
    ++ran;
    c.x = random_int16(random, c.batch * c.channels * c.height * c.width);
    const std::vector<int64_t> w = random_int8(random, c.outputs * taps * inputs);
    const Int16Output finish(random, c.outputs, taps * inputs);
    const auto product = [&](int64_t n, int64_t o, int64_t tap, int64_t y, int64_t x) {
      int64_t sum = 0;
      for (int64_t i = 0; i < inputs; ++i)
        sum += w[(o * taps + tap) * inputs + i] * c.at(n, o / per_group * inputs + i, y, x);
      return sum;
    };
    const TestTensor bias = finish.bias_tensor(), scratch = make_out(DType::u8, {0});
    const TestTensor weights = make_ints(DType::i8,
                                         {static_cast<int32_t>(c.outputs), static_cast<int32_t>(c.kernel[0]),
                                          static_cast<int32_t>(c.kernel[1]), static_cast<int32_t>(inputs)},
                                         w);
    TestTensor out = output(c);
    ASSERT_TRUE(runs(kName, {image(c), weights, finish.bias.empty() ? Arg(nullptr) : Arg(bias), c.pair(c.stride),
                             c.pair(c.padding), c.pair(c.dilation), Int16Output::row(finish.multipliers),
                             Int16Output::row(finish.shifts), finish.min, finish.max, scratch, out}));
    ASSERT_TRUE(equals(out, expected(c, finish, product))) << ran;
  }
}

TEST(CortexMDepthwiseConv2dInt16, IsItsEquation) {
  Random random(62);
  for (int ran = 0; ran < 1500;) {
    ConvolutionCase c = random_case(random);
    const int64_t multiplier = random.one_in(2) ? 1 : random.in(1, 4);
    c.outputs = c.channels * multiplier;
    if (c.positions(0) * c.positions(1) == 0) continue;
    ++ran;
    c.x = random_int16(random, c.batch * c.channels * c.height * c.width);
    const std::vector<int64_t> w = random_int8(random, c.outputs * c.kernel[0] * c.kernel[1]);
    const Int16Output finish(random, c.outputs, c.kernel[0] * c.kernel[1]);
    const auto product = [&](int64_t n, int64_t o, int64_t tap, int64_t y, int64_t x) {
      return w[tap * c.outputs + o] * c.at(n, o / multiplier, y, x);
    };
    const TestTensor bias = finish.bias_tensor();
    const TestTensor weights = make_ints(
        DType::i8,
        {1, static_cast<int32_t>(c.kernel[0]), static_cast<int32_t>(c.kernel[1]), static_cast<int32_t>(c.outputs)}, w);
    TestTensor out = output(c);
    ASSERT_TRUE(
        runs(kDepthwise, {image(c), weights, finish.bias.empty() ? Arg(nullptr) : Arg(bias), c.pair(c.stride),
                          c.pair(c.padding), c.pair(c.dilation), multiplier, Int16Output::row(finish.multipliers),
                          Int16Output::row(finish.shifts), finish.min, finish.max, out}));
    ASSERT_TRUE(equals(out, expected(c, finish, product))) << ran;
  }
}

class CortexMConv2dInt16Checks : public ::testing::Test {
 protected:
  const std::vector<uint8_t> order{0, 2, 3, 1};
  TestTensor x = make(DType::i16, {1, 4, 5, 6}, {1}, order), w = make(DType::i8, {6, 3, 2, 2}, {1});
  TestTensor bias = make(DType::i32, {6}, {1}), row = make(DType::i32, {6}, {1}), scratch = make_out(DType::u8, {0});
  TestTensor out = make_out(DType::i16, {1, 6, 3, 5}, order);
  std::vector<int64_t> stride{1, 1}, padding{0, 0}, dilation{1, 1};

  std::string message() {
    return run(kName, {x, w, bias, stride, padding, dilation, row, row, -32768, 32767, scratch, out}).message;
  }
  template <typename T>
  void expect_refused(T& place, T other, const char* part) {
    ASSERT_EQ(message(), "");
    std::swap(place, other);
    EXPECT_NE(message().find(part), std::string::npos) << part << ": " << message();
    std::swap(place, other);
  }
};

TEST_F(CortexMConv2dInt16Checks, TensorsAndLists) {
  expect_refused(x, make(DType::i8, {1, 4, 5, 6}, {1}, order), "input is not int16");
  expect_refused(x, make(DType::i16, {1, 4, 5, 6}, {1}), "channels-last");
  expect_refused(x, make(DType::i16, {2, 4, 5, 6}, {1}, order), "batch");
  expect_refused(x, make(DType::i16, {1, 3, 5, 6}, {1}, order), "wanted weights");
  expect_refused(out, make_out(DType::i8, {1, 6, 3, 5}, order), "output is not int16");
  expect_refused(out, make_out(DType::i16, {1, 6, 4, 5}, order), "height and width");
  expect_refused(w, make(DType::i16, {6, 3, 2, 2}, {1}), "weights are not int8");
  expect_refused(w, make(DType::i8, {6, 3, 2, 2}, {1}, order), "weights are not contiguous");
  expect_refused(w, make(DType::i8, {6, 0, 2, 2}, {}), "weights are empty");
  expect_refused(bias, make(DType::i32, {5}, {1}), "bias");
  expect_refused(row, make(DType::i32, {5}, {1}), "one element per channel");
  using List = std::vector<int64_t>;
  for (const List& bad : {List{1}, List{0, 1}, List{1, int64_t{1} << 31}}) expect_refused(stride, bad, "stride");
  for (const List& bad : {List{-1, 0}, List{0, 0, 0}, List{0, 0, 0, 0}}) expect_refused(padding, bad, "padding");
  expect_refused(dilation, List{INT32_MAX, INT32_MAX}, "height and width");
}

TEST(CortexMDepthwiseConv2dInt16, ChecksItsArguments) {
  const std::vector<uint8_t> order{0, 2, 3, 1};
  const TestTensor x = make(DType::i16, {1, 3, 4, 4}, {1}, order), w = make(DType::i8, {1, 3, 3, 6}, {1}),
                   row = make(DType::i32, {6}, {1});
  TestTensor out = make_out(DType::i16, {1, 6, 2, 2}, order);
  const auto message = [&](const TestTensor& weights, int64_t multiplier) {
    return run(kDepthwise, {x, weights, nullptr, std::vector<int64_t>{1, 1}, std::vector<int64_t>{0, 0},
                            std::vector<int64_t>{1, 1}, multiplier, row, row, -32768, 32767, out})
        .message;
  };
  EXPECT_EQ(message(w, 2), "");
  for (const int64_t bad : {int64_t{0}, int64_t{1} << 31})
    EXPECT_NE(message(w, bad).find("depth_multiplier"), std::string::npos);
  for (const int64_t bad : {1, 3}) EXPECT_NE(message(w, bad).find("wanted weights"), std::string::npos);
  EXPECT_NE(message(make(DType::i8, {2, 3, 3, 6}, {1}), 2).find("wanted weights"), std::string::npos);
}

}  // namespace
}  // namespace wick::cortex_m::conv2d_int16_test
