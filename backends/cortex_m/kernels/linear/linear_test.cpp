#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m::linear_test {
namespace {

constexpr char kName[] = "cortex_m::quantized_linear.out";
constexpr char kPerChannel[] = "wick_cortex_m::linear_per_channel.out", kSum[] = "wick_cortex_m::kernel_sum.out";
const std::vector<int64_t> kNone;

struct Case {
  std::vector<int32_t> leading;  // dimensions before K
  int32_t num_inputs = 2, num_outputs = 3, input_offset = 0, filter_offset = 0;
  std::vector<int64_t> x, w, bias;
  OutputParameters p;

  std::vector<int32_t> with_last(int32_t last) const {
    std::vector<int32_t> sizes = leading;
    sizes.push_back(last);
    return sizes;
  }
  int64_t sum(int64_t row, int64_t n) const {
    int64_t total = bias.empty() ? 0 : bias[n];
    for (int64_t k = 0; k < num_inputs; ++k)
      total += (x[row * num_inputs + k] + input_offset) * (w[n * num_inputs + k] + filter_offset);
    return total;
  }
  std::vector<double> expected() const {
    std::vector<double> y;
    for (int64_t row = 0; row < product(leading); ++row) {
      for (int64_t n = 0; n < num_outputs; ++n) y.push_back(p(sum(row, n)));
    }
    return y;
  }
  /// The kernel_sum that stock stores for MVE, wrapped to int32.
  std::vector<int64_t> kernel_sum() const {
    std::vector<int64_t> sums;
    for (int64_t n = 0; n < num_outputs; ++n) {
      int64_t sum = 0;
      for (int64_t k = 0; k < num_inputs; ++k) sum += w[n * num_inputs + k] + filter_offset;
      sums.push_back(static_cast<int32_t>((bias.empty() ? 0 : bias[n]) + input_offset * sum));
    }
    return sums;
  }
};

Case random_case(Random& random) {
  Case c;
  for (int64_t d = random.in(0, 3); d > 0; --d)
    c.leading.push_back(static_cast<int32_t>(random.in(random.one_in(20) ? 0 : 1, 3)));
  c.num_inputs = static_cast<int32_t>(random.one_in(20) ? 0 : random.in(1, 70));
  c.num_outputs = static_cast<int32_t>(random.one_in(20) ? 0 : random.in(1, 20));
  c.input_offset = static_cast<int32_t>(random.pick<int64_t>({-127, 0, 128, random.in(-127, 128)}));
  c.filter_offset = random.one_in(3) ? static_cast<int32_t>(random.in(-127, 128)) : 0;
  c.x = random_int8(random, product(c.leading) * c.num_inputs);
  c.w = random_int8(random, int64_t{c.num_outputs} * c.num_inputs);
  if (random.one_in(2)) c.bias = random_bias(random, c.num_outputs);
  c.p = random_output(random, c.num_inputs);
  return c;
}

void check(const Case& c, bool with_sum) {
  const TestTensor x = make_ints(DType::i8, c.with_last(c.num_inputs), c.x);
  const TestTensor w = make_ints(DType::i8, {c.num_outputs, c.num_inputs}, c.w);
  const TestTensor bias = make_ints(DType::i32, {with_sum || c.bias.empty() ? 0 : c.num_outputs},
                                    with_sum ? std::vector<int64_t>{} : c.bias);
  const TestTensor sum = make_ints(DType::i32, {1, c.num_outputs}, c.kernel_sum());
  TestTensor out = make_out(DType::i8, c.with_last(c.num_outputs));
  ASSERT_TRUE(runs(kName, {x, w, bias.tensor.numel > 0 ? Arg(bias) : Arg(nullptr), with_sum ? Arg(sum) : Arg(nullptr),
                           c.input_offset, c.filter_offset, c.p.offset, std::vector<int>{c.p.multiplier},
                           std::vector<int>{c.p.shift}, c.p.max, c.p.min, out}));
  ASSERT_TRUE(equals(out, c.expected()));
}

TEST(CortexMLinear, IsItsEquationWithBiasAndWithKernelSum) {
  Random random(2);
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(i);
    const Case c = random_case(random);
    check(c, false);
    check(c, true);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// 255 * 255 * 40000 exceeds 31 bits: both forms wrap in the same way.
TEST(CortexMLinear, LongRowsWrap) {
  Case c;
  c.leading = {1};
  c.num_inputs = 40000;
  c.num_outputs = 2;
  c.input_offset = c.filter_offset = 128;
  c.x.assign(40000, 127);
  c.w.assign(80000, 127);
  c.w[80000 - 1] = -128;
  c.p.shift = -22;
  check(c, false);
  check(c, true);
}

// A program for MVE has the offset in the sum; one for DSP or scalar code has it beside the bias. Both must be used.
TEST(CortexMLinear, PerChannelHasAScaleForEachOutput) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(i);
    Case c = random_case(random);
    std::vector<int64_t> multipliers, shifts;
    std::vector<OutputParameters> scales(static_cast<size_t>(c.num_outputs), c.p);
    for (OutputParameters& scale : scales) {
      randomize_scale(random, c.num_inputs, &scale);
      multipliers.push_back(scale.multiplier);
      shifts.push_back(scale.shift);
    }
    std::vector<double> expected;
    for (int64_t row = 0; row < product(c.leading); ++row) {
      for (int64_t n = 0; n < c.num_outputs; ++n) expected.push_back(scales[n](c.sum(row, n)));
    }
    const bool with_sum = random.one_in(2), with_bias = !with_sum && !c.bias.empty();
    const TestTensor x = make_ints(DType::i8, c.with_last(c.num_inputs), c.x);
    const TestTensor w = make_ints(DType::i8, {c.num_outputs, c.num_inputs}, c.w);
    const TestTensor bias = make_ints(DType::i32, {with_bias ? c.num_outputs : 0}, with_bias ? c.bias : kNone);
    const TestTensor sum = make_ints(DType::i32, {1, c.num_outputs}, c.kernel_sum());
    std::vector<int32_t> upper = c.with_last(c.num_outputs);  // the output was planned for at least as many rows
    for (size_t d = 0; d + 1 < upper.size(); ++d) upper[d] += static_cast<int32_t>(random.in(0, 2));
    TestTensor out = make_dynamic(DType::i8, upper);
    ASSERT_TRUE(runs(kPerChannel,
                     {x, w, with_bias ? Arg(bias) : Arg(nullptr), with_sum ? Arg(sum) : Arg(nullptr), c.input_offset,
                      c.filter_offset, c.p.offset, make_ints(DType::i32, {c.num_outputs}, multipliers),
                      make_ints(DType::i32, {c.num_outputs}, shifts), c.p.min, c.p.max, out}));
    ASSERT_TRUE(equals(out, expected));
  }
}

