#include "backends/cortex_m/kernels/convolution_test_support.h"

namespace wick::cortex_m::conv2d_test {
namespace {

constexpr char kName[] = "cortex_m::quantized_conv2d.out";

/// weights [O, kH, kW, I]
std::vector<double> expected(const ConvolutionCase& c, int64_t inputs, const std::vector<int64_t>& w) {
  const int64_t per_group = c.outputs / (c.channels / inputs);
  std::vector<double> y;
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t o = 0; o < c.outputs; ++o) {
      for (int64_t p = 0; p < c.positions(0) * c.positions(1); ++p) {
        const int64_t top = p / c.positions(1) * c.stride[0] - c.padding[0],
                      left = p % c.positions(1) * c.stride[1] - c.padding[1];
        int64_t sum = 0;
        for (int64_t k = 0; k < c.kernel[0] * c.kernel[1] * inputs; ++k) {
          const int64_t i = k % inputs, kx = k / inputs % c.kernel[1], ky = k / inputs / c.kernel[1];
          sum += w[o * c.kernel[0] * c.kernel[1] * inputs + k] *
                 c.at(n, o / per_group * inputs + i, top + ky * c.dilation[0], left + kx * c.dilation[1]);
        }
        y.push_back(c.finish(sum, o));
      }
    }
  }
  return y;
}

TEST(CortexMConv2d, IsItsEquation) {
  Random random(12);
  int ran = 0;
  while (ran < 2000) {
    ConvolutionCase c = random_window(random);
    const int64_t groups = random.one_in(3) ? random.in(1, 3) : 1, inputs = random.in(1, 9);
    c.channels = groups * inputs;
    c.outputs = groups * random.in(1, 5);
    const int64_t terms = c.kernel[0] * c.kernel[1] * inputs;
    c.randomize(random, terms);
    const std::vector<int64_t> w = random_int8(random, c.outputs * terms);
    if (c.positions(0) * c.positions(1) == 0) continue;
    ++ran;
    const TestTensor weights = make_ints(DType::i8,
                                         {static_cast<int32_t>(c.outputs), static_cast<int32_t>(c.kernel[0]),
                                          static_cast<int32_t>(c.kernel[1]), static_cast<int32_t>(inputs)},
                                         w);
    const TestTensor bias = c.bias_tensor(),
                     scratch = make_out(DType::u8, {static_cast<int32_t>(4 * ((terms + 3) / 4 * 4))});
    TestTensor out = c.output(c.positions(0), c.positions(1));
    ASSERT_TRUE(runs(kName, {c.input(), weights, c.bias.empty() ? Arg(nullptr) : Arg(bias), c.pair(c.stride),
                             c.pair(c.padding), c.pair(c.dilation), c.input_offset, c.stages[0].offset, c.multipliers(),
                             c.shifts(), c.stages[0].min, c.stages[0].max, scratch, out}));
    ASSERT_TRUE(equals(out, expected(c, inputs, w))) << ran;
  }
}

