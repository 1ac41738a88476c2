#include <algorithm>

#include "backends/cortex_m/kernels/attention/attention_test_support.h"
#include "backends/cortex_m/kernels/int16_test_support.h"

namespace wick::cortex_m::attention_int16_test {
namespace {

constexpr char kName[] = "wick_cortex_m::attention_int16.out";

struct Case {
  int32_t batch = 1, queries = 1, keys = 1, features = 1, outputs = 1;
  int32_t group = 1;  // how many query batches share keys and values
  std::vector<int64_t> q = {}, k = {}, v = {};
  int64_t multiplier = 1 << 30, shift = 0;
  bool causal = false;
  OutputParameters to = {1 << 30, -14, 0, -32768, 32767};  // values as they are
  std::vector<int32_t> mask_sizes = {};                    // {}: none
  std::vector<int64_t> mask = {};
  bool boolean = false;
  int32_t scratch_words = -1;
  DType dtype = DType::i16;

  struct Tensors {
    TestTensor q, k, v, scratch, out, mask;
  };
  Tensors tensors() const {
    return {make_ints(dtype, {batch, queries, features}, q),
            make_ints(DType::i16, {batch / group, keys, features}, k),
            make_ints(DType::i16, {batch / group, keys, outputs}, v),
            make_out(DType::i32, {scratch_words >= 0 ? scratch_words : keys}),
            make_out(DType::i16, {batch, queries, outputs}),
            make_ints(boolean ? DType::boolean : DType::i32, mask_sizes,
                      mask_sizes.empty() ? std::vector<int64_t>{0} : mask)};
  }
  std::vector<Arg> args(Tensors& t) const {
    return {t.q,
            t.k,
            t.v,
            mask_sizes.empty() ? Arg(nullptr) : Arg(t.mask),
            multiplier,
            shift,
            causal,
            int64_t{to.multiplier},
            int64_t{to.shift},
            int64_t{to.min},
            int64_t{to.max},
            Arg::scratch(t.scratch),
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
  randomize_sizes(random, 20, &c);
  c.q = random_int16(random, int64_t{c.batch} * c.queries * c.features);
  c.k = random_int16(random, int64_t{c.batch / c.group} * c.keys * c.features);
  c.v = random_int16(random, int64_t{c.batch / c.group} * c.keys * c.outputs);
  c.multiplier = random.in(1 << 30, INT32_MAX);
  c.shift = random.in(-6, 8);
  c.causal = random.one_in(3);
  c.to.multiplier = static_cast<int32_t>(random.in(1 << 30, INT32_MAX));
  c.to.shift = static_cast<int32_t>(random.in(-16, -13));
  if (random.one_in(4)) c.to.min = -100, c.to.max = 3000;
  if (random.one_in(2)) add_mask(random, 1 << 26, &c);
  return c;
}

// The exact output of one query and column before it is rounded; `slack`: the largest error that is allowed.
double exact_output(const Case& c, int32_t b, int32_t m, int32_t e, double* slack) {
  const auto at = [](const std::vector<int64_t>& list, int64_t index) {
    return static_cast<double>(list[static_cast<size_t>(index)]);
  };
  int score_shift = 0;
  while (1 << score_shift < c.features) ++score_shift;
  const int32_t count = c.causal ? std::min(m + 1, c.keys) : c.keys;
  std::vector<double> scores;
  for (int32_t n = 0; n < count; ++n) {
    double sum = 0;
    for (int32_t d = 0; d < c.features; ++d)
      sum += at(c.q, (int64_t{b} * c.queries + m) * c.features + d) *
             at(c.k, (int64_t{b / c.group} * c.keys + n) * c.features + d);
    scores.push_back(masked(c, b, m, n, std::ldexp(sum, -score_shift)));
  }
  const double max = *std::max_element(scores.begin(), scores.end());
  if (max == -HUGE_VAL) return 0;
  const double factor = std::ldexp(static_cast<double>(c.multiplier), static_cast<int>(c.shift) - 31 - 26);
  double sum = 0, total = 0;
  for (int32_t n = 0; n < count; ++n) {
    const double weight = std::exp((scores[static_cast<size_t>(n)] - max) * factor);
    sum += weight * at(c.v, (int64_t{b / c.group} * c.keys + n) * c.outputs + e);
    total += weight;
  }
  const double step = std::ldexp(static_cast<double>(c.to.multiplier), c.to.shift - 31 + 15);
  // Half a unit of scores, of exponents and of weights, and the error of exp.
  *slack = step * 65535 * (factor / 2 + std::ldexp(1, -21) + count * std::ldexp(1, -30)) + std::ldexp(1, -8);
  return sum / total * step;
}

TEST(CortexMAttentionInt16, IsItsEquation) {
  Random random(91);
  for (int trial = 0; trial < 1500; ++trial) {
    const Case c = random_case(random);
    std::vector<int64_t> found;
    ASSERT_TRUE(c.run(&found));
    for (size_t i = 0; i < found.size(); ++i) {
      const int32_t row = static_cast<int32_t>(i) / c.outputs;
      double slack = 0;
      const double exact =
          exact_output(c, row / c.queries, row % c.queries, static_cast<int32_t>(i) % c.outputs, &slack);
      const double low = std::clamp<double>(std::floor(exact + 0.5 - slack), c.to.min, c.to.max),
                   high = std::clamp<double>(std::floor(exact + 0.5 + slack), c.to.min, c.to.max);
      const auto got = static_cast<double>(found[i]);
      ASSERT_TRUE(got >= low && got <= high) << trial << ", " << i << ": " << got << " for " << exact;
    }
  }
}

// Two keys whose scores are ln 3 apart have the weights 3/4 and 1/4.
TEST(CortexMAttentionInt16, ARowByHand) {
  const auto multiplier = static_cast<int64_t>(std::nearbyint(std::ldexp(std::log(3.0), 30)));  // ln 3 * 2^26 * 2^-26
  const Case c{.keys = 2, .q = {1}, .k = {3, 2}, .v = {20000, -8000}, .multiplier = multiplier, .shift = 27};
  std::vector<int64_t> found;
  ASSERT_TRUE(c.run(&found));
  EXPECT_EQ(found, std::vector<int64_t>{13000});
}

TEST(CortexMAttentionInt16, TheLargestNumbersDoNotOverflow) {
  Case c{.keys = 2, .features = 1 << 15, .multiplier = INT32_MAX, .shift = 30};
  c.q.assign(1 << 15, -32768);
  c.k.assign(1 << 16, -32768);
  std::fill(c.k.begin() + (1 << 15), c.k.end(), 32767);
  c.v = {-32768, 1};
  std::vector<int64_t> found;
  ASSERT_TRUE(c.run(&found));
  EXPECT_EQ(found, std::vector<int64_t>{-32768});
  c.mask_sizes = {1, 1, 2};
  c.mask = {INT32_MIN + 1, INT32_MAX};
  ASSERT_TRUE(c.run(&found));
  EXPECT_EQ(found, std::vector<int64_t>{1});
  c.mask = {INT32_MIN, INT32_MIN};
  ASSERT_TRUE(c.run(&found));
  EXPECT_EQ(found, std::vector<int64_t>{0}) << "it sees no key";
}

TEST(CortexMAttentionInt16, ChecksItsArguments) {
  const Case good{.keys = 2, .q = {1}, .k = {1, 2}, .v = {3, 4}};
  std::vector<int64_t> found;
  EXPECT_TRUE(good.run(&found));
  Case c = good;
  c.dtype = DType::i8;
  EXPECT_TRUE(c.refused("not int16"));
  c = good;
  c.multiplier = -1;
  EXPECT_TRUE(c.refused("negative"));
  c = good;
  c.scratch_words = 1;
  EXPECT_TRUE(c.refused("smaller than"));
  c = good;
  c.to.min = 5, c.to.max = 4;
  EXPECT_TRUE(c.refused("greater"));
  c = good;
  c.to.multiplier = INT32_MIN;
  EXPECT_TRUE(c.refused(""));
  c = good;
  c.mask_sizes = {1, 1, 3}, c.mask = {0, 0, 0};
  EXPECT_TRUE(c.refused("mask"));
}

}  // namespace
}  // namespace wick::cortex_m::attention_int16_test
