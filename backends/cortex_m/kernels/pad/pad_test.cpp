#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m::pad_test {
namespace {

constexpr char kName[] = "cortex_m::pad.out";
using List = std::vector<int64_t>;

/// Pads of the logical dimensions, extended to four numbers, aligned right.
List aligned(const List& pads) {
  List list(4 - pads.size(), 0);
  list.insert(list.end(), pads.begin(), pads.end());
  return list;
}
List nhwc(const List& pads) { return {pads[0], pads[2], pads[3], pads[1]}; }

TEST(CortexMPad, SurroundsTheInput) {
  Random random(10);
  for (int i = 0; i < 1000; ++i) {
    const size_t rank = static_cast<size_t>(random.in(1, 4));
    const bool last = rank == 4 && random.one_in(2);
    std::vector<int32_t> from, to;
    List pre, post;
    for (size_t d = 0; d < rank; ++d) {
      from.push_back(static_cast<int32_t>(random.in(last ? 2 : 1, 4)));
      if (rank == 4 && !last) from.back() = std::max(from.back(), 2);
      pre.push_back(random.in(0, 2));
      post.push_back(random.in(0, 2));
      to.push_back(from[d] + static_cast<int32_t>(pre[d] + post[d]));
    }
    const std::vector<uint8_t> order = last ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{};
    const std::vector<int64_t> x = random_int8(random, product(from));
    const int64_t value = random.in(-128, 127);
    std::vector<double> expected(static_cast<size_t>(product(to)), static_cast<double>(value));
    for (size_t k = 0; k < x.size(); ++k) {
      size_t rest = k, place = 0, factor = 1;
      for (size_t d = rank; d-- > 0; rest /= static_cast<size_t>(from[d])) {
        place += (rest % static_cast<size_t>(from[d]) + static_cast<size_t>(pre[d])) * factor;
        factor *= static_cast<size_t>(to[d]);
      }
      expected[place] = static_cast<double>(x[k]);
    }
    TestTensor out = make_out(DType::i8, to, order);
    const TestTensor in = make_ints_in(DType::i8, from, x, order);
    ASSERT_TRUE(runs(kName, {in, last ? nhwc(pre) : aligned(pre), last ? nhwc(post) : aligned(post), value, out}));
    ASSERT_TRUE(equals(out, expected)) << i;
  }
}

// With one channel both orders describe the memory; the output's sizes show which one the lists have.
TEST(CortexMPad, OneChannelTakesTheOrderThatFitsTheOutput) {
  const TestTensor x = make(DType::i8, {1, 1, 2, 2}, {1, 2, 3, 4});
  TestTensor wide = make_out(DType::i8, {1, 1, 2, 3});
  ASSERT_TRUE(runs(kName, {x, List{0, 0, 1, 0}, List{0, 0, 0, 0}, 9, wide}));  // NHWC
  EXPECT_TRUE(equals(wide, {9, 1, 2, 9, 3, 4}));
  ASSERT_TRUE(runs(kName, {x, List{0, 0, 0, 1}, List{0, 0, 0, 0}, 9, wide}));  // NCHW
  EXPECT_TRUE(equals(wide, {9, 1, 2, 9, 3, 4}));
}

TEST(CortexMPad, ChecksItsArguments) {
  const TestTensor x = make(DType::i8, {2}, {1}), deep = make(DType::i8, {1, 1, 1, 1, 2}, {1});
  TestTensor out = make_out(DType::i8, {4}), same = make_out(DType::i8, {1, 4}),
             five = make_out(DType::i8, {1, 1, 1, 1, 4});
  const List pads = {0, 0, 0, 1};
  EXPECT_TRUE(runs(kName, {x, pads, pads, -128, out}));
  EXPECT_TRUE(runs(kName, {x, pads, pads, 127, out}));
  for (const int value : {-129, 128}) EXPECT_TRUE(refuses(kName, {x, pads, pads, value, out}, "pad_value"));
  EXPECT_TRUE(refuses(kName, {x, List{0, 0, 1}, pads, 0, out}, "4 numbers"));
  EXPECT_TRUE(refuses(kName, {x, pads, List{0, 0, 0, 0, 1}, 0, out}, "4 numbers"));
  EXPECT_TRUE(refuses(kName, {x, List{0, 0, 0, -1}, List{0, 0, 0, 3}, 0, out}, "negative"));
  EXPECT_TRUE(refuses(kName, {x, List{0, 0, 0, int64_t{1} << 31}, pads, 0, out}, "31 bits"));
  EXPECT_TRUE(refuses(kName, {x, List{0, 0, 0, 2}, pads, 0, out}, "sizes of the output"));
  EXPECT_TRUE(refuses(kName, {x, List{0, 0, 1, 1}, pads, 0, out}, "sizes of the output"));
  EXPECT_TRUE(refuses(kName, {x, pads, pads, 0, same}, "rank"));
  EXPECT_TRUE(refuses(kName, {deep, pads, pads, 0, five}, "rank"));
}

}  // namespace
}  // namespace wick::cortex_m::pad_test
