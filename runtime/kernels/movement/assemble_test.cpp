// Tensors joined and split. Expected values are those of eager PyTorch.
#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

// A file may name the output among the operands; that operand then has the sizes of the output.
TEST(Cat, WritesNothingBehindAnOutputThatIsAnOperand) {
  TestTensor a = make(DType::f32, {4}, {1, 2, 3, 4});
  TestTensor out = make_dynamic(DType::f32, {8});
  const int32_t before[] = {4};
  ASSERT_EQ(resize(out.tensor, {before, 1}), Error::Ok);
  EXPECT_NE(call("aten::cat.out", {std::vector<TestTensor*>{&a, &out}, 0, out}), Error::Ok);
  EXPECT_TRUE(out.guards_intact());
}

// Lines of every length up to those that are copied whole, and of several dimensions behind the joined one.
TEST(Cat, JoinsLinesOfAnyLength) {
  for (int32_t size = 1; size <= 70; ++size) {
    for (const std::vector<uint8_t>& order : {std::vector<uint8_t>{0, 1, 2}, {0, 2, 1}}) {
      const int32_t inner = order[1] == 1 ? 2 : 1, lines = order[1] == 1 ? 3 : 6, other = 70 - size + 1;
      TestTensor a = make_out(DType::u8, {3, size, 2}, order), b = make_out(DType::u8, {3, other, 2}, order);
      TestTensor out = make_out(DType::u8, {3, size + other, 2}, order);
      for (int32_t i = 0; i < lines * size * inner; ++i) a.tensor.as<uint8_t>()[i] = static_cast<uint8_t>(i);
      for (int32_t i = 0; i < lines * other * inner; ++i) b.tensor.as<uint8_t>()[i] = static_cast<uint8_t>(200 - i);
      ASSERT_EQ(call("aten::cat.out", {std::vector<TestTensor*>{&a, &b}, 1, out}), Error::Ok);
      EXPECT_TRUE(out.guards_intact());
      for (int32_t line = 0, at = 0; line < lines; ++line) {
        for (int32_t i = 0; i < (size + other) * inner; ++i, ++at) {
          const bool first = i < size * inner;
          const int32_t from = first ? line * size * inner + i : line * other * inner + i - size * inner;
          ASSERT_EQ(out.tensor.as<uint8_t>()[at], (first ? a : b).tensor.as<uint8_t>()[from]) << size << " " << at;
        }
      }
    }
  }
}

TEST(Cat, JoinsAlongADimension) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::f32, {2, 3, 4}, {100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111,
                                                112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123});
    TestTensor out = make_out(DType::f32, {2, 6, 4});
    ASSERT_EQ(call("aten::cat.out", {std::vector<TestTensor*>{&a, &b}, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  100, 101, 102, 103,
                             104, 105, 106, 107, 108, 109, 110, 111, 12,  13,  14,  15,  16,  17,  18,  19,
                             20,  21,  22,  23,  112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::f32, {2, 3, 1}, {0, 4, 8, 12, 16, 20});
    TestTensor out = make_out(DType::f32, {2, 3, 5});
    ASSERT_EQ(call("aten::cat.out", {std::vector<TestTensor*>{&a, &b}, -1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0,  1,  2,  3,  0,  4,  5,  6,  7,  4,  8,  9,  10, 11, 8,
                             12, 13, 14, 15, 12, 16, 17, 18, 19, 16, 20, 21, 22, 23, 20}));
  }
  {
    TestTensor a = make(DType::f32, {0}, {});
    TestTensor b = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::cat.out", {std::vector<TestTensor*>{&a, &b}, 0, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor b = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47});
    TestTensor out = make_out(DType::f32, {2, 6, 2, 4}, {0, 2, 3, 1});
    ASSERT_EQ(call("aten::cat.out", {std::vector<TestTensor*>{&a, &b}, 1, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                     0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                     24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                     24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47}));
  }
  {
    TestTensor a = make(DType::i64, {2}, {1, 2});
    TestTensor b = make(DType::f32, {1}, {0.5});
    TestTensor out = make_out(DType::f32, {3});
    ASSERT_EQ(call("aten::cat.out", {std::vector<TestTensor*>{&a, &b}, 0, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 2, 0.5}));
  }
}

TEST(Stack, AddsADimension) {
  TestTensor a = make(DType::f32, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  TestTensor b = make(DType::f32, {3, 4}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
  TestTensor out = make_out(DType::f32, {3, 4, 2});
  ASSERT_EQ(call("aten::stack.out", {std::vector<TestTensor*>{&a, &b}, -1, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {0, 12, 1, 13, 2, 14, 3, 15, 4, 16, 5, 17, 6, 18, 7, 19, 8, 20, 9, 21, 10, 22, 11, 23}));
}

TEST(Split, CutsInPieces) {
  {
    TestTensor a = make(DType::f32, {5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    TestTensor out0 = make_out(DType::f32, {2, 2});
    TestTensor out1 = make_out(DType::f32, {2, 2});
    TestTensor out2 = make_out(DType::f32, {1, 2});
    ASSERT_EQ(call("aten::split_copy.Tensor_out", {a, 2, 0, std::vector<TestTensor*>{&out0, &out1, &out2}}), Error::Ok);
    EXPECT_TRUE(equals(out0, {0, 1, 2, 3}));
    EXPECT_TRUE(equals(out1, {4, 5, 6, 7}));
    EXPECT_TRUE(equals(out2, {8, 9}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    TestTensor out = make_out(DType::f32, {2, 5});
    ASSERT_EQ(call("aten::split_copy.Tensor_out", {a, 5, -1, std::vector<TestTensor*>{&out}}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    TestTensor out0 = make_out(DType::f32, {2, 1});
    TestTensor out1 = make_out(DType::f32, {2, 0});
    TestTensor out2 = make_out(DType::f32, {2, 4});
    ASSERT_EQ(call("aten::split_with_sizes_copy.out",
                   {a, std::vector<int64_t>{1, 0, 4}, 1, std::vector<TestTensor*>{&out0, &out1, &out2}}),
              Error::Ok);
    EXPECT_TRUE(equals(out0, {0, 5}));
    EXPECT_TRUE(equals(out1, {}));
    EXPECT_TRUE(equals(out2, {1, 2, 3, 4, 6, 7, 8, 9}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3}, {0, 1, 2, 3, 4, 5});
    TestTensor out0 = make_out(DType::f32, {2});
    TestTensor out1 = make_out(DType::f32, {2});
    TestTensor out2 = make_out(DType::f32, {2});
    ASSERT_EQ(call("aten::unbind_copy.int_out", {a, 1, std::vector<TestTensor*>{&out0, &out1, &out2}}), Error::Ok);
    EXPECT_TRUE(equals(out0, {0, 3}));
    EXPECT_TRUE(equals(out1, {1, 4}));
    EXPECT_TRUE(equals(out2, {2, 5}));
  }
}

}  // namespace
}  // namespace wick::test
