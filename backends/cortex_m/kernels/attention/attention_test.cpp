#include <algorithm>

#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m {
namespace {

constexpr char kName[] = "wick_cortex_m::attention.out";

struct Case {
  int32_t batch = 1, queries = 1, keys = 1, features = 1, outputs = 1;
  std::vector<int64_t> q = {}, k = {}, v = {};
  int64_t query_zero = 0, value_zero = 0, multiplier = 1 << 30, shift = 0;
  bool causal = false;
  int64_t output_zero = 0, output_multiplier = 1 << 30, output_shift = -21;
  int32_t scratch_words = -1;

  int32_t words() const { return scratch_words >= 0 ? scratch_words : keys + (features + 3) / 4 * 4; }
  struct Tensors {
    TestTensor q, k, v, scratch, out;
  };
  Tensors tensors() const {
    return {make_ints(DType::i8, {batch, queries, features}, q), make_ints(DType::i8, {batch, keys, features}, k),
            make_ints(DType::i8, {batch, keys, outputs}, v), make_out(DType::i32, {words()}),
            make_out(DType::i8, {batch, queries, outputs})};
  }
  std::vector<Arg> args(Tensors& t) const {
    return {t.q,   t.k,    t.v,         query_zero,        value_zero,   multiplier,
            shift, causal, output_zero, output_multiplier, output_shift, Arg::scratch(t.scratch),
            t.out};
  }
  bool run(std::vector<int64_t>* found) const {
    Tensors t = tensors();
    const bool ran = static_cast<bool>(runs(kName, args(t)));
    *found = ints(t.out);
    return ran;
  }
  testing::AssertionResult refused(const std::string& part) const {
    Tensors t = tensors();
    return refuses(kName, args(t), part);
  }
};

Case random_case(Random& random) {
  Case c;
  c.batch = static_cast<int32_t>(random.in(1, 2));
  c.queries = static_cast<int32_t>(random.in(1, 5));
  c.keys = static_cast<int32_t>(random.one_in(5) ? random.in(1, 300) : random.in(1, 20));
  c.features = static_cast<int32_t>(random.in(1, 35));
  c.outputs = static_cast<int32_t>(random.in(1, 35));
  c.q = random_int8(random, int64_t{c.batch} * c.queries * c.features);
  c.k = random_int8(random, int64_t{c.batch} * c.keys * c.features);
  c.v = random_int8(random, int64_t{c.batch} * c.keys * c.outputs);
  c.query_zero = random.in(-128, 127);
  c.value_zero = random.in(-128, 127);
  c.multiplier = random.in(1 << 30, INT32_MAX);
  c.shift = random.in(-4, 20);
  c.causal = random.one_in(3);
  c.output_zero = random.in(-128, 127);
  c.output_multiplier = random.in(1 << 30, INT32_MAX);
  c.output_shift = random.in(-24, -20);
  return c;
}

// What the numbers say: the output of one query and column before it is rounded, and how far weights may be off.
double exact_output(const Case& c, int32_t b, int32_t m, int32_t e, double* slack) {
  const auto at = [](const std::vector<int64_t>& list, int64_t index) {
    return static_cast<double>(list[static_cast<size_t>(index)]);
  };
  const int32_t count = c.causal ? std::min(m + 1, c.keys) : c.keys;
  std::vector<double> scores;
  for (int32_t n = 0; n < count; ++n) {
    double sum = 0;
    for (int32_t d = 0; d < c.features; ++d)
      sum += (at(c.q, (int64_t{b} * c.queries + m) * c.features + d) - static_cast<double>(c.query_zero)) *
             at(c.k, (int64_t{b} * c.keys + n) * c.features + d);
    scores.push_back(sum);
  }
  const double max = *std::max_element(scores.begin(), scores.end());
  const double factor = std::ldexp(static_cast<double>(c.multiplier), static_cast<int>(c.shift) - 31 - 26);
  double sum = 0, total = 0;
  for (int32_t n = 0; n < count; ++n) {
    const double weight = std::exp((scores[static_cast<size_t>(n)] - max) * factor);
    sum += weight * (at(c.v, (int64_t{b} * c.keys + n) * c.outputs + e) - static_cast<double>(c.value_zero));
    total += weight;
  }
  const double step = std::ldexp(static_cast<double>(c.output_multiplier), static_cast<int>(c.output_shift) - 31 + 22);
  *slack = step * 255 * (count * std::ldexp(1, -22) + std::ldexp(1, -18)) + std::ldexp(1, -8);
  return sum / total * step + static_cast<double>(c.output_zero);
}

TEST(CortexMAttention, IsItsEquation) {
  Random random(31);
  for (int trial = 0; trial < 1500; ++trial) {
    const Case c = random_case(random);
    std::vector<int64_t> found;
    ASSERT_TRUE(c.run(&found));
    for (size_t i = 0; i < found.size(); ++i) {
      const int32_t row = static_cast<int32_t>(i) / c.outputs;
      double slack = 0;
      const double exact =
          exact_output(c, row / c.queries, row % c.queries, static_cast<int32_t>(i) % c.outputs, &slack);
      const double low = std::clamp(std::floor(exact + 0.5 - slack), -128.0, 127.0),
                   high = std::clamp(std::floor(exact + 0.5 + slack), -128.0, 127.0);
      const auto got = static_cast<double>(found[i]);
      ASSERT_TRUE(got >= low && got <= high) << trial << ", " << i << ": " << got << " for " << exact;
    }
  }
}

// Two keys whose scores are ln 3 apart have the weights 3/4 and 1/4.
TEST(CortexMAttention, TwoKeysByHand) {
  // factor 2^26 ln 3 / 100 for a difference of 100: 2^26 * 0.010986.. = 2^31 * 0.703 * 2^-11 = ..
  const double factor = std::ldexp(std::log(3.0) / 100, 26);
  int exponent = 0;
  const double mantissa = std::frexp(factor, &exponent);
  Case c{.queries = 1, .keys = 2, .features = 1, .outputs = 1, .q = {1}, .k = {100, 0}, .v = {80, -80}};
  c.multiplier = static_cast<int64_t>(std::ldexp(mantissa, 31));
  c.shift = exponent;
  std::vector<int64_t> found;
  ASSERT_TRUE(c.run(&found));
  EXPECT_EQ(found[0], 40);
  c.causal = true;
  ASSERT_TRUE(c.run(&found));
  EXPECT_EQ(found[0], 80) << "the first query sees the first key";
}

TEST(CortexMAttention, TheLargestNumbersDoNotOverflow) {
  Case c{.keys = 32768, .features = 1, .outputs = 1, .q = {127}};
  c.query_zero = -128;
  c.k.assign(32768, 127);
  c.v.assign(32768, -128);
  c.value_zero = 127;
  c.shift = 30;
  c.output_shift = -23;  // steps of 4
  std::vector<int64_t> found;
  ASSERT_TRUE(c.run(&found));
  EXPECT_EQ(found[0], -64);
  c.k[7] = -128;
  ASSERT_TRUE(c.run(&found));
  EXPECT_EQ(found[0], -64);
}

TEST(CortexMAttention, ChecksItsArguments) {
  const Case good{.keys = 2, .features = 2, .q = {1, 2}, .k = {1, 2, 3, 4}, .v = {5, 6}};
  std::vector<int64_t> found;
  EXPECT_TRUE(good.run(&found));
  Case c = good;
  c.scratch_words = 5;
  EXPECT_TRUE(c.refused("no word for each key"));
  for (const int64_t zero : {-129, 128}) {
    for (int64_t Case::* field : {&Case::query_zero, &Case::value_zero, &Case::output_zero}) {
      c = good;
      c.*field = zero;
      EXPECT_FALSE(c.run(&found));
    }
  }
  for (const int64_t shift : {-32, 31}) {
    c = good;
    c.shift = shift;
    EXPECT_FALSE(c.run(&found));
    c = good;
    c.output_shift = shift;
    EXPECT_FALSE(c.run(&found));
  }
  c = good;
  c.multiplier = -1;
  EXPECT_TRUE(c.refused("negative"));
  const auto refuses_with = [&](TestTensor Case::Tensors::* field, TestTensor other, const char* part) {
    Case::Tensors t = good.tensors();
    t.*field = std::move(other);
    return refuses(kName, good.args(t), part);
  };
  EXPECT_TRUE(refuses_with(&Case::Tensors::out, make_out(DType::i8, {1, 1, 2}), "wanted a query"));
  EXPECT_TRUE(refuses_with(&Case::Tensors::k, make_ints(DType::i8, {1, 2, 3}, {1, 2, 3, 4, 5, 6}), "wanted a query"));
  EXPECT_TRUE(refuses_with(&Case::Tensors::k, make_ints(DType::i32, {1, 2, 2}, {1, 2, 3, 4}), "not int8"));
  EXPECT_TRUE(refuses_with(&Case::Tensors::v, make_ints(DType::i8, {2, 1}, {1, 2}), "3 dimensions"));
  c = good;
  c.keys = 0, c.k.clear(), c.v.clear();
  EXPECT_TRUE(c.refused("1 to 32768 keys"));
}

}  // namespace
}  // namespace wick::cortex_m
