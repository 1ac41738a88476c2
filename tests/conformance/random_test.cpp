// Tests operators that draw random numbers: mean, variance and range of 8,192 of them, and that neighbors are
// uncorrelated.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "compiler/ir/op_def.h"
#include "compiler/testing/pipeline.h"
#include "wick/module.h"

namespace wick::conformance::random_test {
namespace {

using compiler::OpDef;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// `call` draws 64 x 128 numbers as %y; %x holds as many ones. Each `group` consecutive elements are equal; otherwise
/// elements are independent.
struct Draw {
  const char* call;
  double mean, variance, least, most;
  size_t group = 1;
};

// Alpha dropout with p = 0.25 has a scale a and an offset b: a kept 1 becomes a + b, a dropped one b - kAlpha * a.
const double kAlpha = 1.7580993408473766;
const double kAlphaScale = 1 / std::sqrt((kAlpha * kAlpha * 0.25 + 1) * 0.75);
const double kAlphaKept = kAlphaScale * (1 + 0.25 * kAlpha);
const double kAlphaDropped = -0.75 * kAlphaScale * kAlpha;
const double kAlphaMean = 0.75 * kAlphaKept + 0.25 * kAlphaDropped;
const double kAlphaVariance = 0.1875 * (kAlphaKept - kAlphaDropped) * (kAlphaKept - kAlphaDropped);

const Draw kDraws[] = {
    {"%y = aten.rand([64, 128], f32)", 0.5, 1 / 12., 0, 1},
    {"%y = aten.rand([64, 128], f16)", 0.5, 1 / 12., 0, 1},
    {"%y = aten.randn([64, 128], f64)", 0, 1, -kInfinity, kInfinity},
    {"%y = aten.rand.generator([64, 128], none)", 0.5, 1 / 12., 0, 1},
    {"%y = aten.randn.generator([64, 128], none)", 0, 1, -kInfinity, kInfinity},
    {"%y = aten.rand_like(%x)", 0.5, 1 / 12., 0, 1},
    {"%y = aten.randn_like(%x)", 0, 1, -kInfinity, kInfinity},
    {"%y = aten.rand_like.generator(%x, none)", 0.5, 1 / 12., 0, 1},
    {"%y = aten.randn_like.generator(%x, none)", 0, 1, -kInfinity, kInfinity},
    {"%y = aten.uniform(%x, -2.0, 5.0)", 1.5, 49 / 12., -2, 5},
    {"%y = aten.normal_functional(%x, 1.0, 3.0)", 1, 9, -kInfinity, kInfinity},
    {"%y: f32[64, 128] = aten.normal.Tensor_float(%x, 3.0)", 1, 9, -kInfinity, kInfinity},
    {"%y: f32[64, 128] = aten.normal.Tensor_Tensor(%x, %x)", 1, 1, -kInfinity, kInfinity},
    {"%y: f32[64, 128] = aten.normal.float_Tensor(0.5, %x)", 0.5, 1, -kInfinity, kInfinity},
    {"%y = aten.normal.float_float(0.5, 2.0, [64, 128])", 0.5, 4, -kInfinity, kInfinity},
    {"%c = aten.log_normal(%x, 1.0, 2.0)\n %y = aten.log(%c)", 1, 4, -kInfinity, kInfinity},
    // A Cauchy distribution has neither mean nor variance, but the arc tangent of its numbers is uniform.
    {"%c = aten.cauchy(%x)\n %y = aten.atan(%c)", 0, 9.8696044 / 12, -1.5707964, 1.5707964},
    {"%y = aten.geometric(%x, 0.25)", 4, 12, 1, kInfinity},
    {"%y = aten.random(%x)", 8388608, 281474976710656 / 12., 0, 16777216},
    {"%c = aten._to_copy(%x, u8)\n %y = aten.random(%c)", 127.5, 5461.25, 0, 255},
    {"%c = aten._to_copy(%x, i8)\n %y = aten.random(%c)", 63.5, 1365.25, 0, 127},
    {"%c = aten._to_copy(%x, bool)\n %y = aten.random(%c)", 0.5, 0.25, 0, 1},
    {"%c = aten._to_copy(%x, i64)\n %r = aten.random(%c)\n %y = aten.remainder.Scalar(%r, 8)", 3.5, 5.25, 0, 7},
    {"%c = aten._to_copy(%x, i64)\n %r = aten.random(%c)\n %y = aten.mul.Scalar(%r, 1.0842021724855044e-19)", 0.5,
     1 / 12., 0, 1},
    {"%y = aten.random.to(%x, 9)", 4, 80 / 12., 0, 8},
    {"%y = aten.random.from(%x, -2, 5)", 1, 4, -2, 4},
    {"%y = aten.bernoulli.p(%x, 0.25)", 0.25, 0.1875, 0, 1},
    {"%h = aten.mul.Scalar(%x, 0.25)\n %y = aten.bernoulli(%h)", 0.25, 0.1875, 0, 1},
    {"%h = aten.mul.Scalar(%x, 0.25)\n %y = aten.bernoulli.Tensor(%x, %h)", 0.25, 0.1875, 0, 1},
    {"%y = aten.randint(5, [64, 128])", 2, 2, 0, 4},
    {"%y = aten.randint.low(1000000000, 1000000005, [64, 128])", 1000000002, 2, 1000000000, 1000000004},
    {"%r = aten.randint.low(-2147483648, 2147483648, [64, 128])\n %y = aten.remainder.Scalar(%r, 8)", 3.5, 5.25, 0, 7},
    {"%r = aten.randint(6917529027641081856, [64, 128])\n %y = aten.mul.Scalar(%r, 1.4456028966473392e-19)", 0.5,
     1 / 12., 0, 1},
    {"%y = aten.randint_like(%x, 5)", 2, 2, 0, 4},
    {"%y = aten.randint_like.low_dtype(%x, 2, 5)", 3, 2 / 3., 2, 4},
    {"%h = aten.full([], 5, i64)\n %y = aten.randint_like.Tensor(%x, %h)", 2, 2, 0, 4},
    {"%y = aten.randint.generator(5, [64, 128], none)", 2, 2, 0, 4},
    {"%y = aten.randint.low_generator(2, 5, [64, 128], none)", 3, 2 / 3., 2, 4},
    {"%y = aten.randint_like.generator(%x, 5, none)", 2, 2, 0, 4},
    {"%y = aten.randint_like.low_generator_dtype(%x, 2, 5, none)", 3, 2 / 3., 2, 4},
    {"%h = aten.full([], 5, i64)\n %y = aten.randint_like.Tensor_generator(%x, %h, none)", 2, 2, 0, 4},
    {"%r = aten.randperm(8192)\n %y = aten.view(%r, [64, 128])", 4095.5, 8192. * 8192 / 12, 0, 8191},
    {"%r = aten.randperm.generator(8192, none)\n %y = aten.view(%r, [64, 128])", 4095.5, 8192. * 8192 / 12, 0, 8191},
    {"%y = aten.exponential(%x, 2.0)", 0.5, 0.25, 0, kInfinity},
    {"%h = aten.mul.Scalar(%x, 3.0)\n %y = aten._standard_gamma(%h)", 3, 3, 0, kInfinity},
    // A row holds 128 shares that sum to 1, with equal parameters: a share times 128 has mean 1 and variance 127 / 129.
    {"%d = aten._sample_dirichlet(%x)\n %y = aten.mul.Scalar(%d, 128.0)", 1, 127 / 129., 0, 128},
    {"%n = aten.mul.Scalar(%x, 20.0)\n %h = aten.mul.Scalar(%x, 0.25)\n %y = aten.binomial(%n, %h)", 5, 3.75, 0, 20},
    {"%h = aten.mul.Scalar(%x, 3.5)\n %y = aten.poisson(%h)", 3.5, 3.5, 0, kInfinity},
    {"%y = aten.multinomial(%x, 128, true)", 63.5, 16383 / 12., 0, 127},
    {"%y = aten.multinomial(%x, 128)", 63.5, 16383 / 12., 0, 127},
    {"%y = aten.dropout(%x, 0.25, true)", 1, 1 / 3., 0, 4 / 3.},
    {"%d = aten._to_copy(%x, c64)\n %e = aten.dropout(%d, 0.25, true)\n %y = aten.real(%e)", 1, 1 / 3., 0, 4 / 3.},
    {"%y, %m = aten.native_dropout(%x, 0.25, true)", 1, 1 / 3., 0, 4 / 3.},
    {"%e, %y = aten.native_dropout(%x, 0.25, true)", 0.75, 0.1875, 0, 1},
    {"%d = aten._to_copy(%x, c64)\n %e, %y = aten.native_dropout(%d, 0.25, true)", 0.75, 0.1875, 0, 1},
    {"%i = aten.view(%x, [64, 16, 2, 4])\n %d = aten.feature_dropout(%i, 0.25, true)\n %y = aten.view(%d, [64, 128])",
     1, 1 / 3., 0, 4 / 3., 8},
    {"%y = aten.alpha_dropout(%x, 0.25, true)", kAlphaMean, kAlphaVariance, kAlphaDropped, kAlphaKept},
    {"%i = aten.view(%x, [64, 16, 2, 4])\n %d = aten.feature_alpha_dropout(%i, 0.25, true)\n %y = aten.view(%d, [64, "
     "128])",
     kAlphaMean, kAlphaVariance, kAlphaDropped, kAlphaKept, 8},
    // With one key each attention weight is 1 before dropout.
    {"%q = aten.view(%x, [64, 128, 1])\n %k = aten.full([64, 1, 1], 1.0, f32)\n %a = "
     "aten.scaled_dot_product_attention(%q, %k, %k, none, 0.25)\n %y = aten.view(%a, [64, 128])",
     1, 1 / 3., 0, 4 / 3.},
    {"%n = aten.neg(%x)\n %y = aten.rrelu(%n, 0.1, 0.4, true)", -0.25, 0.0075, -0.4, -0.1},
    {"%n = aten.neg(%x)\n %y: f32[64, 128], %m: f32[64, 128] = aten.rrelu_with_noise_functional(%n, %x, 0.1, 0.4, "
     "true)",
     -0.25, 0.0075, -0.4, -0.1},
};

std::vector<double> numbers_of(const Draw& draw) {
  testing::Pipeline pipeline = testing::Pipeline::from_text(
      fmt::format("graph forward() {{\n %x = aten.full([64, 128], 1.0, f32)\n {}\n %z = aten._to_copy(%y, "
                  "f64)\n return %z\n}}\n",
                  draw.call));
  const auto module = pipeline.load();
  EXPECT_EQ(pipeline.failures(), "") << draw.call;
  std::vector<HostValue> outputs;
  ModuleError error;
  if (!module || !module->forward({}, &outputs, &error)) {
    ADD_FAILURE() << draw.call << ": " << error.message;
    return {};
  }
  std::vector<double> numbers(outputs[0].tensor.bytes.size() / sizeof(double));
  if (!numbers.empty()) std::memcpy(numbers.data(), outputs[0].tensor.bytes.data(), outputs[0].tensor.bytes.size());
  return numbers;
}

double mean_of(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum / static_cast<double>(numbers.size());
}

class RandomNumbers : public ::testing::TestWithParam<Draw> {};

TEST_P(RandomNumbers, HaveTheMeanVarianceAndRangeOfTheirDistribution) {
  const Draw& draw = GetParam();
  SCOPED_TRACE(draw.call);
  const std::vector<double> numbers = numbers_of(draw);
  ASSERT_EQ(numbers.size(), 64u * 128);
  for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], numbers[i / draw.group * draw.group]) << i;
  std::vector<double> own;
  for (size_t i = 0; i < numbers.size(); i += draw.group) own.push_back(numbers[i]);
  const double mean = mean_of(own), spread = std::sqrt(draw.variance);
  EXPECT_NEAR(mean, draw.mean, 5 * spread / std::sqrt(static_cast<double>(own.size())));
  std::vector<double> squares;
  for (const double number : own) squares.push_back((number - draw.mean) * (number - draw.mean));
  EXPECT_NEAR(mean_of(squares), draw.variance, 0.15 * draw.variance);
  // Neighbors in a row and in a column are uncorrelated.
  for (const size_t distance : {size_t{1}, 128 / draw.group}) {
    double product = 0;
    for (size_t i = distance; i < own.size(); ++i) product += (own[i] - draw.mean) * (own[i - distance] - draw.mean);
    EXPECT_LT(std::abs(product) / draw.variance, 5 * std::sqrt(static_cast<double>(own.size()))) << distance;
  }
  const auto [least, most] = std::minmax_element(own.begin(), own.end());
  EXPECT_GE(*least, draw.least - 1e-6 * spread);
  EXPECT_LE(*most, draw.most + 1e-6 * spread);
}

INSTANTIATE_TEST_SUITE_P(Draws, RandomNumbers, ::testing::ValuesIn(kDraws), [](const auto& test) {
  const std::string_view call = std::string_view(test.param.call);
  std::string name = fmt::format("{}_", test.index);
  for (const char letter : call.substr(call.rfind("= ") + 2)) name += std::isalnum(letter) ? letter : '_';
  return name.substr(0, name.find("__"));
});

// kDraws has every operator that draws. In-place forms are exempt: they use the functional one.
TEST(RandomNumbersTable, HasEveryOperatorThatDraws) {
  std::set<std::string> drawn;
  for (const Draw& draw : kDraws) {
    const std::string_view call = draw.call;
    for (size_t at = call.find("aten."); at != std::string_view::npos; at = call.find("aten.", at + 1)) {
      std::string name(call.substr(at, call.find('(', at) - at));
      drawn.insert(name);
      drawn.insert(name + ".default");
    }
  }
  for (const OpDef* def : compiler::all_ops()) {
    if (!def->has(compiler::kRandom) || def->functional) continue;
    EXPECT_TRUE(drawn.count(std::string(def->name()))) << def->name();
  }
}

}  // namespace
}  // namespace wick::conformance::random_test