TEST(CortexMLinear, RowsBeyondTheMemoryOfTheOutputAreRefused) {
  const TestTensor w = make(DType::i8, {2, 2}, {1}), scales = make_ints(DType::i32, {2}, {0, 0});
  const auto call = [&](int rows) {
    const TestTensor x = make(DType::i8, {rows, 2}, {1});
    TestTensor out = make_dynamic(DType::i8, {3, 2});
    return run(kPerChannel, {x, w, nullptr, nullptr, 0, 0, 0, scales, scales, -128, 127, out}).message;
  };
  EXPECT_EQ(call(1), "");
  EXPECT_EQ(call(3), "");
  EXPECT_NE(call(4).find("the input's sizes"), std::string::npos);
}

TEST(CortexMLinear, PerChannelChecksItsScales) {
  const TestTensor x = make(DType::i8, {1, 2}, {1}), w = make(DType::i8, {2, 2}, {1});
  const auto call = [&](const TestTensor& multipliers, const TestTensor& shifts) {
    TestTensor out = make_out(DType::i8, {1, 2});
    return run(kPerChannel, {x, w, nullptr, nullptr, 0, 0, 0, multipliers, shifts, -128, 127, out}).message;
  };
  const TestTensor one = make_ints(DType::i32, {2}, {1, INT32_MIN + 1}), zero = make_ints(DType::i32, {2}, {-31, 30});
  EXPECT_EQ(call(one, zero), "");
  EXPECT_NE(call(make_ints(DType::i32, {2}, {1, INT32_MIN}), zero).find("multiplier"), std::string::npos);
  EXPECT_NE(call(one, make_ints(DType::i32, {2}, {0, 31})).find("shift"), std::string::npos);
  EXPECT_NE(call(one, make_ints(DType::i32, {2}, {-32, 0})).find("shift"), std::string::npos);
  for (const TestTensor& wrong : {make_ints(DType::i32, {1}, {0}), make_ints(DType::i64, {2}, {0, 0})}) {
    EXPECT_NE(call(wrong, zero).find("multipliers and shifts"), std::string::npos);
    EXPECT_NE(call(one, wrong).find("multipliers and shifts"), std::string::npos);
  }
}

