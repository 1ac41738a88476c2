// Expected values are those of eager PyTorch.
#include "runtime/kernels/kernel_test_support.h"
#include "runtime/kernels/movement/strided.h"

namespace wick::test {
namespace {

TEST(Permute, ReordersDimensions) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {4, 2, 3});
    ASSERT_EQ(call("aten::permute_copy.out", {a, std::vector<int64_t>{2, 0, 1}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {4, 2, 3});
    ASSERT_EQ(call("aten::permute_copy.out", {a, std::vector<int64_t>{-1, -3, -2}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor out = make_out(DType::f32, {2, 2, 4, 3});
    ASSERT_EQ(call("aten::permute_copy.out", {a, std::vector<int64_t>{0, 2, 3, 1}, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0,  8,  16, 1,  9,  17, 2,  10, 18, 3,  11, 19, 4,  12, 20, 5,  13, 21, 6,  14, 22, 7,  15, 23,
                     24, 32, 40, 25, 33, 41, 26, 34, 42, 27, 35, 43, 28, 36, 44, 29, 37, 45, 30, 38, 46, 31, 39, 47}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor out = make_out(DType::f32, {2, 3, 4, 2}, {0, 2, 3, 1});
    ASSERT_EQ(call("aten::permute_copy.out", {a, std::vector<int64_t>{0, 1, 3, 2}, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0,  4,  1,  5,  2,  6,  3,  7,  8,  12, 9,  13, 10, 14, 11, 15, 16, 20, 17, 21, 18, 22, 19, 23,
                     24, 28, 25, 29, 26, 30, 27, 31, 32, 36, 33, 37, 34, 38, 35, 39, 40, 44, 41, 45, 42, 46, 43, 47}));
  }
  {
    TestTensor a =
        make_complex(DType::c64, {2, 3, 4}, {{0, 0},  {1, 0},  {2, 0},  {3, 0},  {4, 0},  {5, 0},  {6, 0},  {7, 0},
                                             {8, 0},  {9, 0},  {10, 0}, {11, 0}, {12, 0}, {13, 0}, {14, 0}, {15, 0},
                                             {16, 0}, {17, 0}, {18, 0}, {19, 0}, {20, 0}, {21, 0}, {22, 0}, {23, 0}});
    TestTensor out = make_out(DType::c64, {4, 2, 3});
    ASSERT_EQ(call("aten::permute_copy.out", {a, std::vector<int64_t>{2, 0, 1}, out}), Error::Ok);
    EXPECT_EQ(complex_values(out),
              complex_values(make_complex(DType::c64, {4, 2, 3},
                                          {{0, 0},  {4, 0},  {8, 0},  {12, 0}, {16, 0}, {20, 0}, {1, 0},  {5, 0},
                                           {9, 0},  {13, 0}, {17, 0}, {21, 0}, {2, 0},  {6, 0},  {10, 0}, {14, 0},
                                           {18, 0}, {22, 0}, {3, 0},  {7, 0},  {11, 0}, {15, 0}, {19, 0}, {23, 0}})));
  }
  {
    TestTensor a =
        make(DType::boolean, {2, 3, 4}, {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
    TestTensor out = make_out(DType::boolean, {4, 2, 3});
    ASSERT_EQ(call("aten::permute_copy.out", {a, std::vector<int64_t>{2, 0, 1}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  }
}

TEST(Transpose, SwapsTwoDimensions) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {4, 3, 2});
    ASSERT_EQ(call("aten::transpose_copy.int_out", {a, 0, -1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 12, 4, 16, 8, 20, 1, 13, 5, 17, 9, 21, 2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23}));
  }
  {
    TestTensor a = make(DType::f32, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    TestTensor out = make_out(DType::f32, {4, 3});
    ASSERT_EQ(call("aten::t_copy.out", {a, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  }
  {
    TestTensor a = make(DType::f32, {4}, {0, 1, 2, 3});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::t_copy.out", {a, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3}));
  }
}

TEST(Slice, ClampsLikePython) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 2, 4});
    ASSERT_EQ(call("aten::slice_copy.Tensor_out", {a, 1, 0, 2, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15, 16, 17, 18, 19}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 2});
    ASSERT_EQ(call("aten::slice_copy.Tensor_out", {a, 2, 1, int64_t{9223372036854775807}, 2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 2});
    ASSERT_EQ(call("aten::slice_copy.Tensor_out", {a, -1, -3, -1, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {0, 3, 4});
    ASSERT_EQ(call("aten::slice_copy.Tensor_out", {a, 0, 5, 9, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 0, 4});
    ASSERT_EQ(call("aten::slice_copy.Tensor_out", {a, 1, 2, 1, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 2});
    ASSERT_EQ(call("aten::slice_copy.Tensor_out", {a, 2, nullptr, nullptr, 3, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 2});
    ASSERT_EQ(call("aten::slice_copy.Tensor_out", {a, 2, -100, 100, 2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor out = make_out(DType::f32, {2, 2, 2, 4});
    ASSERT_EQ(call("aten::slice_copy.Tensor_out", {a, 1, 1, 3, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                             32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47}));
  }
}

TEST(Select, TakesOneIndex) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 4});
    ASSERT_EQ(call("aten::select_copy.int_out", {a, 1, -1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {8, 9, 10, 11, 20, 21, 22, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor out = make_out(DType::f32, {2, 2, 4});
    ASSERT_EQ(call("aten::select_copy.int_out", {a, 1, 2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {16, 17, 18, 19, 20, 21, 22, 23, 40, 41, 42, 43, 44, 45, 46, 47}));
  }
}

TEST(Narrow, TakesARange) {
  TestTensor a = make(DType::f32, {2, 3, 4},
                      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
  TestTensor out = make_out(DType::f32, {2, 3, 2});
  ASSERT_EQ(call("aten::narrow_copy.out", {a, 2, 1, 2, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22}));
}

TEST(Expand, RepeatsSizeOneDimensions) {
  {
    TestTensor a = make(DType::f32, {2, 1}, {1, 2});
    TestTensor out = make_out(DType::f32, {3, 2, 2});
    ASSERT_EQ(call("aten::expand_copy.out", {a, std::vector<int64_t>{3, -1, 2}, false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2}));
  }
  {
    TestTensor a = make(DType::i64, {}, {5});
    TestTensor out = make_out(DType::i64, {2, 2});
    ASSERT_EQ(call("aten::expand_copy.out", {a, std::vector<int64_t>{2, 2}, false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {5, 5, 5, 5}));
  }
}

TEST(View, KeepsLogicalOrder) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {4, 6});
    ASSERT_EQ(call("aten::view_copy.out", {a, std::vector<int64_t>{4, -1}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor out = make_out(DType::f32, {6, 8});
    ASSERT_EQ(call("aten::view_copy.out", {a, std::vector<int64_t>{6, 8}, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                     24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47}));
  }
  {
    TestTensor a = make(DType::f32, {4, 12}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                              16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                              32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47});
    TestTensor out = make_out(DType::f32, {2, 3, 2, 4}, {0, 2, 3, 1});
    ASSERT_EQ(call("aten::view_copy.out", {a, std::vector<int64_t>{2, 3, 2, 4}, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                     24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor out = make_out(DType::f32, {4, 3, 2, 2}, {0, 2, 3, 1});
    ASSERT_EQ(call("aten::view_copy.out", {a, std::vector<int64_t>{4, 3, 2, 2}, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                     24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47}));
  }
}

TEST(View, ReinterpretsBytes) {
  {
    TestTensor a = make(DType::f32, {2}, {1, -2});
    TestTensor out = make_out(DType::i32, {2});
    ASSERT_EQ(call("aten::view_copy.dtype_out", {a, DType::i32, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1065353216, -1073741824}));
  }
  {
    TestTensor a = make(DType::f32, {1, 2}, {1, -2});
    TestTensor out = make_out(DType::i64, {1, 1});
    ASSERT_EQ(call("aten::view_copy.dtype_out", {a, DType::i64, out}), Error::Ok);
    EXPECT_EQ(ints(out), (std::vector<int64_t>{-4611686017362034688}));
  }
  {
    TestTensor a = make(DType::f32, {1, 2}, {1, -2});
    TestTensor out = make_out(DType::u8, {1, 8});
    ASSERT_EQ(call("aten::view_copy.dtype_out", {a, DType::u8, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0, 128, 63, 0, 0, 0, 192}));
  }
}

TEST(Clone, ChangesDimOrder) {
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor out = make_out(DType::f32, {2, 3, 2, 4});
    ASSERT_EQ(call("aten::clone.out", {a, nullptr, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                     24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47});
    TestTensor out = make_out(DType::f32, {2, 3, 2, 4}, {0, 2, 3, 1});
    ASSERT_EQ(call("aten::clone.out", {a, nullptr, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                     24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::alias_copy.out", {a, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  }
  for (const char* name : {"et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out"}) {
    TestTensor a = make(DType::i64, {2, 2}, {1, -2, 3, 4}), out = make_dynamic(DType::i64, {4, 2});
    ASSERT_EQ(call(name, {a, out}), Error::Ok) << name;
    EXPECT_EQ(out.sizes[0], 2);
    EXPECT_TRUE(equals(out, {1, -2, 3, 4}));
    TestTensor small = make_out(DType::i64, {2, 1}), other = make_out(DType::i32, {2, 2});
    EXPECT_EQ(call(name, {a, small}), Error::NotSupported);
    EXPECT_EQ(call(name, {a, other}), Error::InvalidType);
  }
}

TEST(ConstantPad, FillsTheBorder) {
  {
    TestTensor a = make(DType::f32, {2, 3}, {0, 1, 2, 3, 4, 5});
    TestTensor out = make_out(DType::f32, {3, 6});
    ASSERT_EQ(call("aten::constant_pad_nd.out", {a, std::vector<int64_t>{1, 2, 0, 1}, 7.0, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {7, 0, 1, 2, 7, 7, 7, 3, 4, 5, 7, 7, 7, 7, 7, 7, 7, 7}));
  }
  {
    TestTensor a = make(DType::i64, {2, 3}, {0, 1, 2, 3, 4, 5});
    TestTensor out = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::constant_pad_nd.out", {a, std::vector<int64_t>{-1, 2, 1, -1}, 3, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3, 3, 3, 3, 1, 2, 3, 3}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3}, {0, 1, 2, 3, 4, 5});
    TestTensor out = make_out(DType::f32, {2, 1});
    ASSERT_EQ(call("aten::constant_pad_nd.out", {a, std::vector<int64_t>{-1, -1}, 3, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 4}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3}, {0, 1, 2, 3, 4, 5});
    TestTensor out = make_out(DType::f32, {2, 3});
    ASSERT_EQ(call("aten::constant_pad_nd.out", {a, std::vector<int64_t>{-2, 2}, 3, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2, 3, 3, 5, 3, 3}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor out = make_out(DType::f32, {2, 3, 2, 5}, {0, 2, 3, 1});
    ASSERT_EQ(call("aten::constant_pad_nd.out", {a, std::vector<int64_t>{1, 0}, -1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {-1, 0,  1,  2,  3,  -1, 4,  5,  6,  7,  -1, 8,  9,  10, 11, -1, 12, 13, 14, 15,
                             -1, 16, 17, 18, 19, -1, 20, 21, 22, 23, -1, 24, 25, 26, 27, -1, 28, 29, 30, 31,
                             -1, 32, 33, 34, 35, -1, 36, 37, 38, 39, -1, 40, 41, 42, 43, -1, 44, 45, 46, 47}));
  }
}

TEST(SpatialPad, MirrorsOrRepeatsTheEdge) {
  {
    TestTensor a = make(DType::f32, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
    TestTensor out = make_out(DType::f32, {2, 7});
    ASSERT_EQ(call("aten::reflection_pad1d.out", {a, std::vector<int64_t>{2, 1}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2, 1, 0, 1, 2, 3, 2, 6, 5, 4, 5, 6, 7, 6}));
  }
  {
    TestTensor a = make(DType::f32, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
    TestTensor out = make_out(DType::f32, {2, 7});
    ASSERT_EQ(call("aten::replication_pad1d.out", {a, std::vector<int64_t>{2, 1}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0, 0, 1, 2, 3, 3, 4, 4, 4, 5, 6, 7, 7}));
  }
  {
    TestTensor a = make(DType::f32, {1, 3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    TestTensor out = make_out(DType::f32, {1, 6, 7});
    ASSERT_EQ(call("aten::reflection_pad2d.out", {a, std::vector<int64_t>{2, 1, 1, 2}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {6,  5, 4, 5, 6,  7,  6,  2, 1, 0, 1, 2, 3, 2, 6, 5, 4, 5, 6, 7, 6,
                             10, 9, 8, 9, 10, 11, 10, 6, 5, 4, 5, 6, 7, 6, 2, 1, 0, 1, 2, 3, 2}));
  }
  {
    TestTensor a = make(DType::f32, {1, 3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    TestTensor out = make_out(DType::f32, {1, 6, 7});
    ASSERT_EQ(call("aten::replication_pad2d.out", {a, std::vector<int64_t>{2, 1, 1, 2}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0, 0, 1, 2,  3,  3,  0, 0, 0, 1, 2,  3,  3,  4, 4, 4, 5, 6,  7,  7,
                             8, 8, 8, 9, 10, 11, 11, 8, 8, 8, 9, 10, 11, 11, 8, 8, 8, 9, 10, 11, 11}));
  }
  {
    TestTensor a = make(DType::f32, {1, 2, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17});
    TestTensor out = make_out(DType::f32, {1, 4, 5, 6});
    ASSERT_EQ(call("aten::reflection_pad3d.out", {a, std::vector<int64_t>{1, 2, 2, 0, 1, 1}, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {16, 15, 16, 17, 16, 15, 13, 12, 13, 14, 13, 12, 10, 9,  10, 11, 10, 9,  13, 12, 13, 14, 13, 12,
                     16, 15, 16, 17, 16, 15, 7,  6,  7,  8,  7,  6,  4,  3,  4,  5,  4,  3,  1,  0,  1,  2,  1,  0,
                     4,  3,  4,  5,  4,  3,  7,  6,  7,  8,  7,  6,  16, 15, 16, 17, 16, 15, 13, 12, 13, 14, 13, 12,
                     10, 9,  10, 11, 10, 9,  13, 12, 13, 14, 13, 12, 16, 15, 16, 17, 16, 15, 7,  6,  7,  8,  7,  6,
                     4,  3,  4,  5,  4,  3,  1,  0,  1,  2,  1,  0,  4,  3,  4,  5,  4,  3,  7,  6,  7,  8,  7,  6}));
  }
  {
    TestTensor a = make(DType::f32, {1, 2, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17});
    TestTensor out = make_out(DType::f32, {1, 4, 5, 6});
    ASSERT_EQ(call("aten::replication_pad3d.out", {a, std::vector<int64_t>{1, 2, 2, 0, 1, 1}, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0, 0, 1,  2,  2,  2,  0,  0,  1,  2,  2,  2,  0,  0,  1,  2,  2,  2,  3,  3,  4,  5,  5,  5,
                     6, 6, 7,  8,  8,  8,  0,  0,  1,  2,  2,  2,  0,  0,  1,  2,  2,  2,  0,  0,  1,  2,  2,  2,
                     3, 3, 4,  5,  5,  5,  6,  6,  7,  8,  8,  8,  9,  9,  10, 11, 11, 11, 9,  9,  10, 11, 11, 11,
                     9, 9, 10, 11, 11, 11, 12, 12, 13, 14, 14, 14, 15, 15, 16, 17, 17, 17, 9,  9,  10, 11, 11, 11,
                     9, 9, 10, 11, 11, 11, 9,  9,  10, 11, 11, 11, 12, 12, 13, 14, 14, 14, 15, 15, 16, 17, 17, 17}));
  }
  {
    TestTensor a = make(DType::f32, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
    TestTensor out = make_out(DType::f32, {2, 6});
    ASSERT_EQ(call("aten::replication_pad1d.out", {a, std::vector<int64_t>{-1, 3}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 2, 3, 3, 3, 3, 5, 6, 7, 7, 7, 7}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor out = make_out(DType::f32, {2, 3, 3, 6}, {0, 2, 3, 1});
    ASSERT_EQ(call("aten::reflection_pad2d.out", {a, std::vector<int64_t>{1, 1, 1, 0}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {5,  4,  5,  6,  7,  6,  1,  0,  1,  2,  3,  2,  5,  4,  5,  6,  7,  6,  13, 12, 13, 14,
                             15, 14, 9,  8,  9,  10, 11, 10, 13, 12, 13, 14, 15, 14, 21, 20, 21, 22, 23, 22, 17, 16,
                             17, 18, 19, 18, 21, 20, 21, 22, 23, 22, 29, 28, 29, 30, 31, 30, 25, 24, 25, 26, 27, 26,
                             29, 28, 29, 30, 31, 30, 37, 36, 37, 38, 39, 38, 33, 32, 33, 34, 35, 34, 37, 36, 37, 38,
                             39, 38, 45, 44, 45, 46, 47, 46, 41, 40, 41, 42, 43, 42, 45, 44, 45, 46, 47, 46}));
  }
}

TEST(Repeat, TilesTheTensor) {
  {
    TestTensor a = make(DType::f32, {2, 2}, {0, 1, 2, 3});
    TestTensor out = make_out(DType::f32, {2, 2, 6});
    ASSERT_EQ(call("aten::repeat.out", {a, std::vector<int64_t>{2, 1, 3}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3}));
  }
  {
    TestTensor a = make(DType::f32, {2, 2}, {0, 1, 2, 3});
    TestTensor out = make_out(DType::f32, {0, 4});
    ASSERT_EQ(call("aten::repeat.out", {a, std::vector<int64_t>{0, 2}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {}));
  }
}

TEST(Flip, ReversesDimensions) {
  TestTensor a = make(DType::f32, {2, 3, 4},
                      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
  TestTensor out = make_out(DType::f32, {2, 3, 4});
  ASSERT_EQ(call("aten::flip.out", {a, std::vector<int64_t>{0, -1}, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {15, 14, 13, 12, 19, 18, 17, 16, 23, 22, 21, 20, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8}));
}

TEST(Roll, ShiftsCyclically) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::roll.out", {a, std::vector<int64_t>{1, -5}, std::vector<int64_t>{1, 2}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {9, 10, 11, 8, 1, 2, 3, 0, 5, 6, 7, 4, 21, 22, 23, 20, 13, 14, 15, 12, 17, 18, 19, 16}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::roll.out", {a, std::vector<int64_t>{5}, std::vector<int64_t>{}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {19, 20, 21, 22, 23, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::roll.out", {a, std::vector<int64_t>{1, 1}, std::vector<int64_t>{2, 2}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 18, 19, 16, 17, 22, 23, 20, 21}));
  }
}

TEST(PixelShuffle, InterleavesChannels) {
  {
    TestTensor a = make(DType::f32, {1, 8, 2, 3}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47});
    TestTensor out = make_out(DType::f32, {1, 2, 4, 6});
    ASSERT_EQ(call("aten::pixel_shuffle.out", {a, 2, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0,  6,  1,  7,  2,  8,  12, 18, 13, 19, 14, 20, 3,  9,  4,  10, 5,  11, 15, 21, 16, 22, 17, 23,
                     24, 30, 25, 31, 26, 32, 36, 42, 37, 43, 38, 44, 27, 33, 28, 34, 29, 35, 39, 45, 40, 46, 41, 47}));
  }
  {
    TestTensor a = make(DType::f32, {1, 2, 4, 6}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47});
    TestTensor out = make_out(DType::f32, {1, 8, 2, 3});
    ASSERT_EQ(call("aten::pixel_unshuffle.out", {a, 2, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0,  2,  4,  12, 14, 16, 1,  3,  5,  13, 15, 17, 6,  8,  10, 18, 20, 22, 7,  9,  11, 19, 21, 23,
                     24, 26, 28, 36, 38, 40, 25, 27, 29, 37, 39, 41, 30, 32, 34, 42, 44, 46, 31, 33, 35, 43, 45, 47}));
  }
  {
    TestTensor a = make(DType::f32, {1, 6, 2, 2},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {1, 6, 2, 2});
    ASSERT_EQ(call("aten::channel_shuffle.out", {a, 2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 12, 13, 14, 15, 4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10, 11, 20, 21, 22, 23}));
  }
}

TEST(Squeeze, DropsSizeOneDimensions) {
  {
    TestTensor a = make(DType::f32, {2, 1, 3}, {0, 1, 2, 3, 4, 5});
    TestTensor out = make_out(DType::f32, {2, 3});
    ASSERT_EQ(call("aten::squeeze_copy.dim_out", {a, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5}));
  }
  {
    TestTensor a = make(DType::f32, {2, 1, 3}, {0, 1, 2, 3, 4, 5});
    TestTensor out = make_out(DType::f32, {2, 1, 3});
    ASSERT_EQ(call("aten::squeeze_copy.dim_out", {a, 0, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5}));
  }
  {
    TestTensor a = make(DType::f32, {1, 2, 1, 3}, {0, 1, 2, 3, 4, 5});
    TestTensor out = make_out(DType::f32, {2, 3});
    ASSERT_EQ(call("aten::squeeze_copy.dims_out", {a, std::vector<int64_t>{0, 1, -2}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5}));
  }
  {
    TestTensor a = make(DType::f32, {1, 2, 1}, {0, 1});
    TestTensor out = make_out(DType::f32, {2});
    ASSERT_EQ(call("aten::squeeze_copy.out", {a, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3}, {0, 1, 2, 3, 4, 5});
    TestTensor out = make_out(DType::f32, {2, 3, 1});
    ASSERT_EQ(call("aten::unsqueeze_copy.out", {a, -1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5}));
  }
}

TEST(Diagonal, IsReadAndWritten) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3});
    ASSERT_EQ(call("aten::diagonal_copy.out", {a, 1, 1, 2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 6, 11, 13, 18, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {4, 1});
    ASSERT_EQ(call("aten::diagonal_copy.out", {a, -1, 0, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {12, 13, 14, 15}));
  }
  {
    TestTensor a = make(DType::f32, {3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8});
    TestTensor b = make(DType::f32, {2}, {9, 8});
    TestTensor out = make_out(DType::f32, {3, 3});
    ASSERT_EQ(call("aten::diagonal_scatter.out", {a, b, -1, 0, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 9, 4, 5, 6, 8, 8}));
  }
}

TEST(SliceScatter, ReplacesAPart) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::f32, {2, 4}, {-1, -1, -1, -1, -1, -1, -1, -1});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::select_scatter.out", {a, b, 1, -1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1, -1, 12, 13, 14, 15, 16, 17, 18, 19, -1, -1, -1, -1}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::f32, {2, 3, 2}, {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::slice_scatter.out", {a, b, 2, 1, nullptr, 2, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0, -1, 2, -1, 4, -1, 6, -1, 8, -1, 10, -1, 12, -1, 14, -1, 16, -1, 18, -1, 20, -1, 22, -1}));
  }
}

TEST(AsStrided, ReadsAnyStrides) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {3, 2});
    ASSERT_EQ(call("aten::as_strided_copy.out", {a, std::vector<int64_t>{3, 2}, std::vector<int64_t>{2, 5}, 3, out}),
              Error::Ok);
    EXPECT_TRUE(equals(out, {3, 8, 5, 10, 7, 12}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::f32, {3, 2}, {-1, -1, -1, -1, -1, -1});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(
        call("aten::as_strided_scatter.out", {a, b, std::vector<int64_t>{3, 2}, std::vector<int64_t>{2, 7}, 1, out}),
        Error::Ok);
    EXPECT_TRUE(
        equals(out, {0, -1, 2, -1, 4, -1, 6, 7, -1, 9, -1, 11, -1, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  }
}

TEST(Unfold, SlidesAWindow) {
  TestTensor a = make(DType::f32, {2, 7}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
  TestTensor out = make_out(DType::f32, {2, 3, 3});
  ASSERT_EQ(call("aten::unfold_copy.out", {a, 1, 3, 2, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {0, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 9, 9, 10, 11, 11, 12, 13}));
}

TEST(Triangle, KeepsOneSide) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::tril.out", {a, 0, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0, 0, 0, 4, 5, 0, 0, 8, 9, 10, 0, 12, 0, 0, 0, 16, 17, 0, 0, 20, 21, 22, 0}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::triu.out", {a, 0, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 0, 5, 6, 7, 0, 0, 10, 11, 12, 13, 14, 15, 0, 17, 18, 19, 0, 0, 22, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::tril.out", {a, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 0, 0, 4, 5, 6, 0, 8, 9, 10, 11, 12, 13, 0, 0, 16, 17, 18, 0, 20, 21, 22, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::triu.out", {a, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 0, 0, 6, 7, 0, 0, 0, 11, 0, 13, 14, 15, 0, 0, 18, 19, 0, 0, 0, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::tril.out", {a, -2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::triu.out", {a, -2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::tril.out", {a, int64_t{1000000000000}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::triu.out", {a, int64_t{1000000000000}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::tril.out", {a, int64_t{-1000000000000}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::triu.out", {a, int64_t{-1000000000000}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  }
}

TEST(Triangle, ListsItsIndices) {
  {
    TestTensor out = make_out(DType::i64, {2, 9});
    ASSERT_EQ(call("aten::tril_indices.out", {3, 4, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0, 1, 1, 1, 2, 2, 2, 2, 0, 1, 0, 1, 2, 0, 1, 2, 3}));
  }
  {
    TestTensor out = make_out(DType::i64, {2, 9});
    ASSERT_EQ(call("aten::triu_indices.out", {4, 3, -1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0, 0, 1, 1, 1, 2, 2, 3, 0, 1, 2, 0, 1, 2, 1, 2, 2}));
  }
}

TEST(ComplexViews, PairRealAndImaginary) {
  {
    TestTensor a = make_complex(DType::c64, {2}, {{1, 3}, {2, -4}});
    TestTensor out = make_out(DType::f32, {2, 2});
    ASSERT_EQ(call("aten::view_as_real_copy.out", {a, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 3, 2, -4}));
  }
  {
    TestTensor a = make(DType::f32, {2, 2}, {1, 3, 2, -4});
    TestTensor out = make_out(DType::c64, {2});
    ASSERT_EQ(call("aten::view_as_complex_copy.out", {a, out}), Error::Ok);
    EXPECT_EQ(complex_values(out), complex_values(make_complex(DType::c64, {2}, {{1, 3}, {2, -4}})));
  }
}

TEST(View, OfAnEmptyTensorWithoutMemoryStaysWithout) {
  kernels::View view;
  view.advance(2, 4);
  EXPECT_EQ(view.data, nullptr);
}

}  // namespace
}  // namespace wick::test
