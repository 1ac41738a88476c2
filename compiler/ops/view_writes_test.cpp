// Writes through views. A view that reaches an element twice has no inverse.
#include "compiler/ops/tensor/view_writes.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/ir/builder.h"

namespace wick::compiler {
namespace {

bool has_inverse(const Ints& sizes, const Ints& strides) {
  Graph graph;
  Value* before = graph.add_input(Type::of(DType::f32, {1000}), "x");
  Value* after = graph.add_input(Type::of(DType::f32, sizes), "y");
  Builder b(graph, nullptr);
  return writes::as_strided(b, {None{}, sizes, strides, 0}, before, after) != nullptr;
}

// All views of up to three dimensions of up to three elements, with strides up to 6.
TEST(ViewWrites, AsStridedHasAnInverseIfNoElementIsReachedTwice) {
  constexpr int64_t kSizes = 4, kStrides = 7;
  size_t once = 0, twice = 0;
  for (int64_t code = 0; code < kSizes * kStrides * kSizes * kStrides * kSizes * kStrides; ++code) {
    Ints sizes, strides;
    std::set<int64_t> offsets = {0};
    int64_t rest = code, count = 1;
    for (int d = 0; d < 3; ++d) {
      const int64_t size = rest % kSizes, stride = rest / kSizes % kStrides;
      rest /= kSizes * kStrides;
      sizes.push_back(size);
      strides.push_back(stride);
      count *= size;
      std::set<int64_t> moved;
      for (const int64_t offset : offsets) {
        for (int64_t k = 0; k < size; ++k) moved.insert(offset + k * stride);
      }
      offsets = std::move(moved);
    }
    const bool is_once = static_cast<int64_t>(offsets.size()) == count;
    ASSERT_EQ(has_inverse(sizes, strides), is_once) << code;
    ++(is_once ? once : twice);
  }
  EXPECT_GT(once, 1000u);
  EXPECT_GT(twice, 1000u);
}

TEST(ViewWrites, AsStridedBySizesOfRunTime) {
  const Sym n = Sym::symbol("s0");
  EXPECT_TRUE(has_inverse({n, 3}, {3, 1}));
  EXPECT_TRUE(has_inverse({4, n}, {n, 1}));
  EXPECT_TRUE(has_inverse({n}, {2}));
  EXPECT_TRUE(has_inverse({3, n}, {1, 3}));
  EXPECT_TRUE(has_inverse({n, 3}, {5, 1}));
  EXPECT_FALSE(has_inverse({n, 3}, {2, 1})) << "windows that overlap";
  EXPECT_FALSE(has_inverse({n, 2}, {0, 1}));
}

}  // namespace
}  // namespace wick::compiler
