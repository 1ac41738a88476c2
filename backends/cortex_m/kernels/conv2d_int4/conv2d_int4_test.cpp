#include "backends/cortex_m/kernels/convolution_test_support.h"
#include "backends/cortex_m/kernels/int4_test_support.h"

namespace wick::cortex_m::conv2d_int4_test {
namespace {

struct Packed {
  ConvolutionCase c;
  int64_t groups = 1, inputs = 1;
  std::vector<int64_t> w;  // [O, kH, kW, I]

  int64_t terms() const { return c.kernel[0] * c.kernel[1] * inputs; }
  /// The result of the kernel for int8 weights, whose equation has a test of its own.
  TestTensor whole() const {
    const TestTensor weights = make_ints(DType::i8,
                                         {static_cast<int32_t>(c.outputs), static_cast<int32_t>(c.kernel[0]),
                                          static_cast<int32_t>(c.kernel[1]), static_cast<int32_t>(inputs)},
                                         w);
    const TestTensor bias = c.bias_tensor(),
                     scratch = make_out(DType::u8, {static_cast<int32_t>(4 * ((terms() + 3) / 4 * 4))});
    TestTensor out = c.output(c.positions(0), c.positions(1));
    EXPECT_TRUE(runs("cortex_m::quantized_conv2d.out",
                     {c.input(), weights, c.bias.empty() ? Arg(nullptr) : Arg(bias), c.pair(c.stride),
                      c.pair(c.padding), c.pair(c.dilation), c.input_offset, c.stages[0].offset, c.multipliers(),
                      c.shifts(), c.stages[0].min, c.stages[0].max, scratch, out}));
    return out;
  }
  /// bias[o] + input_offset * sum of w[o].
  std::vector<int64_t> kernel_sum() const {
    std::vector<int64_t> sums = c.bias.empty() ? std::vector<int64_t>(static_cast<size_t>(c.outputs)) : c.bias;
    for (size_t i = 0; i < w.size(); ++i) sums[i / static_cast<size_t>(terms())] += c.input_offset * w[i];
    return sums;
  }
  Outcome run(const TestTensor& weights, bool summed, TestTensor* out) const {
    const TestTensor bias = c.bias_tensor(), sums = ConvolutionCase::row(kernel_sum()),
                     scratch = make_out(DType::u8, {static_cast<int32_t>(4 * terms())});
    return cortex_m::run(
        "wick_cortex_m::conv2d_int4.out",
        {c.input(), weights, summed || c.bias.empty() ? Arg(nullptr) : Arg(bias), summed ? Arg(sums) : Arg(nullptr),
         c.pair(c.kernel), groups, c.pair(c.stride), c.pair(c.padding), c.pair(c.dilation), c.input_offset,
         c.stages[0].offset, c.multipliers(), c.shifts(), c.stages[0].min, c.stages[0].max, scratch, *out});
  }
  TestTensor packed(Random& random) const {
    const std::vector<int64_t> bytes = packed_int4(random, w, terms());
    return make_ints(
        DType::u8,
        {static_cast<int32_t>(c.outputs), static_cast<int32_t>(bytes.size()) / static_cast<int32_t>(c.outputs)}, bytes);
  }
};

Packed random_packed(Random& random) {
  Packed p;
  do {
    p.c = random_window(random);
  } while (p.c.positions(0) * p.c.positions(1) == 0);
  p.groups = random.one_in(3) ? random.in(1, 3) : 1;
  p.inputs = random.in(1, 9);
  p.c.channels = p.groups * p.inputs;
  p.c.outputs = p.groups * random.in(1, 5);
  p.c.randomize(random, p.terms() / 16 + 1);
  p.w = random_int4(random, p.c.outputs * p.terms());
  return p;
}

TEST(CortexMConv2dInt4, IsTheConvolutionWithUnpackedWeights) {
  Random random(31);
  for (int trial = 0; trial < 600; ++trial) {
    const Packed p = random_packed(random);
    const TestTensor weights = p.packed(random), whole = p.whole();
    for (const bool summed : {false, true}) {
      TestTensor out = p.c.output(p.c.positions(0), p.c.positions(1));
      ASSERT_EQ(p.run(weights, summed, &out).message, "");
      ASSERT_EQ(ints(out), ints(whole)) << trial << (summed ? ", summed" : "");
    }
  }
}

TEST(CortexMConv2dInt4, ChecksItsArguments) {
  Random random(32);
  Packed p = random_packed(random);
  const TestTensor good = p.packed(random);
  TestTensor out = p.c.output(p.c.positions(0), p.c.positions(1));
  const int32_t row = static_cast<int32_t>((p.terms() + 7) / 8 * 4), outputs = static_cast<int32_t>(p.c.outputs);
  EXPECT_EQ(p.run(good, false, &out).message, "");
  EXPECT_NE(p.run(make_out(DType::u8, {outputs, row + 4}), false, &out).message.find("4 ceil(K / 8) bytes"),
            std::string::npos);
  EXPECT_NE(
      p.run(make_out(DType::u8, {outputs + 1, row}), false, &out).message.find("a row of weights for each output"),
      std::string::npos);
  EXPECT_NE(p.run(make_out(DType::i8, {outputs, row}), false, &out).message.find("not uint8"), std::string::npos);
  for (const int64_t groups : {int64_t{0}, int64_t{-1}, p.c.channels + 1}) {
    Packed other = p;
    other.groups = groups;
    EXPECT_NE(other.run(good, false, &out).error, Error::Ok) << groups;
  }
  Packed other = p;
  other.c.kernel[0] = INT32_MAX, other.c.kernel[1] = INT32_MAX;  // its products do not fit
  EXPECT_NE(cortex_m::run("wick_cortex_m::conv2d_int4.out",
                          {p.c.input(), good, Arg(nullptr), Arg(nullptr), other.c.pair(other.c.kernel), p.groups,
                           p.c.pair(p.c.stride), p.c.pair(p.c.padding), p.c.pair(p.c.dilation), p.c.input_offset,
                           p.c.stages[0].offset, p.c.multipliers(), p.c.shifts(), p.c.stages[0].min, p.c.stages[0].max,
                           make_out(DType::u8, {4}), out})
                .message.find("4 ceil(K / 8) bytes"),
            std::string::npos);
}

}  // namespace
}  // namespace wick::cortex_m::conv2d_int4_test
