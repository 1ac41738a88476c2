#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m::add_test {
namespace {

constexpr char kName[] = "cortex_m::quantized_add.out";
constexpr uint8_t kNhwc[] = {0, 2, 3, 1};

struct Input {
  int zero_point = 0;
  OutputParameters scale;

  int64_t operator()(int64_t value) const {
    return exact_requantize((value - zero_point) * (int64_t{1} << 20), scale.multiplier, scale.shift);
  }
};

Input random_input(Random& random) {
  Input input;
  input.zero_point = static_cast<int>(random.in(-128, 127));
  randomize_scale(random, 1, &input.scale);
  input.scale.shift = random.one_in(8) ? input.scale.shift : static_cast<int>(random.in(-4, 0));
  return input;
}

/// Checks the sum of a and b, one of which may be a row of channels. Elements are in memory order.
void check(Random& random, bool a_row, bool b_row) {
  const std::vector<int32_t> sizes = {static_cast<int32_t>(random.in(1, 2)), static_cast<int32_t>(random.in(1, 6)),
                                      static_cast<int32_t>(random.in(1, 4)), static_cast<int32_t>(random.in(1, 4))};
  const std::vector<int32_t> row = {1, sizes[1], 1, 1};
  const std::vector<uint8_t> order(kNhwc, kNhwc + 4);
  const TestTensor a =
      make_ints_in(DType::i8, a_row ? row : sizes, random_int8(random, product(a_row ? row : sizes)), order);
  const TestTensor b =
      make_ints_in(DType::i8, b_row ? row : sizes, random_int8(random, product(b_row ? row : sizes)), order);
  const Input x = random_input(random), y = random_input(random);
  OutputParameters p = random_output(random, 1);
  if (!random.one_in(8)) p.shift = -static_cast<int>(random.in(15, 22));
  std::vector<double> expected;
  const std::vector<int64_t> va = ints(a), vb = ints(b);
  for (int64_t i = 0; i < product(sizes); ++i) {
    const size_t channel = static_cast<size_t>(i / (sizes[2] * sizes[3]) % sizes[1]);
    expected.push_back(p(x(va[a_row ? channel : i]) + y(vb[b_row ? channel : i])));
  }
  TestTensor out = make_out(DType::i8, sizes, order);
  ASSERT_TRUE(runs(kName, {a, x.zero_point, x.scale.multiplier, x.scale.shift, b, y.zero_point, y.scale.multiplier,
                           y.scale.shift, p.offset, p.multiplier, p.shift, p.min, p.max, out}));
  ASSERT_TRUE(equals(out, expected));
  // ExecuTorch 1.2 passes no activation: the result is only clamped to int8.
  const auto sum = [&](std::vector<Arg> limits) {
    TestTensor y_out = make_out(DType::i8, sizes, order);
    std::vector<Arg> args = {a,
                             x.zero_point,
                             x.scale.multiplier,
                             x.scale.shift,
                             b,
                             y.zero_point,
                             y.scale.multiplier,
                             y.scale.shift,
                             p.offset,
                             p.multiplier,
                             p.shift};
    args.insert(args.end(), limits.begin(), limits.end());
    args.emplace_back(y_out);
    EXPECT_TRUE(runs(kName, std::move(args)));
    return y_out.bytes();
  };
  ASSERT_EQ(sum({}), sum({-128, 127}));
}

TEST(CortexMAdd, IsItsEquation) {
  Random random(4);
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(i);
    check(random, random.one_in(4), false);
    check(random, false, random.one_in(4));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(CortexMAdd, WicksOwnBroadcastsAsNumPyInAnyLayout) {
  Random random(14);
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(i);
    const auto [a, b] = random_broadcasting(random);
    const std::vector<int32_t> sizes = broadcast(a, b);
    const std::vector<int64_t> va = random_int8(random, product(a)), vb = random_int8(random, product(b));
    const Input x = random_input(random), y = random_input(random);
    OutputParameters p = random_output(random, 1);
    p.shift = -static_cast<int>(random.in(15, 22));
    std::vector<double> expected;
    for (size_t k = 0; k < static_cast<size_t>(product(sizes)); ++k)
      expected.push_back(p(x(va[operand_index(k, sizes, a)]) + y(vb[operand_index(k, sizes, b)])));
    TestTensor out = make_out(DType::i8, sizes, random_order(random, sizes));
    ASSERT_TRUE(runs("wick_cortex_m::add.out",
                     {make_ints_in(DType::i8, a, va, random_order(random, a)), x.zero_point, x.scale.multiplier,
                      x.scale.shift, make_ints_in(DType::i8, b, vb, random_order(random, b)), y.zero_point,
                      y.scale.multiplier, y.scale.shift, p.offset, p.multiplier, p.shift, p.min, p.max, out}));
    ASSERT_TRUE(equals(out, expected));
  }
  const TestTensor wide = make(DType::i8, {1, 1, 1, 1, 1}, {1}), one = make(DType::i8, {1}, {1});
  TestTensor out = make_out(DType::i8, {1, 1, 1, 1, 1}), two = make_out(DType::i8, {2});
  EXPECT_TRUE(
      refuses("wick_cortex_m::add.out", {wide, 0, 1, 0, one, 0, 1, 0, 0, 1, 0, -128, 127, out}, "4 dimensions"));
  EXPECT_TRUE(refuses("wick_cortex_m::add.out", {one, 0, 1, 0, one, 0, 1, 0, 0, 1, 0, -128, 127, two}, "broadcast"));
}

class CortexMAddChecks : public ::testing::Test {
 protected:
  TestTensor a = make(DType::i8, {2, 3}, {1}), b = make(DType::i8, {2, 3}, {2}), out = make_out(DType::i8, {2, 3});
  std::vector<int64_t> n = {0, 1 << 30, 0, 0, 1 << 30, 0, 0, 1 << 30, -19, -128, 127};