TEST(CortexMLinear, KernelSumIsWhatStockStores) {
  Random random(11);
  for (int i = 0; i < 500; ++i) {
    SCOPED_TRACE(i);
    const Case c = random_case(random);
    const TestTensor w = make_ints(DType::i8, {c.num_outputs, c.num_inputs}, c.w);
    const TestTensor bias = make_ints(DType::i32, {c.bias.empty() ? 0 : c.num_outputs}, c.bias);
    TestTensor out = make_out(DType::i32, {1, c.num_outputs});
    ASSERT_TRUE(runs(kSum, {w, c.bias.empty() ? Arg(nullptr) : Arg(bias), c.input_offset, c.filter_offset, out}));
    const std::vector<int64_t> sums = c.kernel_sum();
    ASSERT_TRUE(equals(out, std::vector<double>(sums.begin(), sums.end())));
  }
}

TEST(CortexMLinear, KernelSumChecksItsTensors) {
  const TestTensor w = make(DType::i8, {2, 3}, {1}), bias = make(DType::i32, {2}, {1});
  TestTensor out = make_out(DType::i32, {1, 2});
  EXPECT_TRUE(runs(kSum, {w, bias, 128, -127, out}));
  EXPECT_TRUE(refuses(kSum, {w, bias, 129, 0, out}, "offset of an input"));
  EXPECT_TRUE(refuses(kSum, {w, bias, 0, -128, out}, "offset of an input"));
  EXPECT_TRUE(refuses(kSum, {make(DType::u8, {2, 3}, {1}), bias, 0, 0, out}, "weights are not int8"));
  EXPECT_TRUE(refuses(kSum, {make(DType::i8, {6}, {1}), bias, 0, 0, out}, "[N, K]"));
  EXPECT_TRUE(refuses(kSum, {make(DType::i8, {2, 3}, {1}, {1, 0}), bias, 0, 0, out}, "[N, K]"));
  EXPECT_TRUE(refuses(kSum, {w, make(DType::i32, {3}, {1}), 0, 0, out}, "bias"));
  TestTensor wrong = make_out(DType::i32, {1, 3}), narrow = make_out(DType::i8, {1, 2});
  EXPECT_TRUE(refuses(kSum, {w, bias, 0, 0, wrong}, "output"));
  EXPECT_TRUE(refuses(kSum, {w, bias, 0, 0, narrow}, "output"));
}

TEST(CortexMLinear, KernelSumReplacesBiasAndInputOffset) {
  const TestTensor x = make(DType::i8, {1, 2}, {10, 20}), w = make(DType::i8, {1, 2}, {3, -4});
  const TestTensor bias = make(DType::i32, {1}, {100}), sum = make(DType::i32, {1, 1}, {100 + 5 * (3 - 4)});
  TestTensor out = make_out(DType::i8, {1, 1});
  const std::vector<int> one{1 << 30}, shift{1};  // times one
  for (const bool with_sum : {false, true}) {
    ASSERT_TRUE(runs(kName, {x, w, with_sum ? Arg(nullptr) : Arg(bias), with_sum ? Arg(sum) : Arg(nullptr), 5, 0, 0,
                             one, shift, 127, -128, out}));
    EXPECT_TRUE(equals(out, {15 * 3 - 25 * 4 + 100}));
  }
  // If both are given, the sum is used, which includes the offset.
  ASSERT_TRUE(runs(kName, {x, w, bias, sum, 77, 0, 0, one, shift, 127, -128, out}));
  EXPECT_TRUE(equals(out, {15 * 3 - 25 * 4 + 100}));
}

class CortexMLinearChecks : public ::testing::Test {
 protected:
  TestTensor x = make(DType::i8, {2, 3}, {1}), w = make(DType::i8, {4, 3}, {1}), bias = make(DType::i32, {4}, {1});
  TestTensor out = make_out(DType::i8, {2, 4});
  int offset = 0, filter = 0, zero = 0, max = 127, min = -128;
  std::vector<int64_t> multipliers{1 << 30}, shifts{0};

