#include <math.h>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

TEST(AddOut, AddsWithAlphaAndBroadcasts) {
  TestTensor a = make(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}), b = make(DType::f32, {3}, {10, 20, 30});
  TestTensor out = make_out(DType::f32, {2, 3});
  ASSERT_EQ(call("aten::add.out", {a, b, 2, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {21, 42, 63, 24, 45, 66}));
}

TEST(AddOut, TakesAnyDimOrderAndResizesADynamicOut) {
  TestTensor a = make(DType::f32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, {2, 0, 1});
  TestTensor b = make(DType::f32, {2, 1}, {100, 200}), out = make_dynamic(DType::f32, {4, 2, 2});
  ASSERT_EQ(call("aten::add.out", {a, b, 1, out}), Error::Ok);
  EXPECT_TRUE(has_shape(out, {2, 2, 2}));
  EXPECT_TRUE(equals(out, {101, 102, 203, 204, 105, 106, 207, 208}));
}

TEST(AddOut, SplitWorkGivesTheSameResult) {
  TestTensor a = make(DType::f32, {200, 300}, {1.5}), b = make(DType::f32, {300}, {2}),
             out = make_out(DType::f32, {200, 300});
  ASSERT_EQ(call_split("aten::add.out", {a, b, 1, out}), Error::Ok);
  EXPECT_TRUE(equals(out, std::vector<double>(60000, 3.5)));
}

TEST(AddOut, PromotesAsEager) {
  TestTensor ints = make(DType::i32, {2}, {1, 2}), half = make(DType::f16, {}, {0.5}),
             out_half = make_out(DType::f16, {2});
  ASSERT_EQ(call("aten::add.out", {ints, half, 1, out_half}), Error::Ok);
  EXPECT_TRUE(equals(out_half, {1.5, 2.5}));
  TestTensor out_int = make_out(DType::i32, {2});
  EXPECT_EQ(call("aten::add.out", {ints, half, 1, out_int}), Error::InvalidType);
  EXPECT_EQ(call("aten::add.Scalar_out", {ints, 1.5, 1, out_int}), Error::InvalidType);
}

