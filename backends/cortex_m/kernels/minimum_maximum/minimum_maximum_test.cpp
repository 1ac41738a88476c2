#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m {
namespace {

std::vector<int32_t> broadcast(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  std::vector<int32_t> sizes(std::max(a.size(), b.size()), 1);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int32_t x = d < a.size() ? a[a.size() - 1 - d] : 1, y = d < b.size() ? b[b.size() - 1 - d] : 1;
    sizes[sizes.size() - 1 - d] = x == 1 ? y : x;
  }
  return sizes;
}

/// The element of an operand at a logical position of the output.
size_t operand_index(size_t index, const std::vector<int32_t>& out, const std::vector<int32_t>& operand) {
  size_t result = 0, factor = 1;
  for (size_t d = 0; d < out.size(); ++d) {
    const size_t size = static_cast<size_t>(out[out.size() - 1 - d]), at = index % size;
    index /= size;
    if (d >= operand.size()) continue;
    const size_t own = static_cast<size_t>(operand[operand.size() - 1 - d]);
    result += (own == 1 ? 0 : at) * factor;
    factor *= own;
  }
  return result;
}

TEST(CortexMMinimumMaximum, BroadcastAsNumPyInAnyLayout) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    std::vector<int32_t> full, a, b;
    for (int64_t d = random.in(1, 4); d > 0; --d) full.push_back(static_cast<int32_t>(random.in(1, 4)));
    a = b = full;
    for (std::vector<int32_t>* sizes : {&a, &b}) {
      for (int32_t& size : *sizes) size = random.one_in(3) ? 1 : size;
      sizes->erase(sizes->begin(), sizes->begin() + random.in(0, static_cast<int64_t>(sizes->size())));
    }
    const std::vector<int32_t> sizes = broadcast(a, b);
    const auto order = [&](const std::vector<int32_t>& of) {
      return of.size() == 4 && random.one_in(2) ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{};
    };
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
