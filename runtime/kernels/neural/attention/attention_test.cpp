// Attention where scores or values are not finite, or there are none. Expected values are those of eager PyTorch.
#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::attention_test {
namespace {

TestTensor ramp(std::vector<int32_t> sizes, double scale) {
  TestTensor t = make_out(DType::f32, std::move(sizes));
  for_each_element(t, [&](size_t i, auto& element) {
    element = element_from<std::remove_reference_t<decltype(element)>>(scale * (static_cast<double>(i * 7 % 11) - 5));
  });
  return t;
}

std::vector<double> attend(const TestTensor& q, const TestTensor& k, const TestTensor& v, const TestTensor* mask,
                           bool causal) {
  std::vector<int32_t> sizes = q.sizes;
  sizes.back() = v.sizes.back();
  TestTensor out = make_out(DType::f32, sizes);
  const Error error = mask ? call("wick::sdpa.out", {q, k, v, *mask, 0.0, causal, nullptr, false, out})
                           : call("wick::sdpa.out", {q, k, v, nullptr, 0.0, causal, nullptr, false, out});
  EXPECT_EQ(error, Error::Ok);
  return values(out);
}

TEST(Attention, AQueryWithoutColumnsWeighsAllKeysEqually) {
  TestTensor q = make_out(DType::f32, {1, 3, 0}), v = make(DType::f32, {1, 3, 2}, {3, 6, 0, 0, 6, 0});
  EXPECT_EQ(attend(q, q, v, nullptr, false), (std::vector<double>{3, 2, 3, 2, 3, 2}));
  EXPECT_EQ(attend(q, q, v, nullptr, true), (std::vector<double>{3, 6, 1.5, 3, 3, 2}));
}

TEST(Attention, WithoutKeysAllIsZero) {
  TestTensor q = ramp({1, 3, 2}, 1), none = make_out(DType::f32, {1, 0, 2});
  EXPECT_EQ(attend(q, none, none, nullptr, false), std::vector<double>(6, 0.0));
  EXPECT_EQ(attend(q, none, none, nullptr, true), std::vector<double>(6, 0.0));
}

TEST(Attention, CausalDropsScoresOfLaterKeysWhateverTheyAre) {
  TestTensor q = ramp({1, 3, 2}, 0.5), v = ramp({1, 3, 2}, 0.25), k = ramp({1, 3, 2}, 0.25);
  const std::vector<double> finite = attend(q, k, v, nullptr, true);
  for (double bad : {NAN, INFINITY}) {
    k.tensor.as<float>()[4] = static_cast<float>(bad);
    const std::vector<double> out = attend(q, k, v, nullptr, true);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(out[i], finite[i]);
  }
}

TEST(Attention, AValueThatIsNotFiniteSpoilsItsColumnEvenWhereMasked) {
  TestTensor q = ramp({1, 3, 2}, 0.5), k = ramp({1, 3, 2}, 0.25), v = ramp({1, 3, 2}, 0.25);
  const std::vector<double> finite = attend(q, k, v, nullptr, true);
  v.tensor.as<float>()[4] = INFINITY;
  const std::vector<double> out = attend(q, k, v, nullptr, true);
  EXPECT_TRUE(isnan(out[0]) && isnan(out[2]));
  EXPECT_EQ(out[4], INFINITY);
  for (size_t i = 1; i < 6; i += 2) EXPECT_EQ(out[i], finite[i]);
}

TEST(Attention, AMaskAddsToTheScores) {
  TestTensor q = ramp({1, 3, 2}, 0.5), k = ramp({1, 3, 2}, 0.25), v = ramp({1, 3, 2}, 0.25);
  TestTensor tril = make(DType::boolean, {3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1});
  EXPECT_EQ(attend(q, k, v, &tril, false), attend(q, k, v, nullptr, true));
  k.tensor.as<float>()[4] = NAN;
  for (double x : attend(q, k, v, &tril, false)) EXPECT_TRUE(isnan(x));
}

TEST(Attention, RowsWithoutAKeyAreZeroUnlessAValueIsNotFinite) {
  TestTensor q = ramp({1, 3, 2}, 0.5), k = ramp({1, 3, 2}, 0.25), v = ramp({1, 3, 2}, 0.25);
  TestTensor bools = make(DType::boolean, {3, 3}, {1, 1, 1, 0, 0, 0, 1, 1, 1}),
             floats = make(DType::f32, {3, 3}, {0, 0, 0, -INFINITY, -INFINITY, -INFINITY, 0, 0, 0});
  for (const TestTensor* mask : {&bools, &floats}) {
    const std::vector<double> out = attend(q, k, v, mask, false);
    EXPECT_EQ(out[2], 0);
    EXPECT_EQ(out[3], 0);
    EXPECT_TRUE(std::isfinite(out[0]) && std::isfinite(out[5]));
  }
  v.tensor.as<float>()[0] = INFINITY;
  const std::vector<double> out = attend(q, k, v, &bools, false);
  EXPECT_TRUE(isnan(out[2]));
  EXPECT_EQ(out[3], 0);
}

TEST(Attention, ManyKeysWithAllButOneBlockMaskedGiveThatBlock) {
  const int32_t keys = 700;
  TestTensor q = ramp({1, 2, 4}, 0.5), k = ramp({1, keys, 4}, 0.25), v = ramp({1, keys, 3}, 0.25);
  std::vector<double> seen(static_cast<size_t>(keys), 0.0);
  seen[600] = 1;
  TestTensor mask = make(DType::boolean, {1, keys}, seen);
  const std::vector<double> all = values(v), out = attend(q, k, v, &mask, false);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(out[i], all[600 * 3 + i % 3]);
}

}  // namespace
}  // namespace wick::test::attention_test
