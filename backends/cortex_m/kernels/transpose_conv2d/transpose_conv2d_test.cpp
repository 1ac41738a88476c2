#include "backends/cortex_m/kernels/convolution_test_support.h"

namespace wick::cortex_m::transpose_conv2d_test {
namespace {

constexpr char kName[] = "cortex_m::quantized_transpose_conv2d.out";

/// Scatters each pixel; weights [O, kH, kW, C].
std::vector<double> expected(const ConvolutionCase& c, int64_t rows, int64_t columns, const std::vector<int64_t>& w) {
  std::vector<int64_t> sums(static_cast<size_t>(c.batch * c.outputs * rows * columns));
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t iy = 0; iy < c.height; ++iy) {
      for (int64_t ix = 0; ix < c.width; ++ix) {
        for (int64_t k = 0; k < c.outputs * c.kernel[0] * c.kernel[1] * c.channels; ++k) {
          const int64_t channel = k % c.channels, tap = k / c.channels, kx = tap % c.kernel[1];
          const int64_t ky = tap / c.kernel[1] % c.kernel[0], o = tap / c.kernel[1] / c.kernel[0];
          const int64_t y = iy * c.stride[0] - c.padding[0] + ky, x = ix * c.stride[1] - c.padding[1] + kx;
          if (y < 0 || y >= rows || x < 0 || x >= columns) continue;
          sums[((n * c.outputs + o) * rows + y) * columns + x] += w[k] * c.at(n, channel, iy, ix);
        }
      }
    }
  }
  std::vector<double> result;
  for (size_t i = 0; i < sums.size(); ++i)
    result.push_back(c.finish(sums[i], static_cast<int64_t>(i) / (rows * columns) % c.outputs));
  return result;
}

TEST(CortexMTransposeConv2d, IsItsEquation) {
  Random random(14);
  const TestTensor scratch = make_out(DType::u8, {20000}), filter = make_out(DType::u8, {4000});
  const std::vector<int64_t> zero{0, 0}, one{1, 1};
  int ran = 0;
  while (ran < 1000) {
    ConvolutionCase c = random_window(random);
    c.height = random.in(1, 5);
    c.width = random.in(1, 5);
    c.channels = random.one_in(6) ? random.in(17, 20) : c.channels;
    c.outputs = random.in(1, 4);
    const int64_t rows = (c.height - 1) * c.stride[0] - 2 * c.padding[0] + c.kernel[0];
    const int64_t columns = (c.width - 1) * c.stride[1] - 2 * c.padding[1] + c.kernel[1];
    const int64_t terms = c.kernel[0] * c.kernel[1] * c.channels;
    if (rows <= 0 || columns <= 0) continue;
    ++ran;
    c.randomize(random, terms);
    const std::vector<int64_t> w = random_int8(random, c.outputs * terms);
    const TestTensor bias = c.bias_tensor();
    const TestTensor weights = make_ints(DType::i8,
                                         {static_cast<int32_t>(c.outputs), static_cast<int32_t>(c.kernel[0]),
                                          static_cast<int32_t>(c.kernel[1]), static_cast<int32_t>(c.channels)},
                                         w);
    TestTensor out = c.output(rows, columns);
    ASSERT_TRUE(runs(kName, {c.input(), weights, c.bias.empty() ? Arg(nullptr) : Arg(bias), c.pair(c.stride),
                             c.pair(c.padding), zero, one, c.input_offset, c.stages[0].offset, c.multipliers(),
                             c.shifts(), c.stages[0].min, c.stages[0].max, scratch, filter, out}));
    ASSERT_TRUE(equals(out, expected(c, rows, columns, w))) << ran;
  }
}

TEST(CortexMTransposeConv2d, ChecksItsArguments) {
  const std::vector<uint8_t> order{0, 2, 3, 1};
  const std::vector<int64_t> one{1, 1}, two{2, 2}, zero{0, 0};
  const TestTensor row = make(DType::i32, {2}, {1});
  // rows of sums: ((3 - 1) * 2 + 3) * 2 channels * 3 rows * 4 bytes = 168; none is turned
  const auto call_it = [&](int32_t channels, const std::vector<int64_t>& output_padding,
                           const std::vector<int64_t>& dilation, int32_t scratch_bytes, int32_t filter_bytes,
                           int32_t height) {
    const TestTensor x = make(DType::i8, {1, channels, 3, 3}, {1}, order),
                     w = make(DType::i8, {2, 3, 3, channels}, {1});
    const TestTensor scratch = make_out(DType::u8, {scratch_bytes}), filter = make_out(DType::u8, {filter_bytes});
    TestTensor out = make_out(DType::i8, {1, 2, height, 7}, order);
    return run(kName,
               {x, w, nullptr, two, zero, output_padding, dilation, 0, 0, row, row, -128, 127, scratch, filter, out})
        .message;
  };
  EXPECT_EQ(call_it(4, zero, one, 168, 0, 7), "");
  EXPECT_NE(call_it(4, zero, one, 167, 0, 7).find("scratch"), std::string::npos);
  EXPECT_NE(call_it(4, one, one, 168, 0, 7).find("output padding"), std::string::npos);
  EXPECT_NE(call_it(4, zero, two, 168, 0, 7).find("dilation"), std::string::npos);
  EXPECT_NE(call_it(4, zero, one, 168, 0, 6).find("height and width"), std::string::npos);
  EXPECT_NE(call_it(4, zero, one, 168, 0, 8).find("height and width"), std::string::npos);
  EXPECT_EQ(call_it(17, zero, one, 4 * 156, 306, 7), "");
  EXPECT_NE(call_it(17, zero, one, 4 * 156 - 1, 306, 7).find("scratch"), std::string::npos);
  EXPECT_NE(call_it(17, zero, one, 4 * 156, 305, 7).find("scratch"), std::string::npos);
}

}  // namespace
}  // namespace wick::cortex_m::transpose_conv2d_test
