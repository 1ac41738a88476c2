// Tests avg_pool2d, max_pool2d and sum_pool2d with the same cases.
#include "backends/cortex_m/kernels/convolution_test_support.h"

namespace wick::cortex_m::pooling_test {
namespace {

constexpr char kAverage[] = "cortex_m::quantized_avg_pool2d.out", kMax[] = "cortex_m::quantized_max_pool2d.out",
               kSum[] = "wick_cortex_m::sum_pool2d.out";

/// The number of positions as in PyTorch: with ceil mode, a last window begins on the input or in its leading padding.
int64_t positions(const ConvolutionCase& c, size_t axis, bool ceil_mode) {
  const int64_t size = axis == 0 ? c.height : c.width, room = size + 2 * c.padding[axis] - c.kernel[axis];
  if (room < 0) return 0;
  int64_t count = (room + (ceil_mode ? c.stride[axis] - 1 : 0)) / c.stride[axis] + 1;
  if ((count - 1) * c.stride[axis] >= size + c.padding[axis]) --count;
  return count;
}

/// fn(values under the window) for each position.
template <typename F>
std::vector<double> expected(const ConvolutionCase& c, int64_t rows, int64_t columns, const F& fn) {
  std::vector<double> y;
  for (int64_t plane = 0; plane < c.batch * c.channels; ++plane) {
    for (int64_t p = 0; p < rows * columns; ++p) {
      std::vector<int64_t> taps;
      for (int64_t k = 0; k < c.kernel[0] * c.kernel[1]; ++k) {
        const int64_t iy = p / columns * c.stride[0] - c.padding[0] + k / c.kernel[1];
        const int64_t ix = p % columns * c.stride[1] - c.padding[1] + k % c.kernel[1];
        if (iy >= 0 && iy < c.height && ix >= 0 && ix < c.width)
          taps.push_back(c.x[(plane * c.height + iy) * c.width + ix]);
      }
      y.push_back(fn(taps));
    }
  }
  return y;
}

TEST(CortexMPooling, IsItsEquation) {
  Random random(15);
  const TestTensor scratch = make_out(DType::u8, {0});
  int ran = 0;
  while (ran < 3000) {
    ConvolutionCase c = random_window(random);
    for (size_t axis = 0; axis < 2; ++axis) c.padding[axis] = random.in(0, c.kernel[axis] - 1);
    c.outputs = c.channels;
    c.x = random_int8(random, c.batch * c.channels * c.height * c.width);
    const bool ceil_mode = random.one_in(2);
    const int64_t rows = positions(c, 0, ceil_mode), columns = positions(c, 1, ceil_mode);
    if (rows * columns == 0) continue;
    ++ran;
    TestTensor out = c.output(rows, columns);
    ASSERT_TRUE(runs(kAverage, {c.input(), c.pair(c.kernel), c.pair(c.stride), c.pair(c.padding), ceil_mode, 3, 1, 2,
                                scratch, out}));
    ASSERT_TRUE(equals(out, expected(c, rows, columns,
                                     [](const std::vector<int64_t>& taps) {
                                       double sum = 0;
                                       for (const int64_t tap : taps) sum += static_cast<double>(tap);
                                       return std::round(sum / static_cast<double>(taps.size())) + 0.0;
                                     })))
        << ran;
    if (ceil_mode) continue;
    // ExecuTorch 1.4's and 1.3's arguments.
    const std::vector<uint8_t> floor_mode = out.bytes();
    out = c.output(rows, columns);
    ASSERT_TRUE(
        runs(kAverage, {c.input(), c.pair(c.kernel), c.pair(c.stride), c.pair(c.padding), 3, 1, 2, scratch, out}));
    ASSERT_EQ(out.bytes(), floor_mode) << ran;
    out = c.output(rows, columns);
    ASSERT_TRUE(runs(kAverage, {c.input(), c.pair(c.kernel), c.pair(c.stride), c.pair(c.padding), 3, 1, 2, out}));
    ASSERT_EQ(out.bytes(), floor_mode) << ran;
    const int64_t offset = random.in(-127, 128);
    OutputParameters to = random_output(random, c.kernel[0] * c.kernel[1]);
    ASSERT_TRUE(
        runs(kSum, {c.input(), c.pair(c.kernel), c.pair(c.stride), c.pair(c.padding), offset, int64_t{to.offset},
                    int64_t{to.multiplier}, int64_t{to.shift}, int64_t{to.min}, int64_t{to.max}, out}));
    ASSERT_TRUE(equals(out, expected(c, rows, columns,
                                     [&](const std::vector<int64_t>& taps) {
                                       int64_t sum = 0;
                                       for (const int64_t tap : taps) sum += tap + offset;
                                       return to(sum);
                                     })))
        << ran;
    const int64_t min = random.in(-128, 127), max = random.in(min, 127);
    ASSERT_TRUE(runs(kMax, {c.input(), c.pair(c.kernel), c.pair(c.stride), c.pair(c.padding), std::vector<int>{1, 1},
                            false, 5, 5, min, max, out}));
    ASSERT_TRUE(equals(out, expected(c, rows, columns,
                                     [&](const std::vector<int64_t>& taps) {
                                       return static_cast<double>(
                                           std::clamp(*std::max_element(taps.begin(), taps.end()), min, max));
                                     })))
        << ran;
  }
}

TEST(CortexMPooling, AveragesRoundHalvesAwayFromZero) {
  const std::vector<uint8_t> order{0, 2, 3, 1};
  const TestTensor x = make(DType::i8, {1, 1, 1, 8}, {1, 2, -1, -2, 0, 1, 0, -1}, order),
                   scratch = make_out(DType::u8, {0});
  TestTensor out = make_out(DType::i8, {1, 1, 1, 4}, order);
  ASSERT_TRUE(runs(kAverage, {x, std::vector<int>{1, 2}, std::vector<int>{1, 2}, std::vector<int>{0}, false, 0, 1, 0,
                              scratch, out}));
  EXPECT_TRUE(equals(out, {2, -2, 1, -1}));
}

class CortexMPoolingChecks : public ::testing::Test {
 protected:
  const std::vector<uint8_t> order{0, 2, 3, 1};
  TestTensor x = make(DType::i8, {1, 2, 5, 5}, {1}, order), out = make_out(DType::i8, {1, 2, 3, 3}, order);
  TestTensor scratch = make_out(DType::u8, {0});
  std::vector<int64_t> kernel{3, 3}, stride{2}, padding{1, 1}, dilation{1};
  bool ceil_mode = false;
  int64_t zero_in = 0, zero_out = 0, min = -128, max = 127;

