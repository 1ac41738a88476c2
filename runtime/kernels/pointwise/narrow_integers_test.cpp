// Integers narrower than 64 bits against the same formulas in int64, wrapped to the width.
#include <functional>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::narrow_integers_test {
namespace {

const DType kNarrow[] = {DType::i8, DType::u8, DType::i16, DType::i32};

int64_t lowest(DType dtype) { return dtype == DType::u8 ? 0 : -(int64_t{1} << (8 * dtype_size_bytes(dtype) - 1)); }
int64_t highest(DType dtype) { return dtype == DType::u8 ? 255 : -lowest(dtype) - 1; }
int64_t wrapped(DType dtype, int64_t v) {
  switch (dtype) {
    case DType::i8: return static_cast<int8_t>(v);
    case DType::u8: return static_cast<uint8_t>(v);
    case DType::i16: return static_cast<int16_t>(v);
    case DType::i32: return static_cast<int32_t>(v);
    default: return v;
  }
}

/// More than one chunk of numbers, the ends of the range among them.
std::vector<int64_t> numbers(DType dtype, int64_t count, int64_t step) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t ends[] = {lowest(dtype), highest(dtype), 0, 1, lowest(dtype) + 1, highest(dtype) - 1};
    out.push_back(i * step % 7 < 6 ? ends[i * step % 7] : wrapped(dtype, i * 2654435761));
  }
  return out;
}

struct Binary {
  const char* name;
  bool has_alpha, is_comparison;
  std::function<int64_t(int64_t, int64_t)> f;
};
const Binary kBinary[] = {
    {"aten::add.out", true, false, [](int64_t a, int64_t b) { return a + 3 * b; }},
    {"aten::sub.out", true, false, [](int64_t a, int64_t b) { return a - 3 * b; }},
    {"aten::mul.out", false, false, [](int64_t a, int64_t b) { return a * b; }},
    {"aten::maximum.out", false, false, [](int64_t a, int64_t b) { return a > b ? a : b; }},
    {"aten::minimum.out", false, false, [](int64_t a, int64_t b) { return a < b ? a : b; }},
    {"aten::bitwise_and.Tensor_out", false, false, [](int64_t a, int64_t b) { return a & b; }},
    {"aten::bitwise_or.Tensor_out", false, false, [](int64_t a, int64_t b) { return a | b; }},
    {"aten::bitwise_xor.Tensor_out", false, false, [](int64_t a, int64_t b) { return a ^ b; }},
    {"aten::eq.Tensor_out", false, true, [](int64_t a, int64_t b) { return a == b; }},
    {"aten::ne.Tensor_out", false, true, [](int64_t a, int64_t b) { return a != b; }},
    {"aten::lt.Tensor_out", false, true, [](int64_t a, int64_t b) { return a < b; }},
    {"aten::le.Tensor_out", false, true, [](int64_t a, int64_t b) { return a <= b; }},
    {"aten::gt.Tensor_out", false, true, [](int64_t a, int64_t b) { return a > b; }},
    {"aten::ge.Tensor_out", false, true, [](int64_t a, int64_t b) { return a >= b; }},
};

void check_binary(const Binary& op, DType dtype, std::vector<int32_t> a_sizes, std::vector<int32_t> b_sizes) {
  const int32_t rows = a_sizes[0], columns = a_sizes[1];
  const auto x = numbers(dtype, rows * columns, 1), y = numbers(dtype, b_sizes[0] * b_sizes[1], 3);
  TestTensor a = make_ints(dtype, a_sizes, x), b = make_ints(dtype, b_sizes, y),
             out = make_out(op.is_comparison ? DType::boolean : dtype, a_sizes);
  ASSERT_EQ(op.has_alpha ? call(op.name, {a, b, 3, out}) : call(op.name, {a, b, out}), Error::Ok) << op.name;
  std::vector<int64_t> expected;
  for (int32_t i = 0; i < rows; ++i)
    for (int32_t j = 0; j < columns; ++j)
      expected.push_back(wrapped(op.is_comparison ? DType::i64 : dtype,
                                 op.f(x[static_cast<size_t>(i * columns + j)],
                                      y[static_cast<size_t>(i % b_sizes[0] * b_sizes[1] + j % b_sizes[1])])));
  EXPECT_EQ(ints(out), expected) << op.name << " of " << dtype_name(dtype);
}

TEST(NarrowIntegers, BinaryOperatorsAgreeWithInt64WrappedToTheWidth) {
  for (const Binary& op : kBinary) {
    for (DType dtype : kNarrow) {
      check_binary(op, dtype, {5, 130}, {5, 130});
      check_binary(op, dtype, {5, 130}, {1, 130});
      check_binary(op, dtype, {5, 130}, {5, 1});
      check_binary(op, dtype, {5, 130}, {1, 1});
    }
  }
}

