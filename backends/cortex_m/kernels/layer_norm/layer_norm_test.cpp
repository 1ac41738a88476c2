#include "backends/cortex_m/kernels/int16_test_support.h"

namespace wick::cortex_m::layer_norm_test {
namespace {

constexpr char kName[] = "wick_cortex_m::layer_norm.out";

struct Case {
  int32_t rows = 1, count = 1;
  bool centered = true;
  int64_t zero = 0, epsilon = 0, epsilon_bits = 0, shift = 20, output_zero = 0, min = -128, max = 127;
  std::vector<int64_t> x = {}, scales = {}, offsets = {};
  DType dtype = DType::i8;

  bool run(std::vector<int64_t>* found) const {
    const TestTensor input = make_ints(dtype, {rows, count}, x), s = make_ints(DType::i32, {count}, scales),
                     o = make_ints(DType::i32, {count}, offsets);
    TestTensor out = make_out(dtype, {rows, count});
    const bool ran =
        runs(kName, {input, s, o, centered, zero, epsilon, shift, output_zero, min, max, epsilon_bits, out});
    *found = ints(out);
    return ran;
  }
};

Case random_case(Random& random) {
  Case c;
  c.rows = static_cast<int32_t>(random.in(1, 3));
  c.count = static_cast<int32_t>(random.one_in(10) ? random.in(1, 3000) : random.in(1, 70));
  c.centered = random.in(0, 2) != 0;
  c.zero = random.in(-128, 127);
  c.epsilon = random.one_in(4) ? 0 : random.in(0, 1000) * c.count;
  if (random.one_in(2)) c.epsilon_bits = random.in(0, 32);
  c.shift = random.in(15, 30);
  c.output_zero = random.in(-128, 127);
  if (random.one_in(3)) c.min = random.in(-128, 0), c.max = random.in(1, 127);
  c.x = random_int8(random, int64_t{c.rows} * c.count);
  if (random.one_in(3)) {
    c.dtype = DType::i16;
    c.zero = c.output_zero = 0;
    c.min = random.in(-32768, 0), c.max = random.in(1, 32767);
    c.epsilon *= 1000;
    c.x = random_int16(random, int64_t{c.rows} * c.count);
  }
  if (random.one_in(5)) c.x.assign(c.x.size(), c.x[0]);  // no variance
  for (int32_t i = 0; i < c.count; ++i) {
    c.scales.push_back(random.in(-(int64_t{60} << c.shift >> 1), (int64_t{60} << c.shift >> 1)) % INT32_MAX);
    c.offsets.push_back(random.in(-100, 100) * 65536 + random.in(0, 65535));
  }
  return c;
}

// Compares with double arithmetic, allowing for the error of a quotient with 20 fractional bits.
TEST(CortexMLayerNorm, IsItsEquation) {
  Random random(21);
  for (int trial = 0; trial < 2000; ++trial) {
    const Case c = random_case(random);
    std::vector<int64_t> found;
    ASSERT_TRUE(c.run(&found));
    for (int32_t row = 0; row < c.rows; ++row) {
      const int64_t* x = c.x.data() + int64_t{row} * c.count;
      double sum = 0, squares = 0;
      for (int32_t i = 0; i < c.count; ++i) {
        const auto value = static_cast<double>(x[i] - c.zero);
        sum += value;
        squares += value * value;
      }
      if (!c.centered) sum = 0;
      const double v =
          c.count * squares - sum * sum + std::ldexp(static_cast<double>(c.epsilon), -static_cast<int>(c.epsilon_bits));
      for (int32_t i = 0; i < c.count; ++i) {
        const double quotient = v == 0 ? 0 : (static_cast<double>(c.count * (x[i] - c.zero)) - sum) / std::sqrt(v);
        const double scale = std::ldexp(static_cast<double>(c.scales[i]), -static_cast<int>(c.shift));
        const double exact =
            quotient * scale + static_cast<double>(c.offsets[i]) / 65536 + static_cast<double>(c.output_zero);
        const double slack = std::abs(scale) * std::ldexp(1 + std::abs(quotient), -20) + std::ldexp(1, -15);
        const double low =
            std::clamp(std::floor(exact + 0.5 - slack), static_cast<double>(c.min), static_cast<double>(c.max));
        const double high =
            std::clamp(std::floor(exact + 0.5 + slack), static_cast<double>(c.min), static_cast<double>(c.max));
        const auto got = static_cast<double>(found[static_cast<size_t>(int64_t{row} * c.count + i)]);
        ASSERT_TRUE(got >= low && got <= high) << trial << ": " << got << " for " << exact;
      }
    }
  }
}

// mean 2, deviation sqrt(5): -3 / sqrt(5) * 10 = -13.4, -1 / sqrt(5) * 10 = -4.5 ..
TEST(CortexMLayerNorm, ARowByHand) {
  Case c{.count = 4, .x = {-1, 1, 3, 5}, .scales = std::vector<int64_t>(4, 10 << 20), .offsets = {0, 0, 0, 65536}};
  std::vector<int64_t> found;
  ASSERT_TRUE(c.run(&found));
  EXPECT_EQ(found, (std::vector<int64_t>{-13, -4, 4, 14}));
}

// mean 0.5, deviation sqrt(0.25 + epsilon); epsilon is 0.75 / 4 of the square of a step.
TEST(CortexMLayerNorm, AVarianceOfOneStepFeelsAFractionOfEpsilon) {
  Case c{.count = 2, .epsilon = 3, .epsilon_bits = 2, .x = {0, 1}, .scales = {100 << 20, 100 << 20}, .offsets = {0, 0}};
  std::vector<int64_t> found;
  ASSERT_TRUE(c.run(&found));
  EXPECT_EQ(found, (std::vector<int64_t>{-76, 76}));
}

TEST(CortexMLayerNorm, TheLargestNumbersDoNotOverflow) {
  Case c{.count = 32768, .zero = -128, .epsilon = int64_t{1} << 60, .shift = 0};
  c.x.assign(32768, -128);
  c.x[0] = 127;
  c.scales.assign(32768, INT32_MAX);
  c.offsets.assign(32768, INT32_MIN);
  std::vector<int64_t> found;
  ASSERT_TRUE(c.run(&found));
  for (const int64_t epsilon : {int64_t{0}, int64_t{1}}) {
    c.epsilon = epsilon;
    ASSERT_TRUE(c.run(&found));
    EXPECT_EQ(found[0], 127);
    EXPECT_EQ(found[1], -128);
  }
}

TEST(CortexMLayerNorm, TheLargestNumbersOfInt16DoNotOverflow) {
  Case c{.count = 32768, .epsilon = 0, .shift = 0, .min = -32768, .max = 32767};
  c.dtype = DType::i16;
  c.scales.assign(32768, INT32_MAX);
  c.offsets.assign(32768, INT32_MIN);
  std::vector<int64_t> found;
  for (const bool centered : {true, false}) {
    c.centered = centered;
    for (const int64_t first : {-32768, 32767}) {
      c.x.assign(32768, -32768);
      c.x[0] = first;
      ASSERT_TRUE(c.run(&found));
      EXPECT_EQ(found[0], first < 0 ? -32768 : 32767);
      c.x.assign(32768, first);
      for (size_t i = 0; i < c.x.size(); i += 2) c.x[i] = -32768;
      ASSERT_TRUE(c.run(&found));
      EXPECT_EQ(found[0], -32768);
    }
  }
}

TEST(CortexMLayerNorm, ChecksItsArguments) {
  const Case good{.count = 2, .x = {1, 2}, .scales = {1, 1}, .offsets = {0, 0}};
  std::vector<int64_t> found;
  EXPECT_TRUE(good.run(&found));
  for (const int64_t epsilon : {int64_t{-1}, (int64_t{1} << 60) + 1}) {
    Case c = good;
    c.epsilon = epsilon;
    EXPECT_FALSE(c.run(&found));
  }
  for (const int64_t bits : {-1, 33}) {
    Case c = good;
    c.epsilon_bits = bits;
    EXPECT_FALSE(c.run(&found));
  }
  for (const int64_t shift : {-1, 41}) {
    Case c = good;
    c.shift = shift;
    EXPECT_FALSE(c.run(&found));
  }
  for (const int64_t zero : {-129, 128}) {
    Case c = good;
    c.zero = zero;
    EXPECT_FALSE(c.run(&found));
    c = good;
    c.output_zero = zero;
    EXPECT_FALSE(c.run(&found));
  }
  Case c = good;
  c.dtype = DType::i16;
  EXPECT_TRUE(c.run(&found));
  c.zero = 1;
  EXPECT_FALSE(c.run(&found)) << "a zero point of int16";
  c = good;
  c.max = 128;
  EXPECT_FALSE(c.run(&found));
  c = good;
  c.min = 5, c.max = 4;
  EXPECT_FALSE(c.run(&found));
  const TestTensor x = make_ints(DType::i8, {1, 2}, {1, 2}), two = make_ints(DType::i32, {2}, {1, 1}),
                   three = make_ints(DType::i32, {3}, {1, 1, 1}), bytes = make_ints(DType::i8, {2}, {1, 1});
  TestTensor out = make_out(DType::i8, {1, 2}), other = make_out(DType::i8, {2, 1}),
             words = make_out(DType::i32, {1, 2});
  // A call as older programs have it: without epsilon_bits.
  const auto call = [&](const TestTensor& s, const TestTensor& o, TestTensor& y) {
    return runs(kName, {x, s, o, true, 0, 1, 20, 0, -128, 127, y});
  };
  EXPECT_TRUE(call(two, two, out));
  EXPECT_FALSE(call(three, two, out));
  EXPECT_FALSE(call(two, three, out));
  EXPECT_FALSE(call(bytes, two, out));
  EXPECT_FALSE(call(two, two, other));
  EXPECT_FALSE(call(two, two, words));
}

}  // namespace
}  // namespace wick::cortex_m::layer_norm_test
