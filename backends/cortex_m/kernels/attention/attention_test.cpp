#include <algorithm>

#include "backends/cortex_m/kernels/attention/attention_test_support.h"

namespace wick::cortex_m::attention_test {
namespace {

constexpr char kName[] = "wick_cortex_m::attention.out";

struct Case {
  int32_t batch = 1, queries = 1, keys = 1, features = 1, outputs = 1;
  std::vector<int64_t> q = {}, k = {}, v = {};
  int64_t query_zero = 0, value_zero = 0, multiplier = 1 << 30, shift = 0;
  bool causal = false;
  int64_t output_zero = 0, output_multiplier = 1 << 30, output_shift = -21;
  int32_t scratch_words = -1;
  int32_t group = 1;                     // how many query batches share keys and values
  std::vector<int32_t> mask_sizes = {};  // {}: none
  std::vector<int64_t> mask = {};
  bool boolean = false;
  int64_t mask_bits = 0;

  int32_t words() const { return scratch_words >= 0 ? scratch_words : keys + (features + 3) / 4 * 4; }
  struct Tensors {
    TestTensor q, k, v, scratch, out, mask;
  };
  Tensors tensors() const {
    return {make_ints(DType::i8, {batch, queries, features}, q),
            make_ints(DType::i8, {batch / group, keys, features}, k),
            make_ints(DType::i8, {batch / group, keys, outputs}, v),
            make_out(DType::i32, {words()}),
            make_out(DType::i8, {batch, queries, outputs}),
            make_ints(boolean ? DType::boolean : DType::i32, mask_sizes,
                      mask_sizes.empty() ? std::vector<int64_t>{0} : mask)};
  }
  std::vector<Arg> args(Tensors& t) const {
    return {t.q,          t.k,
            t.v,          mask_sizes.empty() ? Arg(nullptr) : Arg(t.mask),
            mask_bits,    query_zero,
            value_zero,   multiplier,
            shift,        causal,
            output_zero,  output_multiplier,
            output_shift, Arg::scratch(t.scratch),
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
  randomize_sizes(random, 35, &c);
  c.q = random_int8(random, int64_t{c.batch} * c.queries * c.features);
  c.k = random_int8(random, int64_t{c.batch / c.group} * c.keys * c.features);
  c.v = random_int8(random, int64_t{c.batch / c.group} * c.keys * c.outputs);
  c.query_zero = random.in(-128, 127);
  c.value_zero = random.in(-128, 127);
  c.multiplier = random.in(1 << 30, INT32_MAX);
  c.shift = random.in(-4, 20);
  c.causal = random.one_in(3);
  c.output_zero = random.in(-128, 127);
  c.output_multiplier = random.in(1 << 30, INT32_MAX);
  c.output_shift = random.in(-24, -20);
  c.mask_bits = random.in(0, 6);
  if (random.one_in(2)) add_mask(random, 1 << 20, &c);
  return c;
}

// The exact output of one query and column before it is rounded; `slack`: the largest error that the weights may cause.
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
             at(c.k, (int64_t{b / c.group} * c.keys + n) * c.features + d);
    scores.push_back(masked(c, b, m, n, sum, c.mask_bits));
  }
  const double max = *std::max_element(scores.begin(), scores.end());
  if (max == -HUGE_VAL) return static_cast<double>(c.output_zero);
  const double factor = std::ldexp(static_cast<double>(c.multiplier), static_cast<int>(c.shift) - 31 - 26);
  double sum = 0, total = 0;
  for (int32_t n = 0; n < count; ++n) {
    const double weight = std::exp((scores[static_cast<size_t>(n)] - max) * factor);
    sum += weight * (at(c.v, (int64_t{b / c.group} * c.keys + n) * c.outputs + e) - static_cast<double>(c.value_zero));
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

TEST(CortexMAttention, MaskedKeysHaveNoWeight) {
  Case c{.queries = 2, .keys = 3, .q = {1, 1}, .k = {0, 0, 0}, .v = {80, -80, 16}};
  c.mask_sizes = {1, 2, 3};
  c.mask = {1, 0, 1, 0, 0, 0};
  c.boolean = true;
  c.output_zero = 7;
  std::vector<int64_t> found;
  ASSERT_TRUE(c.run(&found));
  EXPECT_EQ(found[0], 7 + (80 + 16) / 2);
  EXPECT_EQ(found[1], 7) << "a query that sees no key";
  c.boolean = false;
  c.mask = {-5, INT32_MIN, -5, INT32_MIN, INT32_MIN, INT32_MIN};
  ASSERT_TRUE(c.run(&found));
  EXPECT_EQ(found, (std::vector<int64_t>{7 + 48, 7}));
  // At the ends of int32, sums and their differences saturate.
  c.shift = 20;
  c.mask_bits = 5;
  c.mask = {INT32_MAX, INT32_MIN + 1, 0, INT32_MIN + 1, INT32_MIN + 1, INT32_MIN};
  c.q = {127, 127};
  c.k = {127, -128, -128};
  ASSERT_TRUE(c.run(&found));
  EXPECT_EQ(found, (std::vector<int64_t>{87, 87}));
}

TEST(CortexMAttention, ChecksItsMask) {
  Case good{.batch = 2, .queries = 3, .keys = 2, .q = {1, 2, 3, 4, 5, 6}, .k = {1, 2, 3, 4}, .v = {5, 6, 7, 8}};
  std::vector<int64_t> found;
  for (const std::vector<int32_t>& sizes : {std::vector<int32_t>{1, 1, 2}, {2, 1, 2}, {1, 3, 2}, {2, 3, 2}}) {
    good.mask_sizes = sizes;
    good.mask.assign(static_cast<size_t>(product(sizes)), 0);
    EXPECT_TRUE(good.run(&found));
  }
  for (const std::vector<int32_t>& sizes : {std::vector<int32_t>{1, 1, 1}, {3, 1, 2}, {1, 2, 2}, {1, 2}, {1, 1, 3}}) {
    Case c = good;
    c.mask_sizes = sizes;
    c.mask.assign(static_cast<size_t>(product(sizes)), 0);
    EXPECT_TRUE(c.refused("wanted a contiguous mask"));
  }
  // One feature: scores of up to 255 * 128 leave 15 bits.
  good.mask_bits = 15;
  EXPECT_TRUE(good.run(&found));
  for (const int64_t bits : {-1, 16, 31}) {
    Case c = good;
    c.mask_bits = bits;
    EXPECT_TRUE(c.refused("bits of the mask"));
  }
  Case::Tensors t = good.tensors();
  t.mask = make_ints(DType::i16, good.mask_sizes, good.mask);
  EXPECT_TRUE(refuses(kName, good.args(t), "neither int32 nor boolean"));
  good.group = 2;
  good.k = {1, 2}, good.v = {3, 4};
  EXPECT_TRUE(good.run(&found)) << "two heads of the query for one of the keys";
  good.batch = 3, good.q.resize(9), good.mask_sizes = {};
  EXPECT_TRUE(good.run(&found));
  Case::Tensors odd = good.tensors();
  odd.k = make_ints(DType::i8, {2, 2, 1}, {1, 2, 3, 4});
  odd.v = make_ints(DType::i8, {2, 2, 1}, {1, 2, 3, 4});
  EXPECT_TRUE(refuses(kName, good.args(odd), "no multiple"));
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
  EXPECT_TRUE(c.refused("smaller than"));
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
}  // namespace wick::cortex_m::attention_test
