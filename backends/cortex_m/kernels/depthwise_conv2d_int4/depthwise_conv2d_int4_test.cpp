#include "backends/cortex_m/kernels/convolution_test_support.h"
#include "backends/cortex_m/kernels/int4_test_support.h"

namespace wick::cortex_m::depthwise_conv2d_int4_test {
namespace {

constexpr char kName[] = "wick_cortex_m::depthwise_conv2d_int4.out";

struct Packed {
  ConvolutionCase c;
  int64_t multiplier = 1;
  std::vector<int64_t> w;  // [kH, kW, O]

  std::vector<int32_t> weight_sizes(int64_t row) const {
    return {1, static_cast<int32_t>(c.kernel[0]), static_cast<int32_t>(c.kernel[1]), static_cast<int32_t>(row)};
  }
  Outcome run(const char* name, const TestTensor& weights, TestTensor* out) const {
    const TestTensor bias = c.bias_tensor(), scratch = make_out(DType::u8, {0});
    return cortex_m::run(name, {c.input(), weights, c.bias.empty() ? Arg(nullptr) : Arg(bias), c.pair(c.stride),
                                c.pair(c.padding), c.pair(c.dilation), multiplier, c.input_offset, c.stages[0].offset,
                                c.multipliers(), c.shifts(), c.stages[0].min, c.stages[0].max, scratch, *out});
  }
  TestTensor output() const { return c.output(c.positions(0), c.positions(1)); }
  /// The result of the kernel for int8 weights, whose equation has a test of its own.
  TestTensor whole() const {
    TestTensor out = output();
    const TestTensor weights = make_ints(DType::i8, weight_sizes(c.outputs), w);
    EXPECT_EQ(run("cortex_m::quantized_depthwise_conv2d.out", weights, &out).message, "");
    return out;
  }
  TestTensor packed(Random& random) const {
    return make_ints(DType::u8, weight_sizes((c.outputs + 7) / 8 * 4), packed_int4(random, w, c.outputs));
  }
};

Packed random_packed(Random& random) {
  Packed p;
  do {
    p.c = random_window(random);
  } while (p.c.positions(0) * p.c.positions(1) == 0);
  p.c.channels = random.one_in(2) ? random.in(1, 20) : p.c.channels;
  p.multiplier = random.one_in(2) ? 1 : random.in(1, 4);
  p.c.outputs = p.c.channels * p.multiplier;
  p.c.randomize(random, p.c.kernel[0] * p.c.kernel[1] / 16 + 1);
  p.w = random_int4(random, p.c.outputs * p.c.kernel[0] * p.c.kernel[1]);
  return p;
}

TEST(CortexMDepthwiseConv2dInt4, IsTheConvolutionWithUnpackedWeights) {
  Random random(41);
  for (int trial = 0; trial < 600; ++trial) {
    const Packed p = random_packed(random);
    TestTensor out = p.output();
    ASSERT_EQ(p.run(kName, p.packed(random), &out).message, "");
    ASSERT_EQ(ints(out), ints(p.whole())) << trial;
  }
}

TEST(CortexMDepthwiseConv2dInt4, ChecksItsArguments) {
  Random random(42);
  Packed p = random_packed(random);
  while (p.c.kernel[0] < 2 || p.c.outputs < 2) p = random_packed(random);
  TestTensor out = p.output();
  const TestTensor good = p.packed(random);
  EXPECT_EQ(p.run(kName, good, &out).message, "");
  const int64_t row = (p.c.outputs + 7) / 8 * 4;
  const auto refusal = [&](const TestTensor& weights) { return p.run(kName, weights, &out).message; };
  EXPECT_NE(refusal(make_out(DType::u8, p.weight_sizes(row + 4))).find("4 ceil(O / 8)"), std::string::npos);
  EXPECT_NE(refusal(make_out(DType::u8, p.weight_sizes(row - 4))).find(row == 4 ? "or empty" : "4 ceil(O / 8)"),
            std::string::npos);
  EXPECT_NE(refusal(make_out(DType::i8, p.weight_sizes(row))).find("not uint8"), std::string::npos);
  std::vector<int32_t> two = p.weight_sizes(row);
  two[0] = 2;
  EXPECT_NE(refusal(make_out(DType::u8, two)).find("wanted weights"), std::string::npos);
  EXPECT_NE(refusal(make_out(DType::u8, {two[1] * two[2], two[3]})).find("4 dimensions"), std::string::npos);
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{1} << 31}) {
    p.multiplier = bad;
    EXPECT_NE(refusal(good).find("depth_multiplier"), std::string::npos) << bad;
  }
  p.multiplier = p.c.outputs + 1;
  EXPECT_NE(refusal(good).find("wanted weights"), std::string::npos);
}

}  // namespace
}  // namespace wick::cortex_m::depthwise_conv2d_int4_test
