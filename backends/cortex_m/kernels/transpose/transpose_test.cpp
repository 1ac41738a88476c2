#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m::transpose_test {
namespace {

constexpr char kName[] = "cortex_m::transpose.out";

TEST(CortexMTranspose, MovesEachElementInAnyLayout) {
  Random random(9);
  for (int i = 0; i < 1000; ++i) {
    std::vector<int64_t> perm;
    for (int64_t d = random.in(1, 4); d > 0; --d)
      perm.insert(perm.begin() + random.in(0, static_cast<int64_t>(perm.size())), static_cast<int64_t>(perm.size()));
    std::vector<int32_t> from, to;
    for (size_t d = 0; d < perm.size(); ++d)
      from.push_back(static_cast<int32_t>(random.in(random.one_in(30) ? 0 : 1, 5)));
    for (const int64_t d : perm) to.push_back(from[d]);
    const std::vector<uint8_t> order =
        from.size() == 4 && random.one_in(2) ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{};
    const std::vector<int64_t> x = random_int8(random, product(from));
    std::vector<double> expected(x.size());
    for (size_t k = 0; k < x.size(); ++k) {
      std::vector<int64_t> at(from.size());
      size_t rest = k, place = 0;
      for (size_t d = from.size(); d-- > 0; rest /= static_cast<size_t>(from[d]))
        at[d] = static_cast<int64_t>(rest % static_cast<size_t>(from[d]));
      for (size_t d = 0; d < to.size(); ++d)
        place = place * static_cast<size_t>(to[d]) + static_cast<size_t>(at[perm[d]]);
      expected[place] = static_cast<double>(x[k]);
    }
    TestTensor out = make_out(DType::i8, to);
    ASSERT_TRUE(runs(kName, {make_ints_in(DType::i8, from, x, order), perm, out}));
    ASSERT_TRUE(equals(out, expected)) << i;
  }
}

TEST(CortexMTranspose, ChecksItsArguments) {
  const TestTensor x = make(DType::i8, {2, 3}, {1}), deep = make(DType::i8, {1, 1, 1, 1, 1}, {1}),
                   scalar = make(DType::i8, {}, {1});
  TestTensor out = make_out(DType::i8, {3, 2}), same = make_out(DType::i8, {2, 3}),
             five = make_out(DType::i8, {1, 1, 1, 1, 1});
  TestTensor none = make_out(DType::i8, {}), wide = make_out(DType::i16, {3, 2});
  using List = std::vector<int>;
  EXPECT_TRUE(runs(kName, {x, List{1, 0}, out}));
  for (const List& bad : {List{1, 1}, List{1, -1}, List{1, 2}})
    EXPECT_TRUE(refuses(kName, {x, bad, out}, "permutation"));
  for (const List& bad : {List{}, List{1}, List{1, 0, 2}}) EXPECT_TRUE(refuses(kName, {x, bad, out}, "rank"));
  EXPECT_TRUE(refuses(kName, {x, List{1, 0}, same}, "permuted sizes"));
  EXPECT_TRUE(refuses(kName, {deep, List{0, 1, 2, 3, 4}, five}, "rank"));
  EXPECT_TRUE(refuses(kName, {scalar, List{}, none}, "rank"));
  EXPECT_TRUE(refuses(kName, {x, List{1, 0}, wide}, "not int8"));
}

}  // namespace
}  // namespace wick::cortex_m::transpose_test
