#include "backends/cortex_m/kernels/int16_test_support.h"

namespace wick::cortex_m::graded_lookup_int16_test {
namespace {

constexpr char kName[] = "wick_cortex_m::graded_lookup_int16.out";

int64_t half_size(int64_t n) { return ((16 - n) << n) + 2; }

int64_t value_at(const std::vector<int64_t>& table, size_t first, int64_t n, int64_t x) {
  const auto wrap = [](int64_t value) { return int64_t{static_cast<int32_t>(static_cast<uint32_t>(value))}; };
  int64_t e = 0;
  while (x >> e >= int64_t{2} << n) ++e;
  const auto j = first + static_cast<size_t>((e << n) + (x >> e));
  const int64_t width = int64_t{1} << e, rest = x % width;
  if (rest == 0) return table[j];
  return wrap(table[j] + floor_divide(wrap(wrap(table[j + 1] - table[j]) * rest), width));
}

TEST(CortexMGradedLookupInt16, IsALineBetweenElementsOfTheTable) {
  Random random(101);
  for (int i = 0; i < 600; ++i) {
    SCOPED_TRACE(i);
    const int64_t n = random.in(1, random.one_in(20) ? 14 : 8), half = half_size(n);
    const bool constant = random.one_in(2);
    const std::vector<int64_t> table =
        random_int32(random, constant ? half + 1 : 2 * half, random.one_in(2) ? INT32_MAX : 1 << 19);
    const int64_t min = random.one_in(2) ? -32768 : random.in(-32768, 32767), max = random.in(min, 32767);
    const auto count = static_cast<int32_t>(random.in(8, 40));
    std::vector<int64_t> x = random_int16(random, count);
    const int64_t edges[] = {-32768, 0, 32767, -1, 1, -32767, int64_t{1} << random.in(0, 14)};
    std::copy(std::begin(edges), std::end(edges), x.begin());
    std::vector<double> expected;
    for (const int64_t element : x) {
      const int64_t value = element >= 0 ? value_at(table, 0, n, element)
                            : constant   ? table.back()
                                         : value_at(table, static_cast<size_t>(half), n, -element);
      const auto rounded = int64_t{static_cast<int32_t>(static_cast<uint32_t>(value + 32))};
      expected.push_back(static_cast<double>(std::min(std::max(floor_divide(rounded, 64), min), max)));
    }
    TestTensor out = make_out(DType::i16, {count});
    ASSERT_TRUE(runs(kName, {make_ints(DType::i16, {count}, x),
                             make_ints(DType::i32, {static_cast<int32_t>(table.size())}, table), min, max, out}));
    ASSERT_TRUE(equals(out, expected));
  }
}

TEST(CortexMGradedLookupInt16, ChecksItsArguments) {
  const TestTensor x = make(DType::i16, {3}, {1});
  TestTensor out = make_out(DType::i16, {3}), longer = make_out(DType::i16, {4}), narrow = make_out(DType::i8, {3});
  const auto table = [](int64_t count) { return make(DType::i32, {static_cast<int32_t>(count)}, {1}); };
  for (const int64_t n : {1, 5, 14}) {
    EXPECT_TRUE(runs(kName, {x, table(half_size(n) + 1), -32768, 32767, out}));
    EXPECT_TRUE(runs(kName, {x, table(2 * half_size(n)), -32768, 32767, out}));
    EXPECT_TRUE(refuses(kName, {x, table(half_size(n)), -32768, 32767, out}, "no grading"));
  }
  for (const int64_t wrong : {0, 1, 18, 65536})
    EXPECT_TRUE(refuses(kName, {x, table(wrong), -32768, 32767, out}, "no grading"));
  EXPECT_TRUE(refuses(kName, {x, make(DType::i16, {33}, {1}), 0, 0, out}, "table is not int32"));
  EXPECT_TRUE(refuses(kName, {x, make(DType::i32, {1, 33}, {1}), 0, 0, out}, "row"));
  EXPECT_TRUE(refuses(kName, {x, table(33), -32768, 32767, longer}, "size"));
  EXPECT_TRUE(refuses(kName, {x, table(33), -32768, 32767, narrow}, "output is not int16"));
  EXPECT_TRUE(refuses(kName, {x, table(33), 1, 0, out}, "greater"));
  EXPECT_TRUE(refuses(kName, {make(DType::i8, {3}, {1}), table(33), 0, 0, out}, "input is not int16"));
}

}  // namespace
}  // namespace wick::cortex_m::graded_lookup_int16_test