TEST(AddOut, WrapsIntegersToTheirWidth) {
  TestTensor a = make(DType::i8, {2}, {127, -128}), out = make_out(DType::i8, {2});
  ASSERT_EQ(call("aten::add.Scalar_out", {a, 1, 1, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {-128, -127}));
  TestTensor big = make_ints(DType::i64, {1}, {INT64_MAX}), out_big = make_out(DType::i64, {1});
  ASSERT_EQ(call("aten::add.out", {big, big, 1, out_big}), Error::Ok);
  EXPECT_EQ(ints(out_big)[0], -2);
}

TEST(AddOut, RefusesShapesThatDoNotBroadcast) {
  TestTensor a = make(DType::f32, {2}, {1, 2}), b = make(DType::f32, {3}, {1, 2, 3}), out = make_out(DType::f32, {3});
  EXPECT_EQ(call("aten::add.out", {a, b, 1, out}), Error::InvalidArgument);
}

TEST(SubOut, RefusesBool) {
  TestTensor a = make(DType::boolean, {2}, {1, 0}), b = make(DType::f32, {2}, {1, 2}), out = make_out(DType::f32, {2});
  EXPECT_EQ(call("aten::sub.out", {b, a, 1, out}), Error::InvalidType);
}

TEST(DivOut, RoundsAsPythonDoes) {
  TestTensor a = make(DType::i32, {4}, {7, -7, 7, -7}), b = make(DType::i32, {4}, {2, 2, -2, -2});
  TestTensor out = make_out(DType::i32, {4}), quotient = make_out(DType::f32, {4});
  ASSERT_EQ(call("aten::div.out_mode", {a, b, "floor", out}), Error::Ok);
  EXPECT_TRUE(equals(out, {3, -4, -4, 3}));
  ASSERT_EQ(call("aten::div.out_mode", {a, b, "trunc", out}), Error::Ok);
  EXPECT_TRUE(equals(out, {3, -3, -3, 3}));
  ASSERT_EQ(call("aten::div.out_mode", {a, b, nullptr, quotient}), Error::Ok);
  EXPECT_TRUE(equals(quotient, {3.5, -3.5, -3.5, 3.5}));
  ASSERT_EQ(call("aten::remainder.Tensor_out", {a, b, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {1, 1, -1, -1}));
  ASSERT_EQ(call("aten::fmod.Tensor_out", {a, b, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {1, -1, 1, -1}));
}

TEST(DivOut, IntegerZeroAndTheLowestIntegerAreDefined) {
  TestTensor a = make_ints(DType::i64, {1}, {INT64_MIN}), zero = make(DType::i64, {1}, {0}),
             minus = make(DType::i64, {1}, {-1});
  TestTensor out = make_out(DType::i64, {1});
  EXPECT_EQ(call("aten::floor_divide.out", {a, zero, out}), Error::InvalidArgument);
  EXPECT_EQ(call("aten::remainder.Tensor_out", {a, zero, out}), Error::InvalidArgument);
  ASSERT_EQ(call("aten::floor_divide.out", {a, minus, out}), Error::Ok);
  EXPECT_EQ(ints(out)[0], INT64_MIN);
}

// Eager adds the product of b and -alpha + 0i.
TEST(Sub, OfComplexNumbersHasEagersSignsOfZero) {
  for (const DType dtype : {DType::c64, DType::c128}) {
    TestTensor a = make_complex(dtype, {3}, {{1, -0.0}, {-0.0, 0}, {-0.0, -0.0}});
    TestTensor b = make_complex(dtype, {3}, {{0.5, 0}, {-0.0, -0.0}, {-0.0, 0}});
    TestTensor out = make_out(dtype, {3});
    ASSERT_EQ(call("aten::sub.out", {a, b, 1, out}), Error::Ok);
    const auto found = complex_values(out);
    EXPECT_EQ(found[0].real(), 0.5);
    EXPECT_FALSE(std::signbit(found[0].imag()));
    EXPECT_FALSE(std::signbit(found[1].real()) || std::signbit(found[1].imag()));
    EXPECT_FALSE(std::signbit(found[2].real()));
    EXPECT_TRUE(std::signbit(found[2].imag()));
  }
}

// Eager's answers.
TEST(Reciprocal, OfComplexNumbersAtTheBordersIsEagers) {
  for (const DType dtype : {DType::c64, DType::c128}) {
    TestTensor x = make_complex(
        dtype, {6}, {{0, 0}, {INFINITY, 0}, {0, -INFINITY}, {0x1p-100, 0x1p-100}, {0, 4}, {INFINITY, INFINITY}});
    TestTensor out = make_out(dtype, {6});
    ASSERT_EQ(call("aten::reciprocal.out", {x, out}), Error::Ok);
    const auto found = complex_values(out);
    EXPECT_EQ(found[0].real(), INFINITY);
    EXPECT_TRUE(isnan(found[0].imag()));
    EXPECT_EQ(found[1], std::complex<double>(0, 0));
    EXPECT_EQ(found[2], std::complex<double>(0, 0));
    EXPECT_EQ(found[3], std::complex<double>(0x1p99, -0x1p99));
    EXPECT_EQ(found[4], std::complex<double>(0, -0.25));
    EXPECT_TRUE(isnan(found[5].real()) && isnan(found[5].imag()));
  }
}

TEST(Comparison, NanIsUnequalToAll) {
  TestTensor a = make(DType::f32, {3}, {1, NAN, INFINITY}), b = make(DType::f32, {3}, {1, NAN, 2}),
             out = make_out(DType::boolean, {3});
  ASSERT_EQ(call("aten::eq.Tensor_out", {a, b, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {1, 0, 0}));
  ASSERT_EQ(call("aten::gt.Tensor_out", {a, b, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {0, 0, 1}));
}

TEST(Clamp, KeepsNanAndTakesNone) {
  TestTensor a = make(DType::f32, {4}, {-2, NAN, 0.5, 9}), out = make_out(DType::f32, {4});
  ASSERT_EQ(call("aten::clamp.out", {a, -1, 2.5, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {-1, NAN, 0.5, 2.5}));
  ASSERT_EQ(call("aten::clamp.out", {a, nullptr, 0.25, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {-2, NAN, 0.25, 0.25}));
  EXPECT_EQ(call("aten::clamp.out", {a, nullptr, nullptr, out}), Error::InvalidArgument);
}

TEST(Where, PicksByConditionAndBroadcasts) {
  TestTensor c = make(DType::boolean, {2, 1}, {1, 0}), a = make(DType::f32, {2}, {1, 2}),
             b = make(DType::f32, {}, {-1});
  TestTensor out = make_out(DType::f32, {2, 2});
  ASSERT_EQ(call("aten::where.self_out", {c, a, b, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {1, 2, -1, -1}));
}

TEST(Activation, MatchesEagerValues) {
  TestTensor x = make(DType::f32, {5}, {-3, -0.5, 0, 1, 4}), out = make_out(DType::f32, {5});
  ASSERT_EQ(call("aten::gelu.out", {x, "none", out}), Error::Ok);
  EXPECT_TRUE(near(out, {-0.00404969, -0.15426877, 0, 0.84134475, 3.9998734}, 1e-5, 1e-7));
  ASSERT_EQ(call("aten::gelu.out", {x, "tanh", out}), Error::Ok);
  EXPECT_TRUE(near(out, {-0.0036373, -0.1542859, 0, 0.8411920, 3.9999297}, 1e-5, 1e-6));
  ASSERT_EQ(call("aten::sigmoid.out", {x, out}), Error::Ok);
  EXPECT_TRUE(near(out, {0.0474258736, 0.3775406688, 0.5, 0.7310585786, 0.9820137900}));
  EXPECT_EQ(call("aten::gelu.out", {x, "erf", out}), Error::InvalidArgument);
}

}  // namespace
}  // namespace wick::test
