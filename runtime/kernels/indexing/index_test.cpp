// Expected values are those of eager PyTorch.
#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

TEST(Embedding, TakesRows) {
  {
    TestTensor a = make(DType::f32, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    TestTensor b = make(DType::i64, {2, 2}, {4, 0, 2, 2});
    TestTensor out = make_out(DType::f32, {2, 2, 3});
    ASSERT_EQ(call("aten::embedding.out", {a, b, -1, false, false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {12, 13, 14, 0, 1, 2, 6, 7, 8, 6, 7, 8}));
  }
  {
    TestTensor a = make(DType::f16, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    TestTensor b = make(DType::i32, {1}, {1});
    TestTensor out = make_out(DType::f16, {1, 3});
    ASSERT_EQ(call("aten::embedding.out", {a, b, 0, false, false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3, 4, 5}));
  }
  {
    TestTensor a = make(DType::f32, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    TestTensor b = make(DType::i64, {}, {3});
    TestTensor out = make_out(DType::f32, {3});
    ASSERT_EQ(call("aten::embedding.out", {a, b, -1, false, false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {9, 10, 11}));
  }
}

TEST(Index, FollowsEager) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {3}, {1, 0, -1});
    TestTensor out = make_out(DType::f32, {3, 3, 4});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{&b}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 0,  1,  2,  3,  4,  5,
                             6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {2, 1}, {2, 0});
    TestTensor out = make_out(DType::f32, {2, 2, 1, 4});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{nullptr, &b}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {8, 9, 10, 11, 0, 1, 2, 3, 20, 21, 22, 23, 12, 13, 14, 15}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {2}, {1, 0});
    TestTensor c = make(DType::i64, {2, 1}, {2, -3});
    TestTensor out = make_out(DType::f32, {2, 2, 4});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{&b, &c}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {20, 21, 22, 23, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {2}, {1, 0});
    TestTensor c = make(DType::i64, {2, 1}, {2, 3});
    TestTensor out = make_out(DType::f32, {2, 2, 3});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{&b, nullptr, &c}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {14, 18, 22, 2, 6, 10, 15, 19, 23, 3, 7, 11}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {2}, {1, 2});
    TestTensor c = make(DType::i64, {2}, {3, 0});
    TestTensor out = make_out(DType::f32, {2, 2});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{nullptr, &b, &c}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {7, 8, 19, 20}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b =
        make(DType::boolean, {2, 3, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1});
    TestTensor out = make_out(DType::f32, {3});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{&b}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {21, 22, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::boolean, {2}, {1, 0});
    TestTensor out = make_out(DType::f32, {1, 3, 4});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{&b}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::boolean, {3}, {1, 0, 1});
    TestTensor c = make(DType::i64, {2}, {1, 2});
    TestTensor out = make_out(DType::f32, {2, 2});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{nullptr, &b, &c}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 10, 13, 22}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::boolean, {2, 3}, {0, 0, 1, 1, 1, 1});
    TestTensor out = make_out(DType::f32, {4, 4});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{&b}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {}, {1});
    TestTensor c = make(DType::i64, {}, {2});
    TestTensor out = make_out(DType::f32, {3});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{&b, nullptr, &c}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {14, 18, 22}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i32, {2}, {0, 3});
    TestTensor out = make_out(DType::f32, {2, 3, 2});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{nullptr, nullptr, &b}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 23}));
  }
  {
    TestTensor a =
        make(DType::f32, {2, 3, 4, 2, 3},
             {0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  15,  16,  17,  18,  19,  20,
              21,  22,  23,  24,  25,  26,  27,  28,  29,  30,  31,  32,  33,  34,  35,  36,  37,  38,  39,  40,  41,
              42,  43,  44,  45,  46,  47,  48,  49,  50,  51,  52,  53,  54,  55,  56,  57,  58,  59,  60,  61,  62,
              63,  64,  65,  66,  67,  68,  69,  70,  71,  72,  73,  74,  75,  76,  77,  78,  79,  80,  81,  82,  83,
              84,  85,  86,  87,  88,  89,  90,  91,  92,  93,  94,  95,  96,  97,  98,  99,  100, 101, 102, 103, 104,
              105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125,
              126, 127, 128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 141, 142, 143});
    TestTensor b = make(DType::i64, {2}, {0, 2});
    TestTensor c = make(DType::i64, {2}, {1, 0});
    TestTensor out = make_out(DType::f32, {2, 2, 4, 3});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{nullptr, &b, nullptr, &c}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3,  4,  5,  9,  10,  11,  15,  16,  17,  21,  22,  23,  75,  76,  77,  81,
                             82, 83, 87, 88, 89,  93,  94,  95,  48,  49,  50,  54,  55,  56,  60,  61,
                             62, 66, 67, 68, 120, 121, 122, 126, 127, 128, 132, 133, 134, 138, 139, 140}));
  }
  {
    TestTensor a =
        make(DType::f32, {2, 3, 4, 2, 3},
             {0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  15,  16,  17,  18,  19,  20,
              21,  22,  23,  24,  25,  26,  27,  28,  29,  30,  31,  32,  33,  34,  35,  36,  37,  38,  39,  40,  41,
              42,  43,  44,  45,  46,  47,  48,  49,  50,  51,  52,  53,  54,  55,  56,  57,  58,  59,  60,  61,  62,
              63,  64,  65,  66,  67,  68,  69,  70,  71,  72,  73,  74,  75,  76,  77,  78,  79,  80,  81,  82,  83,
              84,  85,  86,  87,  88,  89,  90,  91,  92,  93,  94,  95,  96,  97,  98,  99,  100, 101, 102, 103, 104,
              105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125,
              126, 127, 128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 141, 142, 143});
    TestTensor b = make(DType::i64, {2}, {0, 2});
    TestTensor c = make(DType::i64, {2, 1}, {1, 3});
    TestTensor out = make_out(DType::f32, {2, 2, 2, 2, 3});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{nullptr, &b, &c}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {6,   7,   8,   9,   10, 11, 54, 55, 56, 57, 58,  59,  18,  19,  20,  21,
                             22,  23,  66,  67,  68, 69, 70, 71, 78, 79, 80,  81,  82,  83,  126, 127,
                             128, 129, 130, 131, 90, 91, 92, 93, 94, 95, 138, 139, 140, 141, 142, 143}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {0}, {});
    TestTensor out = make_out(DType::f32, {0, 3, 4});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{&b}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b =
        make(DType::boolean, {2, 3, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    TestTensor out = make_out(DType::f32, {0});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{&b}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor b = make(DType::i64, {2}, {2, 0});
    TestTensor out = make_out(DType::f32, {2, 2, 2, 4});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{nullptr, &b}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {16, 17, 18, 19, 20, 21, 22, 23, 0,  1,  2,  3,  4,  5,  6,  7,
                             40, 41, 42, 43, 44, 45, 46, 47, 24, 25, 26, 27, 28, 29, 30, 31}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor b = make(DType::i64, {1}, {1});
    TestTensor c = make(DType::i64, {2}, {1, 0});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{&b, nullptr, &c}, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {28, 29, 30, 31, 36, 37, 38, 39, 44, 45, 46, 47, 24, 25, 26, 27, 32, 33, 34, 35, 40, 41, 42, 43}));
  }
  {
    TestTensor a =
        make(DType::boolean, {2, 3, 4}, {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
    TestTensor b = make(DType::i64, {2}, {0, 0});
    TestTensor out = make_out(DType::boolean, {2, 3, 4});
    ASSERT_EQ(call("aten::index.Tensor_out", {a, std::vector<TestTensor*>{&b}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::boolean, {3}, {1, 0, 1});
    TestTensor out = make_out(DType::f32, {2, 2, 4});
    ASSERT_EQ(call_split("aten::index.Tensor_out", {a, std::vector<TestTensor*>{nullptr, &b}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23}));
  }
}

TEST(IndexPut, FollowsEager) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {2}, {1, 0});
    TestTensor c = make(DType::f32, {2, 1, 1}, {-1, -2});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::index_put.out", {a, std::vector<TestTensor*>{&b}, c, false, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {-2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {3}, {2, 2, 0});
    TestTensor c = make(DType::f32, {3, 4}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::index_put.out", {a, std::vector<TestTensor*>{nullptr, &b}, c, true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 2, 3, 4, 4, 5, 6, 7, 10, 11, 12, 13, 13, 14, 15, 16, 16, 17, 18, 19, 22, 23, 24, 25}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b =
        make(DType::boolean, {2, 3, 4}, {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
    TestTensor c = make(DType::f32, {}, {-1});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::index_put.out", {a, std::vector<TestTensor*>{&b}, c, false, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0, 1, 2, 3, 4, 5, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  }
  {
    TestTensor a = make(DType::i64, {4}, {0, 1, 2, 3});
    TestTensor b = make(DType::i64, {3}, {1, 1, 3});
    TestTensor c = make(DType::i64, {3}, {10, 20, 30});
    TestTensor out = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::index_put.out", {a, std::vector<TestTensor*>{&b}, c, true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 31, 2, 33}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {1}, {1});
    TestTensor c = make(DType::i64, {2}, {0, -1});
    TestTensor d = make(DType::f32, {2, 3}, {-5, -5, -5, -5, -5, -5});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::index_put.out", {a, std::vector<TestTensor*>{&b, nullptr, &c}, d, false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -5, 13, 14, -5, -5, 17, 18, -5, -5, 21, 22, -5}));
  }
  {
    TestTensor a = make(DType::f16, {3}, {0, 1, 2});
    TestTensor b = make(DType::i64, {2}, {0, 0});
    TestTensor c = make(DType::f16, {2}, {1, 2});
    TestTensor out = make_out(DType::f16, {3});
    ASSERT_EQ(call("aten::index_put.out", {a, std::vector<TestTensor*>{&b}, c, true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3, 1, 2}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {0}, {});
    TestTensor c = make(DType::f32, {4}, {1, 1, 1, 1});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::index_put.out", {a, std::vector<TestTensor*>{&b}, c, false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b =
        make(DType::boolean, {2, 3, 4}, {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
    TestTensor c =
        make(DType::f32, {18}, {-0.0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15, -16, -17});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::index_put.out", {a, std::vector<TestTensor*>{&b}, c, false, out}), Error::Ok);
    EXPECT_TRUE(equals(
        out, {0, 1, 2, 3, 4, 5, -0.0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15, -16, -17}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {1}, {1});
    TestTensor c = make(DType::f32, {2, 3, 1}, {0, 0, 0, 0, 0, 0});
    ASSERT_EQ(call("aten::index_put_", {a, std::vector<TestTensor*>{nullptr, nullptr, &b}, c, false}), Error::Ok);
    EXPECT_TRUE(equals(a, {0, 0, 2, 3, 4, 0, 6, 7, 8, 0, 10, 11, 12, 0, 14, 15, 16, 0, 18, 19, 20, 0, 22, 23}));
  }
}

TEST(IndexSelect, TakesPartsOfADimension) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {3}, {2, 0, 0});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::index_select.out", {a, 1, b, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {8, 9, 10, 11, 0, 1, 2, 3, 0, 1, 2, 3, 20, 21, 22, 23, 12, 13, 14, 15, 12, 13, 14, 15}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor b = make(DType::i64, {2}, {2, 0});
    TestTensor out = make_out(DType::f32, {2, 2, 2, 4}, {0, 2, 3, 1});
    ASSERT_EQ(call("aten::index_select.out", {a, 1, b, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {16, 17, 18, 19, 20, 21, 22, 23, 0,  1,  2,  3,  4,  5,  6,  7,
                             40, 41, 42, 43, 44, 45, 46, 47, 24, 25, 26, 27, 28, 29, 30, 31}));
  }
  {
    TestTensor a = make(DType::f32, {}, {3});
    TestTensor b = make(DType::i64, {1}, {0});
    TestTensor out = make_out(DType::f32, {});
    ASSERT_EQ(call("aten::index_select.out", {a, 0, b, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3}));
  }
}

TEST(IndexCopy, ReplacesParts) {
  TestTensor a = make(DType::f32, {2, 3, 4},
                      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
  TestTensor b = make(DType::i64, {2}, {2, 0});
  TestTensor c = make(DType::f32, {2, 2, 4}, {-0.0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15});
  TestTensor out = make_out(DType::f32, {2, 3, 4});
  ASSERT_EQ(call("aten::index_copy.out", {a, 1, b, c, out}), Error::Ok);
  EXPECT_TRUE(equals(
      out, {-4, -5, -6, -7, 4, 5, 6, 7, -0.0, -1, -2, -3, -12, -13, -14, -15, 16, 17, 18, 19, -8, -9, -10, -11}));
}

TEST(IndexAdd, AddsParts) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {2}, {2, 2});
    TestTensor c = make(DType::f32, {2, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::index_add.out", {a, 1, b, c, 2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, 16, 21, 26, 31, 12, 13, 14, 15, 16, 17, 18, 19, 60, 65, 70, 75}));
  }
  {
    TestTensor a = make(DType::i64, {3}, {0, 1, 2});
    TestTensor b = make(DType::i64, {2}, {2, 2});
    TestTensor c = make(DType::i64, {2}, {5, 6});
    TestTensor out = make_out(DType::i64, {3});
    ASSERT_EQ(call("aten::index_add.out", {a, 0, b, c, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 13}));
  }
}

TEST(IndexFill, WritesOneValue) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {2}, {0, -1});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::index_fill.int_Scalar_out", {a, -1, b, 7, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {7, 1, 2, 7, 7, 5, 6, 7, 7, 9, 10, 7, 7, 13, 14, 7, 7, 17, 18, 7, 7, 21, 22, 7}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {1}, {1});
    TestTensor c = make(DType::i64, {}, {7});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::index_fill.int_Tensor_out", {a, 1, b, c, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 7, 7, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15, 7, 7, 7, 7, 20, 21, 22, 23}));
  }
}

TEST(IndexSelect, PicksRowsAlongEveryDimOfEveryElementSize) {
  for (const DType dtype : {DType::i8, DType::i16, DType::f32, DType::i64}) {
    for (const std::vector<uint8_t>& order : {std::vector<uint8_t>{0, 1, 2}, std::vector<uint8_t>{2, 0, 1}}) {
      std::vector<double> x(60);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
      TestTensor a = make(dtype, {3, 4, 5}, x, order), index = make_ints(DType::i64, {4}, {2, 0, 0, 1});
      for (int dim = 0; dim < 3; ++dim) {
        std::vector<int32_t> sizes = {3, 4, 5};
        sizes[static_cast<size_t>(dim)] = 4;
        TestTensor out = make_out(dtype, sizes);
        ASSERT_EQ(call("aten::index_select.out", {a, dim, index, out}), Error::Ok);
        const int picks[] = {2, 0, 0, 1};
        std::vector<double> expected;
        for (int i = 0; i < sizes[0]; ++i)
          for (int j = 0; j < sizes[1]; ++j)
            for (int k = 0; k < sizes[2]; ++k)
              expected.push_back((dim == 0 ? picks[i] : i) * 20 + (dim == 1 ? picks[j] : j) * 5 +
                                 (dim == 2 ? picks[k] : k));
        EXPECT_TRUE(equals(out, expected)) << dtype_name(dtype) << " dim " << dim;
      }
    }
  }
}

// Indices of all dimensions pick single elements; those of some pick rows.
TEST(Index, PicksAndPutsElementsAndRowsInAnyOrderInMemory) {
  std::vector<double> x(24);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  for (const auto& order : {std::vector<uint8_t>{0, 1, 2}, std::vector<uint8_t>{2, 0, 1}})
    for (const DType dtype : {DType::f32, DType::i64, DType::u8, DType::f16}) {
      TestTensor in = make(dtype, {2, 3, 4}, x, order);
      TestTensor i = make(DType::i64, {2, 1}, {1, -2}), j = make(DType::i64, {3}, {2, 0, 0}),
                 k = make(DType::i64, {1}, {3});
      TestTensor elements = make_out(dtype, {2, 3}), turned = make_out(dtype, {2, 3}, {1, 0}),
                 rows = make_out(dtype, {2, 3, 4});
      for (TestTensor* out : {&elements, &turned}) {
        ASSERT_EQ(call("aten::index.Tensor_out", {in, std::vector<TestTensor*>{&i, &j, &k}, *out}), Error::Ok);
        EXPECT_TRUE(equals(*out, {23, 15, 15, 11, 3, 3}));
      }
      ASSERT_EQ(call("aten::index.Tensor_out", {in, std::vector<TestTensor*>{&i, &j}, rows}), Error::Ok);
      EXPECT_TRUE(equals(rows, {20, 21, 22, 23, 12, 13, 14, 15, 12, 13, 14, 15, 8, 9, 10, 11, 0, 1, 2, 3, 0, 1, 2, 3}));
      TestTensor places = make(DType::i64, {2, 3}, {3, 1, 3, 3, 0, 1}),
                 numbers = make(dtype, {2, 3}, {1, 2, 3, 4, 5, 6});
      for (const bool accumulate : {false, true}) {
        TestTensor line = make(dtype, {4}, {10, 20, 30, 40}), out = make_out(dtype, {4});
        ASSERT_EQ(call("aten::index_put.out", {line, std::vector<TestTensor*>{&places}, numbers, accumulate, out}),
                  Error::Ok);
        EXPECT_TRUE(equals(out, accumulate ? std::vector<double>{15, 28, 30, 48} : std::vector<double>{5, 6, 30, 4}));
      }
      TestTensor ones = make(dtype, {4}, {1, 1, 1, 1});
      for (const bool accumulate : {false, true}) {
        std::vector<double> wanted = x;
        for (const size_t row : {5, 3, 3, 2, 0, 0})
          for (size_t c = 0; c < 4; ++c) wanted[row * 4 + c] = accumulate ? wanted[row * 4 + c] + 1 : 1;
        TestTensor out = make_out(dtype, {2, 3, 4}, order);
        ASSERT_EQ(call("aten::index_put.out", {in, std::vector<TestTensor*>{&i, &j}, ones, accumulate, out}),
                  Error::Ok);
        EXPECT_TRUE(equals(out, wanted)) << accumulate;
      }
    }
}

}  // namespace
}  // namespace wick::test