// With different padding at both ends, it is the convolution of the input with these rows and columns added.
TEST(CortexMConv2d, PaddingOfEachEnd) {
  Random random(77);
  const std::vector<uint8_t> order{0, 2, 3, 1};
  for (int trial = 0; trial < 300; ++trial) {
    const bool depthwise = random.one_in(2);
    const auto small = [&] { return static_cast<int32_t>(random.in(1, 5)); };
    const int32_t channels = small(), outputs = depthwise ? channels : small(), kernel = small(), h = 4 + small(),
                  w = 4 + small();
    const int64_t offset = random.in(-127, 128), stride = random.in(1, 3);
    std::vector<int64_t> pads;
    for (int i = 0; i < 4; ++i) pads.push_back(random.in(0, 4));
    const auto wide_h = static_cast<int32_t>(h + pads[0] + pads[2]),
               wide_w = static_cast<int32_t>(w + pads[1] + pads[3]);
    if (wide_h < kernel || wide_w < kernel) continue;
    const std::vector<int64_t> x = random_int8(random, int64_t{channels} * h * w);
    std::vector<int64_t> padded;
    for (int32_t c = 0; c < channels; ++c) {
      for (int64_t y = -pads[0]; y < h + pads[2]; ++y) {
        for (int64_t at = -pads[1]; at < w + pads[3]; ++at)
          padded.push_back(y < 0 || y >= h || at < 0 || at >= w ? std::clamp<int64_t>(-offset, -128, 127)
                                                                : x[static_cast<size_t>((c * h + y) * w + at)]);
      }
    }
    const std::vector<int32_t> filter = depthwise ? std::vector<int32_t>{1, kernel, kernel, outputs}
                                                  : std::vector<int32_t>{outputs, kernel, kernel, channels};
    const TestTensor weights = make_ints(DType::i8, filter, random_int8(random, product(filter))),
                     ones = make(DType::i32, {outputs}, {1 << 30}), shifts = make(DType::i32, {outputs}, {-8});
    const auto rows = static_cast<int32_t>((wide_h - kernel) / stride + 1),
               columns = static_cast<int32_t>((wide_w - kernel) / stride + 1);
    const auto computed = [&](const char* name, const TestTensor& input, std::vector<int64_t> padding) {
      TestTensor scratch = make_out(DType::u8, {4 * (kernel * kernel * channels + 16)}),
                 out = make_out(DType::i8, {1, outputs, rows, columns}, order);
      const std::vector<int64_t> strides{stride, stride}, one{1, 1};
      std::vector<Arg> args = {input, weights, Arg(nullptr), strides, padding, one};
      if (depthwise) args.push_back(int64_t{1});
      for (const Arg& each : {Arg(offset), Arg(int64_t{3}), Arg(ones), Arg(shifts), Arg(int64_t{-128}),
                              Arg(int64_t{127}), Arg::scratch(scratch), Arg(out)})
        args.push_back(each);
      EXPECT_EQ(run(name, args).message, "");
      return ints(out);
    };
    const auto wanted =
        computed(depthwise ? "cortex_m::quantized_depthwise_conv2d.out" : "cortex_m::quantized_conv2d.out",
                 make_ints_in(DType::i8, {1, channels, wide_h, wide_w}, padded, order), {0, 0});
    EXPECT_EQ(computed(depthwise ? "wick_cortex_m::depthwise_conv2d.out" : "wick_cortex_m::conv2d.out",
                       make_ints_in(DType::i8, {1, channels, h, w}, x, order), pads),
              wanted)
        << trial;
  }
}

class CortexMConv2dChecks : public ::testing::Test {
 protected:
  const std::vector<uint8_t> order{0, 2, 3, 1};
  TestTensor x = make(DType::i8, {1, 4, 5, 6}, {1}, order), w = make(DType::i8, {6, 3, 2, 2}, {1});
  TestTensor bias = make(DType::i32, {6}, {1}), multipliers = make(DType::i32, {6}, {1 << 30}),
             shifts = make(DType::i32, {6}, {-3});
  TestTensor scratch = make_out(DType::u8, {48}), out = make_out(DType::i8, {1, 6, 3, 5}, order);
  std::vector<int64_t> stride{1, 1}, padding{0, 0}, dilation{1, 1};
  int64_t input_offset = 0, output_offset = 0, min = -128, max = 127;

  Outcome call_it() {
    return run(kName, {x, w, bias, stride, padding, dilation, input_offset, output_offset, multipliers, shifts, min,
                       max, scratch, out});
  }
  template <typename T>
  void expect_refused(T& place, T other, const char* part) {
    ASSERT_EQ(call_it().error, Error::Ok) << call_it().message;
    std::swap(place, other);
    EXPECT_NE(call_it().message.find(part), std::string::npos) << part << ": " << call_it().message;
    std::swap(place, other);
  }
};

