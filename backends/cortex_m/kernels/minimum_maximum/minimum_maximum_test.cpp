#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m {
namespace {

TEST(CortexMMinimumMaximum, BroadcastAsNumPyInAnyLayout) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const auto [a, b] = random_broadcasting(random);
    const std::vector<int32_t> sizes = broadcast(a, b);
    const auto order = [&](const std::vector<int32_t>& of) { return random_order(random, of); };
    const std::vector<int64_t> x = random_int8(random, product(a)), y = random_int8(random, product(b));
    std::vector<double> smaller, larger;
    for (size_t k = 0; k < static_cast<size_t>(product(sizes)); ++k) {
      const int64_t p = x[operand_index(k, sizes, a)], q = y[operand_index(k, sizes, b)];
      smaller.push_back(static_cast<double>(std::min(p, q)));
      larger.push_back(static_cast<double>(std::max(p, q)));
    }
    const TestTensor ta = make_ints_in(DType::i8, a, x, order(a)), tb = make_ints_in(DType::i8, b, y, order(b));
    TestTensor out = make_out(DType::i8, sizes, order(sizes));
    ASSERT_TRUE(runs("cortex_m::minimum.out", {ta, tb, out}));
    ASSERT_TRUE(equals(out, smaller)) << i;
    ASSERT_TRUE(runs("cortex_m::maximum.out", {ta, tb, out}));
    ASSERT_TRUE(equals(out, larger)) << i;
  }
}

TEST(CortexMMinimumMaximum, ChecksItsArguments) {
  const TestTensor a = make(DType::i8, {2, 3}, {1}), row = make(DType::i8, {3}, {1}), two = make(DType::i8, {2}, {1});
  const TestTensor deep = make(DType::i8, {1, 1, 1, 2, 3}, {1}), wide = make(DType::i32, {2, 3}, {1});
  TestTensor out = make_out(DType::i8, {2, 3}), more = make_out(DType::i8, {3, 3}),
             same = make_out(DType::i8, {1, 2, 3});
  for (const char* name : {"cortex_m::minimum.out", "cortex_m::maximum.out"}) {
    EXPECT_TRUE(runs(name, {a, row, out}));
    EXPECT_TRUE(refuses(name, {a, two, out}, "broadcast"));
    EXPECT_TRUE(refuses(name, {a, row, more}, "broadcast"));
    EXPECT_TRUE(refuses(name, {row, row, out}, "broadcast"));
    EXPECT_TRUE(refuses(name, {a, row, same}, "broadcast"));
    EXPECT_TRUE(refuses(name, {a, deep, out}, "4 dimensions"));
    EXPECT_TRUE(refuses(name, {a, wide, out}, "not int8"));
  }
}

}  // namespace
}  // namespace wick::cortex_m