TEST(NarrowIntegers, UnaryOperatorsAgreeWithInt64WrappedToTheWidth) {
  const std::pair<const char*, std::function<int64_t(int64_t)>> unary[] = {
      {"aten::abs.out", [](int64_t x) { return x < 0 ? -x : x; }},
      {"aten::neg.out", [](int64_t x) { return -x; }},
      {"aten::relu.out", [](int64_t x) { return x < 0 ? 0 : x; }},
      {"aten::bitwise_not.out", [](int64_t x) { return ~x; }},
  };
  for (const auto& [name, f] : unary) {
    for (DType dtype : kNarrow) {
      const auto x = numbers(dtype, 600, 1);
      TestTensor a = make_ints(dtype, {600}, x), out = make_out(dtype, {600});
      ASSERT_EQ(call(name, {a, out}), Error::Ok) << name;
      std::vector<int64_t> expected;
      for (int64_t v : x) expected.push_back(wrapped(dtype, f(v)));
      EXPECT_EQ(ints(out), expected) << name << " of " << dtype_name(dtype);
    }
  }
}

TEST(NarrowIntegers, NumbersOutsideTheRangeOfTheDtypeKeepTheirValue) {
  TestTensor a = make_ints(DType::i8, {4}, {-128, -1, 0, 127}), out = make_out(DType::i8, {4});
  ASSERT_EQ(call("aten::clamp.out", {a, -200, 300, out}), Error::Ok);
  EXPECT_EQ(ints(out), (std::vector<int64_t>{-128, -1, 0, 127}));
  ASSERT_EQ(call("aten::clamp.out", {a, -2, 5, out}), Error::Ok);
  EXPECT_EQ(ints(out), (std::vector<int64_t>{-2, -1, 0, 5}));
  ASSERT_EQ(call("aten::add.Scalar_out", {a, 300, 1, out}), Error::Ok);
  EXPECT_EQ(ints(out), (std::vector<int64_t>{-84, 43, 44, -85}));
}

TEST(NarrowIntegers, OperandsOfOtherDtypesAndAWiderOutAreTaken) {
  TestTensor a = make_ints(DType::i8, {3}, {100, -100, 7}), b = make_ints(DType::u8, {3}, {200, 200, 1}),
             scalar = make_ints(DType::i64, {}, {2}), wide = make_out(DType::i16, {3}),
             narrow = make_out(DType::i8, {3});
  ASSERT_EQ(call("aten::add.out", {a, b, 1, wide}), Error::Ok);
  EXPECT_EQ(ints(wide), (std::vector<int64_t>{300, 100, 8}));
  ASSERT_EQ(call("aten::mul.out", {a, scalar, narrow}), Error::Ok);
  EXPECT_EQ(ints(narrow), (std::vector<int64_t>{-56, 56, 14}));
}

TEST(NarrowIntegers, OtherDimOrdersAreTaken) {
  TestTensor a = make_ints(DType::i16, {2, 3}, {1, 2, 3, 4, 5, 6}),
             b = make(DType::i16, {2, 3}, {10, 20, 30, 40, 50, 60}, {1, 0}), out = make_out(DType::i16, {2, 3}, {1, 0});
  ASSERT_EQ(call("aten::add.out", {a, b, 1, out}), Error::Ok);
  EXPECT_EQ(ints(out), (std::vector<int64_t>{11, 22, 33, 44, 55, 66}));
}

TEST(NarrowIntegers, WhereAndMaskedFillPick) {
  for (DType dtype : kNarrow) {
    const auto x = numbers(dtype, 600, 1), y = numbers(dtype, 600, 3);
    std::vector<int64_t> mask, expected, filled;
    for (size_t i = 0; i < x.size(); ++i) {
      mask.push_back(i % 3 == 0);
      expected.push_back(i % 3 == 0 ? x[i] : y[i]);
      filled.push_back(i % 3 == 0 ? 5 : x[i]);
    }
    TestTensor c = make_ints(DType::boolean, {600}, mask), a = make_ints(dtype, {600}, x),
               b = make_ints(dtype, {600}, y), out = make_out(dtype, {600});
    ASSERT_EQ(call("aten::where.self_out", {c, a, b, out}), Error::Ok);
    EXPECT_EQ(ints(out), expected) << dtype_name(dtype);
    ASSERT_EQ(call("aten::masked_fill.Scalar_out", {a, c, 5, out}), Error::Ok);
    EXPECT_EQ(ints(out), filled) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace wick::test::narrow_integers_test