TEST_F(CortexMConv2dChecks, Tensors) {
  expect_refused(x, make(DType::u8, {1, 4, 5, 6}, {1}, order), "input is not int8");
  expect_refused(x, make(DType::i8, {1, 4, 5, 6}, {1}), "channels-last");
  expect_refused(x, make(DType::i8, {4, 5, 6}, {1}), "4 dimensions");
  expect_refused(x, make(DType::i8, {2, 4, 5, 6}, {1}, order), "batch");
  expect_refused(x, make(DType::i8, {1, 3, 5, 6}, {1}, order), "wanted weights");
  expect_refused(out, make_out(DType::i8, {1, 6, 3, 5}), "channels-last");
  expect_refused(out, make_out(DType::i16, {1, 6, 3, 5}, order), "output is not int8");
  expect_refused(out, make_out(DType::i8, {1, 6, 4, 5}, order), "height and width");
  expect_refused(out, make_out(DType::i8, {1, 6, 3, 4}, order), "height and width");
  expect_refused(out, make_out(DType::i8, {1, 5, 3, 5}, order), "wanted weights");
  expect_refused(w, make(DType::i16, {6, 3, 2, 2}, {1}), "weights are not int8");
  expect_refused(w, make(DType::i8, {6, 3, 2, 2}, {1}, order), "weights are not contiguous");
  expect_refused(w, make(DType::i8, {6, 0, 2, 2}, {}), "weights are empty");
  expect_refused(w, make(DType::i8, {6, 3, 2, 5}, {1}), "wanted weights");
  expect_refused(scratch, make_out(DType::u8, {47}), "scratch");
  for (TestTensor* row : {&bias, &multipliers, &shifts}) {
    expect_refused(*row, make(DType::i32, {5}, {1}), "one element per channel");
    expect_refused(*row, make(DType::i32, {7}, {1}), "one element per channel");
    expect_refused(*row, make(DType::i64, {6}, {1}), "one element per channel");
  }
  expect_refused(multipliers, make(DType::i32, {6}, {1, 1, 1, 1, 1, -2147483648.0}), "multiplier");
  expect_refused(shifts, make(DType::i32, {6}, {0, 0, 31, 0, 0, 0}), "shift");
  expect_refused(shifts, make(DType::i32, {6}, {0, 0, -32, 0, 0, 0}), "shift");
}

TEST_F(CortexMConv2dChecks, NumbersAndLists) {
  for (const int64_t bad : {-128, 129}) expect_refused(input_offset, bad, "offset");
  for (const int64_t bad : {-129, 128}) expect_refused(output_offset, bad, "zero point");
  for (const int64_t bad : {-129, 128}) expect_refused(min, bad, "activation_min");
  for (const int64_t bad : {-129, 128}) expect_refused(max, bad, "activation_max");
  using List = std::vector<int64_t>;
  for (const List& bad : {List{}, List{1}, List{1, 1, 1}, List{0, 1}, List{1, int64_t{1} << 31}}) {
    expect_refused(stride, bad, "stride");
    expect_refused(dilation, bad, "dilation");
  }
  for (const List& bad : {List{}, List{0}, List{0, 0, 0}, List{-1, 0}, List{0, int64_t{1} << 31}, List{0, 0, 0, -1},
                          List{0, 0, int64_t{1} << 31, 0}, List{0, 0, 0, 0, 0}})
    expect_refused(padding, bad, "padding");
  expect_refused(padding, List{INT32_MAX, INT32_MAX}, "height and width");
  expect_refused(padding, List{0, 0, INT32_MAX, INT32_MAX}, "height and width");
  expect_refused(padding, List{0, 0, 1, 0}, "height and width");
  expect_refused(dilation, List{INT32_MAX, INT32_MAX}, "height and width");
  expect_refused(stride, List{INT32_MAX, 1}, "height and width");
}

}  // namespace
}  // namespace wick::cortex_m::conv2d_test