  std::string average() {
    return run(kAverage, {x, kernel, stride, padding, ceil_mode, 0, 1, 0, scratch, out}).message;
  }
  std::string largest() {
    return run(kMax, {x, kernel, stride, padding, dilation, ceil_mode, zero_in, zero_out, min, max, out}).message;
  }
  template <typename T>
  void expect_refused(T& place, T other, const char* part, bool both = true) {
    ASSERT_EQ(average() + largest(), "");
    std::swap(place, other);
    if (both) EXPECT_NE(average().find(part), std::string::npos) << part << ": " << average();
    EXPECT_NE(largest().find(part), std::string::npos) << part << ": " << largest();
    std::swap(place, other);
  }
};

TEST_F(CortexMPoolingChecks, OfBoth) {
  using List = std::vector<int64_t>;
  expect_refused(x, make(DType::u8, {1, 2, 5, 5}, {1}, order), "not int8");
  expect_refused(x, make(DType::i8, {1, 2, 5, 5}, {1}), "channels-last");
  expect_refused(x, make(DType::i8, {1, 3, 5, 5}, {1}, order), "batch or channels");
  expect_refused(x, make(DType::i8, {2, 2, 5, 5}, {1}, order), "batch or channels");
  expect_refused(x, make(DType::i8, {1, 2, 0, 5}, {}, order), "padding");
  expect_refused(out, make_out(DType::i8, {1, 2, 3, 4}, order), "height and width");
  expect_refused(out, make_out(DType::i8, {1, 2, 2, 3}, order), "height and width");
  expect_refused(out, make_out(DType::i8, {2, 3, 3}), "4 dimensions");
  expect_refused(kernel, List{}, "kernel_size");
  expect_refused(kernel, List{0, 3}, "kernel_size");
  expect_refused(stride, List{0}, "stride");
  expect_refused(stride, List{1, 1, 1}, "stride");
  expect_refused(padding, List{-1}, "padding");
  expect_refused(padding, List{3}, "padding less than kernel_size");
  expect_refused(padding, List{2}, "height and width");
}

TEST_F(CortexMPoolingChecks, OfSums) {
  int64_t offset = 127, multiplier = 1 << 30, shift = 30;
  const auto sum = [&] {
    return run(kSum, {x, kernel, stride, padding, offset, zero_out, multiplier, shift, min, max, out}).message;
  };
  const auto expect = [&](int64_t& place, int64_t other, const char* part) {
    ASSERT_EQ(sum(), "");
    std::swap(place, other);
    EXPECT_NE(sum().find(part), std::string::npos) << part << ": " << sum();
    std::swap(place, other);
  };
  for (const int64_t fits : {-127, 128}) {
    offset = fits;
    EXPECT_EQ(sum(), "");
  }
  for (const int64_t beyond : {-128, 129}) expect(offset, beyond, "zero point");
  expect(zero_out, 128, "zero point");
  expect(multiplier, INT32_MIN, "multiplier");
  for (const int64_t beyond : {-32, 31}) expect(shift, beyond, "shift");
  expect(min, -129, "activation_min");
  expect(max, 128, "activation_max");
  stride = {3};
  EXPECT_NE(sum().find("height and width"), std::string::npos) << sum();
}

TEST_F(CortexMPoolingChecks, OfMaxPooling) {
  using List = std::vector<int64_t>;
  expect_refused(dilation, List{2}, "dilation or ceil", false);
  expect_refused(dilation, List{0}, "dilation", false);
  expect_refused(ceil_mode, true, "dilation or ceil", false);
  expect_refused(zero_in, int64_t{1}, "differ", false);
  expect_refused(zero_out, int64_t{128}, "zero point", false);
  expect_refused(min, int64_t{-129}, "activation_min", false);
  expect_refused(max, int64_t{128}, "activation_max", false);
  max = 3;
  min = 4;
  EXPECT_NE(largest().find("greater"), std::string::npos);
}

}  // namespace
}  // namespace wick::cortex_m::pooling_test
