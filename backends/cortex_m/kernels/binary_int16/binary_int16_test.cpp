#include "backends/cortex_m/kernels/int16_test_support.h"

namespace wick::cortex_m::binary_int16_test {
namespace {

constexpr char kAdd[] = "wick_cortex_m::add_int16.out", kMul[] = "wick_cortex_m::mul_int16.out";

struct Scale {
  int32_t multiplier, shift;
  explicit Scale(Random& random, int32_t low, int32_t high)
      : multiplier(static_cast<int32_t>(random.in(1 << 30, INT32_MAX)) * (random.one_in(4) ? -1 : 1)),
        shift(static_cast<int32_t>(random.one_in(10) ? random.in(-31, 30) : random.in(low, high))) {}
  int32_t operator()(int64_t value) const { return exact_requantize(value, multiplier, shift); }
};

struct Case {
  std::vector<int32_t> a, b, out;
  std::vector<int64_t> x, y;
  int64_t min, max;
  explicit Case(Random& random) {
    std::tie(a, b) = random_broadcasting(random);
    out = broadcast(a, b);
    x = random_int16(random, product(a));
    y = random_int16(random, product(b));
    min = random.one_in(2) ? -32768 : random.in(-32768, 32767);
    max = random.in(min, 32767);
  }
  template <typename Function>
  std::vector<double> expected(const Function& function) const {
    std::vector<double> result;
    for (size_t i = 0; i < static_cast<size_t>(product(out)); ++i) {
      const int64_t value = function(x[operand_index(i, out, a)], y[operand_index(i, out, b)]);
      result.push_back(static_cast<double>(std::min(std::max(value, min), max)));
    }
    return result;
  }
};

TEST(CortexMBinaryInt16, SumsAreTheirEquation) {
  Random random(71);
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(i);
    const Case c(random);
    const Scale first(random, -6, 0), second(random, -6, 0), last(random, -16, -12);
    TestTensor out = make_out(DType::i16, c.out);
    ASSERT_TRUE(
        runs(kAdd, {make_ints(DType::i16, c.a, c.x), first.multiplier, first.shift, make_ints(DType::i16, c.b, c.y),
                    second.multiplier, second.shift, last.multiplier, last.shift, c.min, c.max, out}));
    ASSERT_TRUE(equals(out, c.expected([&](int64_t a, int64_t b) {
      return int64_t{last(int64_t{first(a * 32768)} + second(b * 32768))};
    })));
  }
}

TEST(CortexMBinaryInt16, ProductsAreTheirEquation) {
  Random random(72);
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(i);
    const Case c(random);
    const Scale scale(random, -16, -12);
    TestTensor out = make_out(DType::i16, c.out);
    ASSERT_TRUE(runs(kMul, {make_ints(DType::i16, c.a, c.x), make_ints(DType::i16, c.b, c.y), scale.multiplier,
                            scale.shift, c.min, c.max, out}));
    ASSERT_TRUE(equals(out, c.expected([&](int64_t a, int64_t b) { return int64_t{scale(a * b)}; })));
  }
}

TEST(CortexMBinaryInt16, ChecksItsArguments) {
  const TestTensor x = make(DType::i16, {2, 3}, {1}), row = make(DType::i16, {3}, {1}),
                   two = make(DType::i16, {2}, {1});
  const TestTensor narrow = make(DType::i8, {2, 3}, {1});
  TestTensor out = make_out(DType::i16, {2, 3}), other = make_out(DType::i16, {3, 3});
  const auto message = [&](const TestTensor& a, const TestTensor& b, int64_t multiplier, int64_t shift, int64_t min,
                           int64_t max, TestTensor& to) {
    const std::string of_mul = run(kMul, {a, b, multiplier, shift, min, max, to}).message;
    EXPECT_EQ(run(kAdd, {a, 1, 0, b, 1, 0, multiplier, shift, min, max, to}).message, of_mul);
    return of_mul;
  };
  EXPECT_EQ(message(x, row, 1, -31, -32768, 32767, out), "");
  EXPECT_NE(message(narrow, row, 1, 0, 0, 0, out).find("not int16"), std::string::npos);
  EXPECT_NE(message(x, narrow, 1, 0, 0, 0, out).find("not int16"), std::string::npos);
  EXPECT_NE(message(x, two, 1, 0, 0, 0, out).find("broadcast"), std::string::npos);
  EXPECT_NE(message(x, row, 1, 0, 0, 0, other).find("broadcast"), std::string::npos);
  EXPECT_NE(message(x, row, int64_t{INT32_MIN}, 0, 0, 0, out).find("multiplier"), std::string::npos);
  EXPECT_NE(message(x, row, 1, 31, 0, 0, out).find("shift"), std::string::npos);
  EXPECT_NE(message(x, row, 1, 0, -32769, 0, out).find("activation_min"), std::string::npos);
  EXPECT_NE(message(x, row, 1, 0, 1, 0, out).find("greater"), std::string::npos);
  EXPECT_NE(run(kAdd, {x, 1, 31, row, 1, 0, 1, 0, 0, 0, out}).message.find("shift"), std::string::npos);
  EXPECT_NE(run(kAdd, {x, 1, 0, row, int64_t{INT32_MIN}, 0, 1, 0, 0, 0, out}).message.find("multiplier"),
            std::string::npos);
}

}  // namespace
}  // namespace wick::cortex_m::binary_int16_test