  Outcome call_it() {
    return run(kName, {a, n[0], n[1], n[2], b, n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], out});
  }
};

TEST_F(CortexMAddChecks, NumbersInTheirRanges) {
  struct Range {
    size_t at;
    int64_t lowest, highest;
    const char* part;
  };
  for (const Range& range :
       {Range{0, -128, 127, "zero point"}, Range{1, -INT32_MAX, INT32_MAX, "multiplier"}, Range{2, -31, 30, "shift"},
        Range{3, -128, 127, "zero point"}, Range{4, -INT32_MAX, INT32_MAX, "multiplier"}, Range{5, -31, 30, "shift"},
        Range{6, -128, 127, "zero point"}, Range{7, -INT32_MAX, INT32_MAX, "multiplier"}, Range{8, -31, 30, "shift"},
        Range{9, -128, 127, "activation_min"}, Range{10, -128, 127, "activation_max"}}) {
    const int64_t kept = n[range.at];
    for (const int64_t fits : {range.lowest, range.highest}) {
      n[range.at] = fits;
      EXPECT_EQ(call_it().error, Error::Ok) << range.at;
    }
    for (const int64_t does_not : {range.lowest - 1, range.highest + 1}) {
      n[range.at] = does_not;
      EXPECT_NE(call_it().message.find(range.part), std::string::npos) << range.at << call_it().message;
    }
    n[range.at] = kept;
  }
}

TEST_F(CortexMAddChecks, OperandsOfOneShapeOrARowOfChannels) {
  const auto expect_refused = [&](TestTensor& place, TestTensor other, const char* part) {
    std::swap(place, other);
    EXPECT_NE(call_it().message.find(part), std::string::npos) << call_it().message;
    std::swap(place, other);
  };
  expect_refused(a, make(DType::u8, {2, 3}, {1}), "not int8");
  expect_refused(b, make(DType::i16, {2, 3}, {1}), "not int8");
  expect_refused(out, make_out(DType::u8, {2, 3}), "not int8");
  expect_refused(a, make(DType::i8, {1, 3}, {1}), "equal sizes");
  expect_refused(b, make(DType::i8, {2, 3}, {1}, {1, 0}), "equal sizes");
  expect_refused(out, make_out(DType::i8, {3, 3}), "equal sizes");
  a = make(DType::i8, {1, 3, 2, 2}, {1}, {0, 2, 3, 1});
  out = make_out(DType::i8, {1, 3, 2, 2}, {0, 2, 3, 1});
  b = make(DType::i8, {1, 3, 1, 1}, {1});
  EXPECT_EQ(call_it().error, Error::Ok);
  expect_refused(b, make(DType::i8, {1, 2, 1, 1}, {1}), "equal sizes");
  expect_refused(b, make(DType::i8, {1, 3, 1, 2}, {1}), "equal sizes");
  expect_refused(b, make(DType::i8, {3, 1, 1}, {1}), "equal sizes");
  a = make(DType::i8, {1, 3, 2, 2}, {1});
  out = make_out(DType::i8, {1, 3, 2, 2});
  EXPECT_NE(call_it().message.find("channels-last"), std::string::npos);
}

}  // namespace
}  // namespace wick::cortex_m::add_test
