#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m::activation_test {
namespace {

constexpr char kName[] = "cortex_m::quantized_activation.out";

TEST(CortexMActivation, ReadsTheTableForAllValues) {
  std::vector<int64_t> all, table;
  std::vector<double> expected;
  for (int64_t i = 0; i < 256; ++i) {
    all.push_back(i - 128);
    table.push_back((i * 37 + 11) % 256 - 128);
    expected.push_back(static_cast<double>(table.back()));
  }
  const TestTensor x = make_ints(DType::i8, {4, 64}, all), lut = make_ints(DType::i8, {256}, table);
  TestTensor out = make_out(DType::i8, {4, 64});
  ASSERT_TRUE(runs(kName, {x, lut, out}));
  EXPECT_TRUE(equals(out, expected));
}

TEST(CortexMActivation, ChecksItsArguments) {
  const TestTensor x = make(DType::i8, {3}, {1}), lut = make(DType::i8, {256}, {1}), few = make(DType::i8, {255}, {1});
  const TestTensor many = make(DType::i8, {257}, {1}), unsigned_lut = make(DType::u8, {256}, {1});
  TestTensor out = make_out(DType::i8, {3}), more = make_out(DType::i8, {4});
  EXPECT_TRUE(runs(kName, {x, lut, out}));
  EXPECT_TRUE(refuses(kName, {x, few, out}, "256"));
  EXPECT_TRUE(refuses(kName, {x, many, out}, "256"));
  EXPECT_TRUE(refuses(kName, {x, unsigned_lut, out}, "table is not int8"));
  EXPECT_TRUE(refuses(kName, {unsigned_lut, lut, out}, "input is not int8"));
  EXPECT_TRUE(refuses(kName, {x, lut, more}, "sizes"));
}

}  // namespace
}  // namespace wick::cortex_m::activation_test
