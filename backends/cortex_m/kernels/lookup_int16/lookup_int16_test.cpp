#include "backends/cortex_m/kernels/int16_test_support.h"

namespace wick::cortex_m::lookup_int16_test {
namespace {

constexpr char kName[] = "wick_cortex_m::lookup_int16.out";

TEST(CortexMLookupInt16, IsALineBetweenElementsOfTheTable) {
  Random random(81);
  for (int i = 0; i < 600; ++i) {
    SCOPED_TRACE(i);
    const int64_t n = random.in(1, random.one_in(20) ? 15 : 10), width = int64_t{65536} >> n;
    const std::vector<int64_t> table =
        random_int32(random, (int64_t{1} << n) + 1, random.one_in(2) ? INT32_MAX : 1 << 19);
    const int64_t min = random.one_in(2) ? -32768 : random.in(-32768, 32767), max = random.in(min, 32767);
    const auto count = static_cast<int32_t>(random.in(1, 40));
    std::vector<int64_t> x = random_int16(random, count);
    x[0] = random.pick<int64_t>({-32768, 0, 32767});
    std::vector<double> expected;
    for (const int64_t element : x) {
      const size_t j = static_cast<size_t>((element + 32768) / width);
      const int64_t rest = (element + 32768) % width;
      // Each step wraps at 32 bits.
      const auto wrap = [](int64_t value) { return int64_t{static_cast<int32_t>(static_cast<uint32_t>(value))}; };
      const int64_t rise = floor_divide(wrap(wrap(table[j + 1] - table[j]) * rest), width);
      const int64_t value = floor_divide(wrap(table[j] + rise + 32), 64);
      expected.push_back(static_cast<double>(std::min(std::max(value, min), max)));
    }
    TestTensor out = make_out(DType::i16, {count});
    ASSERT_TRUE(runs(kName, {make_ints(DType::i16, {count}, x),
                             make_ints(DType::i32, {static_cast<int32_t>(table.size())}, table), min, max, out}));
    ASSERT_TRUE(equals(out, expected));
  }
}

TEST(CortexMLookupInt16, ChecksItsArguments) {
  const TestTensor x = make(DType::i16, {3}, {1});
  TestTensor out = make_out(DType::i16, {3}), longer = make_out(DType::i16, {4}), narrow = make_out(DType::i8, {3});
  const auto table = [](int32_t count) { return make(DType::i32, {count}, {1}); };
  for (const int32_t fits : {3, 5, 257, 32769}) EXPECT_TRUE(runs(kName, {x, table(fits), -32768, 32767, out}));
  for (const int32_t wrong : {0, 1, 2, 4, 256, 32768, 32770, 65537})
    EXPECT_TRUE(refuses(kName, {x, table(wrong), -32768, 32767, out}, "2^n + 1"));
  EXPECT_TRUE(refuses(kName, {x, make(DType::i16, {3}, {1}), 0, 0, out}, "table is not int32"));
  EXPECT_TRUE(refuses(kName, {x, make(DType::i32, {1, 3}, {1}), 0, 0, out}, "row"));
  EXPECT_TRUE(refuses(kName, {x, table(3), -32768, 32767, longer}, "size"));
  EXPECT_TRUE(refuses(kName, {x, table(3), -32768, 32767, narrow}, "output is not int16"));
  EXPECT_TRUE(refuses(kName, {x, table(3), 1, 0, out}, "greater"));
  EXPECT_TRUE(refuses(kName, {x, table(3), -32769, 0, out}, "activation_min"));
  EXPECT_TRUE(refuses(kName, {make(DType::i8, {3}, {1}), table(3), 0, 0, out}, "input is not int16"));
}

}  // namespace
}  // namespace wick::cortex_m::lookup_int16_test