  Outcome call_it() {
    return run(kName, {x, w, bias, nullptr, offset, filter, zero, multipliers, shifts, max, min, out});
  }
  void expect_edges(int& argument, int lowest, int highest, const char* part) {
    const int kept = argument;
    for (const int fits : {lowest, highest}) {
      argument = fits;
      EXPECT_EQ(call_it().error, Error::Ok) << part << fits;
    }
    for (const int does_not : {lowest - 1, highest + 1}) {
      argument = does_not;
      EXPECT_NE(call_it().message.find(part), std::string::npos) << call_it().message;
    }
    argument = kept;
  }
};

TEST_F(CortexMLinearChecks, NumbersInTheirRanges) {
  expect_edges(offset, -127, 128, "offset of an input");
  expect_edges(filter, -127, 128, "offset of an input");
  expect_edges(zero, -128, 127, "zero point");
  expect_edges(max, -128, 127, "activation_max");
  expect_edges(min, -128, 127, "activation_min");
  max = 5;
  min = 5;
  EXPECT_EQ(call_it().error, Error::Ok);
  min = 6;
  EXPECT_NE(call_it().message.find("activation_min is greater"), std::string::npos);
}

TEST_F(CortexMLinearChecks, ListsOfOneMultiplierAndOneShift) {
  for (const int64_t fits : {int64_t{INT32_MIN} + 1, int64_t{INT32_MAX}}) {
    multipliers = {fits};
    EXPECT_EQ(call_it().error, Error::Ok);
  }
  for (const int64_t does_not : {int64_t{INT32_MIN}, int64_t{INT32_MAX} + 1, INT64_MIN, INT64_MAX}) {
    multipliers = {does_not};
    EXPECT_NE(call_it().message.find("multiplier"), std::string::npos);
  }
  multipliers = {1};
  for (const int64_t fits : {-31, 30}) {
    shifts = {fits};
    EXPECT_EQ(call_it().error, Error::Ok);
  }
  for (const int64_t does_not : {-32, 31}) {
    shifts = {does_not};
    EXPECT_NE(call_it().message.find("shift"), std::string::npos);
  }
  for (const size_t size : {0u, 2u, 4u}) {
    shifts.assign(size, 0);
    EXPECT_NE(call_it().message.find("lists"), std::string::npos);
    shifts = {0};
    multipliers.assign(size, 1);
    EXPECT_NE(call_it().message.find("lists"), std::string::npos);
    multipliers = {1};
  }
}

TEST_F(CortexMLinearChecks, SizesDtypesAndLayouts) {
  const auto expect_refused = [&](TestTensor& place, TestTensor other, const char* part) {
    std::swap(place, other);
    EXPECT_NE(call_it().message.find(part), std::string::npos) << part << ": " << call_it().message;
    std::swap(place, other);
    EXPECT_EQ(call_it().error, Error::Ok);
  };
  expect_refused(x, make(DType::u8, {2, 3}, {1}), "input is not int8");
  expect_refused(out, make_out(DType::i16, {2, 4}), "output is not int8");
  expect_refused(w, make(DType::i16, {4, 3}, {1}), "weights are not int8");
  expect_refused(bias, make(DType::i64, {4}, {1}), "bias");
  expect_refused(bias, make(DType::i32, {3}, {1}), "bias");
  expect_refused(bias, make(DType::i32, {5}, {1}), "bias");
  expect_refused(x, make(DType::i8, {2, 2}, {1}), "wanted an input [.., K]");
  expect_refused(x, make(DType::i8, {1, 3}, {1}), "the input's sizes");
  expect_refused(x, make(DType::i8, {}, {1}), "rank");
  expect_refused(out, make_out(DType::i8, {2, 3}), "wanted an input [.., K]");
  expect_refused(out, make_out(DType::i8, {2, 1, 4}), "rank");
  expect_refused(w, make(DType::i8, {4, 3, 1}, {1}), "rank 2");
  expect_refused(x, make(DType::i8, {2, 3}, {1}, {1, 0}), "contiguous");
  expect_refused(w, make(DType::i8, {4, 3}, {1}, {1, 0}), "contiguous");
  expect_refused(out, make_out(DType::i8, {2, 4}, {1, 0}), "contiguous");
}

}  // namespace
}  // namespace wick::cortex_m::linear_test
