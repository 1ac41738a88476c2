#include "backends/cortex_m/kernels/int16_test_support.h"

namespace wick::cortex_m::requantize_elements_test {
namespace {

constexpr char kName[] = "wick_cortex_m::requantize.out";

TEST(CortexMRequantizeElements, IsItsEquation) {
  Random random(51);
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(i);
    const DType from = random.pick({DType::i8, DType::i16, DType::i32}),
                to = random.pick({DType::i8, DType::i16, DType::i32});
    const auto high_of = [](DType dtype) { return dtype == DType::i8 ? 127 : dtype == DType::i16 ? 32767 : INT32_MAX; };
    const int64_t from_high = high_of(from), high = high_of(to), units = from == DType::i32 ? 1 : 16384;
    const auto count = static_cast<int32_t>(random.in(1, 40));
    const std::vector<int64_t> x = from == DType::i8    ? random_int8(random, count)
                                   : from == DType::i16 ? random_int16(random, count)
                                                        : random_int32(random, count, INT32_MAX);
    const int64_t zero = from == DType::i32 ? 0 : random.pick<int64_t>({-from_high - 1, 0, from_high}),
                  to_zero = to == DType::i32 ? 0 : random.in(-high - 1, high), min = random.in(-high - 1, high),
                  max = random.in(min, high);
    const auto multiplier = static_cast<int32_t>(random.in(1 << 30, INT32_MAX)),
               shift = static_cast<int32_t>(random.one_in(8) ? random.in(-31, 30) : random.in(-24, -5));
    std::vector<double> expected;
    for (const int64_t element : x) {
      const int64_t value =
          static_cast<int32_t>(int64_t{exact_requantize((element - zero) * units, multiplier, shift)} + to_zero);
      expected.push_back(static_cast<double>(std::min(std::max(value, min), max)));
    }
    TestTensor out = make_out(to, {count});
    ASSERT_TRUE(runs(kName, {make_ints(from, {count}, x), zero, to_zero, multiplier, shift, min, max,
                             static_cast<int64_t>(to), out}));
    ASSERT_TRUE(equals(out, expected));
  }
}

TEST(CortexMRequantizeElements, ChecksItsArguments) {
  const TestTensor x = make(DType::i8, {3}, {1}), wide = make(DType::i16, {3}, {1}),
                   floats = make(DType::f32, {3}, {1});
  TestTensor out = make_out(DType::i16, {3}), narrow = make_out(DType::i8, {3}), longer = make_out(DType::i16, {4});
  const auto message = [&](const TestTensor& from, int64_t zero, int64_t to_zero, int64_t shift, int64_t min,
                           int64_t max, DType dtype, TestTensor& to) {
    return run(kName, {from, zero, to_zero, 1 << 30, shift, min, max, static_cast<int64_t>(dtype), to}).message;
  };
  EXPECT_EQ(message(x, 127, 32767, 30, -32768, 32767, DType::i16, out), "");
  EXPECT_EQ(message(wide, -32768, 127, -31, -128, 127, DType::i8, narrow), "");
  EXPECT_NE(message(floats, 0, 0, 0, 0, 0, DType::i16, out).find("int16 or int32"), std::string::npos);
  EXPECT_NE(message(x, 0, 0, 0, 0, 0, DType::i8, out).find("argument's dtype"), std::string::npos);
  EXPECT_NE(message(x, 0, 0, 0, 0, 0, DType::i16, longer).find("size or layout"), std::string::npos);
  EXPECT_NE(message(x, 128, 0, 0, 0, 0, DType::i16, out).find("zero point"), std::string::npos);
  EXPECT_NE(message(x, 0, 32768, 0, 0, 0, DType::i16, out).find("zero point"), std::string::npos);
  EXPECT_NE(message(wide, 0, 128, 0, 0, 0, DType::i8, narrow).find("zero point"), std::string::npos);
  const TestTensor words = make(DType::i32, {3}, {1});
  EXPECT_EQ(message(words, 0, 127, -31, -128, 127, DType::i8, narrow), "");
  EXPECT_NE(message(words, 1, 0, 0, 0, 0, DType::i8, narrow).find("zero point"), std::string::npos);
  EXPECT_NE(message(x, 0, 0, 31, 0, 0, DType::i16, out).find("shift"), std::string::npos);
  EXPECT_NE(message(x, 0, 0, 0, -32769, 0, DType::i16, out).find("bound"), std::string::npos);
  EXPECT_NE(message(wide, 0, 0, 0, 0, 128, DType::i8, narrow).find("bound"), std::string::npos);
  EXPECT_NE(message(x, 0, 0, 0, 1, 0, DType::i16, out).find("greater"), std::string::npos);
}

}  // namespace
}  // namespace wick::cortex_m::requantize_elements_test
