// Expected values are those of eager PyTorch.
#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

TEST(Sort, IsStableAndPutsNanLast) {
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, NAN, -1, 3, INFINITY, 0, -0.0, 2, -INFINITY, 0});
    TestTensor out0 = make_out(DType::f32, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, -1, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {-1, 3, 3, INFINITY, NAN, -INFINITY, 0, -0.0, 0, 2}));
    EXPECT_TRUE(equals(out1, {2, 0, 3, 4, 1, 3, 0, 1, 4, 2}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, NAN, -1, 3, INFINITY, 0, -0.0, 2, -INFINITY, 0});
    TestTensor out0 = make_out(DType::f32, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, -1, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {NAN, INFINITY, 3, 3, -1, 2, 0, -0.0, 0, -INFINITY}));
    EXPECT_TRUE(equals(out1, {1, 4, 0, 3, 2, 2, 0, 1, 4, 3}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, NAN, -1, 3, INFINITY, 0, -0.0, 2, -INFINITY, 0});
    TestTensor out0 = make_out(DType::f32, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, 0, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {0, -0.0, -1, -INFINITY, 0, 3, NAN, 2, 3, INFINITY}));
    EXPECT_TRUE(equals(out1, {1, 1, 0, 1, 1, 0, 0, 1, 0, 0}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, NAN, -1, 3, INFINITY, 0, -0.0, 2, -INFINITY, 0});
    TestTensor out0 = make_out(DType::f32, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, 0, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {3, NAN, 2, 3, INFINITY, 0, -0.0, -1, -INFINITY, 0}));
    EXPECT_TRUE(equals(out1, {0, 0, 1, 0, 0, 1, 1, 0, 1, 1}));
  }
  {
    TestTensor a = make(DType::i64, {2, 4}, {3, 1, 2, 1, 5, 5, 0, -7});
    TestTensor out0 = make_out(DType::i64, {2, 4});
    TestTensor out1 = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, -1, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {1, 1, 2, 3, -7, 0, 5, 5}));
    EXPECT_TRUE(equals(out1, {1, 3, 2, 0, 3, 2, 0, 1}));
  }
  {
    TestTensor a = make(DType::i64, {2, 4}, {3, 1, 2, 1, 5, 5, 0, -7});
    TestTensor out0 = make_out(DType::i64, {2, 4});
    TestTensor out1 = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, -1, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {3, 2, 1, 1, 5, 5, 0, -7}));
    EXPECT_TRUE(equals(out1, {0, 2, 1, 3, 0, 1, 2, 3}));
  }
  {
    TestTensor a = make(DType::i64, {2, 4}, {3, 1, 2, 1, 5, 5, 0, -7});
    TestTensor out0 = make_out(DType::i64, {2, 4});
    TestTensor out1 = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, 0, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {3, 1, 0, -7, 5, 5, 2, 1}));
    EXPECT_TRUE(equals(out1, {0, 0, 1, 1, 1, 1, 0, 0}));
  }
  {
    TestTensor a = make(DType::i64, {2, 4}, {3, 1, 2, 1, 5, 5, 0, -7});
    TestTensor out0 = make_out(DType::i64, {2, 4});
    TestTensor out1 = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, 0, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {5, 5, 2, 1, 3, 1, 0, -7}));
    EXPECT_TRUE(equals(out1, {1, 1, 0, 0, 0, 0, 1, 1}));
  }
  {
    TestTensor a = make(DType::f16, {2, 5}, {3, NAN, -1, 3, INFINITY, 0, -0.0, 2, -INFINITY, 0});
    TestTensor out0 = make_out(DType::f16, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, -1, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {-1, 3, 3, INFINITY, NAN, -INFINITY, 0, -0.0, 0, 2}));
    EXPECT_TRUE(equals(out1, {2, 0, 3, 4, 1, 3, 0, 1, 4, 2}));
  }
  {
    TestTensor a = make(DType::f16, {2, 5}, {3, NAN, -1, 3, INFINITY, 0, -0.0, 2, -INFINITY, 0});
    TestTensor out0 = make_out(DType::f16, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, -1, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {NAN, INFINITY, 3, 3, -1, 2, 0, -0.0, 0, -INFINITY}));
    EXPECT_TRUE(equals(out1, {1, 4, 0, 3, 2, 2, 0, 1, 4, 3}));
  }
  {
    TestTensor a = make(DType::f16, {2, 5}, {3, NAN, -1, 3, INFINITY, 0, -0.0, 2, -INFINITY, 0});
    TestTensor out0 = make_out(DType::f16, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, 0, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {0, -0.0, -1, -INFINITY, 0, 3, NAN, 2, 3, INFINITY}));
    EXPECT_TRUE(equals(out1, {1, 1, 0, 1, 1, 0, 0, 1, 0, 0}));
  }
  {
    TestTensor a = make(DType::f16, {2, 5}, {3, NAN, -1, 3, INFINITY, 0, -0.0, 2, -INFINITY, 0});
    TestTensor out0 = make_out(DType::f16, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, 0, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {3, NAN, 2, 3, INFINITY, 0, -0.0, -1, -INFINITY, 0}));
    EXPECT_TRUE(equals(out1, {0, 0, 1, 0, 0, 1, 1, 0, 1, 1}));
  }
  {
    TestTensor a = make(DType::boolean, {2, 4}, {1, 1, 1, 1, 1, 1, 0, 1});
    TestTensor out0 = make_out(DType::boolean, {2, 4});
    TestTensor out1 = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, -1, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {1, 1, 1, 1, 0, 1, 1, 1}));
    EXPECT_TRUE(equals(out1, {0, 1, 2, 3, 2, 0, 1, 3}));
  }
  {
    TestTensor a = make(DType::boolean, {2, 4}, {1, 1, 1, 1, 1, 1, 0, 1});
    TestTensor out0 = make_out(DType::boolean, {2, 4});
    TestTensor out1 = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, -1, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {1, 1, 1, 1, 1, 1, 1, 0}));
    EXPECT_TRUE(equals(out1, {0, 1, 2, 3, 0, 1, 3, 2}));
  }
  {
    TestTensor a = make(DType::boolean, {2, 4}, {1, 1, 1, 1, 1, 1, 0, 1});
    TestTensor out0 = make_out(DType::boolean, {2, 4});
    TestTensor out1 = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, 0, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {1, 1, 0, 1, 1, 1, 1, 1}));
    EXPECT_TRUE(equals(out1, {0, 0, 1, 0, 1, 1, 0, 1}));
  }
  {
    TestTensor a = make(DType::boolean, {2, 4}, {1, 1, 1, 1, 1, 1, 0, 1});
    TestTensor out0 = make_out(DType::boolean, {2, 4});
    TestTensor out1 = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, 0, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {1, 1, 1, 1, 1, 1, 0, 1}));
    EXPECT_TRUE(equals(out1, {0, 0, 0, 0, 1, 1, 1, 1}));
  }
  {
    TestTensor a = make(DType::f32, {}, {4});
    TestTensor out0 = make_out(DType::f32, {});
    TestTensor out1 = make_out(DType::i64, {});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, -1, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {4}));
    EXPECT_TRUE(equals(out1, {0}));
  }
  {
    TestTensor a = make(DType::f32, {}, {4});
    TestTensor out0 = make_out(DType::f32, {});
    TestTensor out1 = make_out(DType::i64, {});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, -1, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {4}));
    EXPECT_TRUE(equals(out1, {0}));
  }
  {
    TestTensor a = make(DType::f32, {}, {4});
    TestTensor out0 = make_out(DType::f32, {});
    TestTensor out1 = make_out(DType::i64, {});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, 0, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {4}));
    EXPECT_TRUE(equals(out1, {0}));
  }
  {
    TestTensor a = make(DType::f32, {}, {4});
    TestTensor out0 = make_out(DType::f32, {});
    TestTensor out1 = make_out(DType::i64, {});
    ASSERT_EQ(call("aten::sort.values_stable", {a, true, 0, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {4}));
    EXPECT_TRUE(equals(out1, {0}));
  }
  {
    TestTensor a = make(DType::i64, {2, 4}, {3, 1, 2, 1, 5, 5, 0, -7});
    TestTensor out0 = make_out(DType::i64, {2, 4});
    TestTensor out1 = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::sort.values", {a, 1, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {1, 1, 2, 3, -7, 0, 5, 5}));
    EXPECT_TRUE(equals(out1, {1, 3, 2, 0, 3, 2, 0, 1}));
  }
  {
    TestTensor a =
        make(DType::i64, {97},
             {0,  14, 11, 8,  5,  2,  16, 13, 10, 7,  4,  1,  15, 12, 9,  6,  3,  0,  14, 11, 8,  5,  2,  16, 13,
              10, 7,  4,  1,  15, 12, 9,  6,  3,  0,  14, 11, 8,  5,  2,  16, 13, 10, 7,  4,  1,  15, 12, 9,  6,
              3,  0,  14, 11, 8,  5,  2,  16, 13, 10, 7,  4,  1,  15, 12, 9,  6,  3,  0,  14, 11, 8,  5,  2,  16,
              13, 10, 7,  4,  1,  15, 12, 9,  6,  3,  0,  14, 11, 8,  5,  2,  16, 13, 10, 7,  4,  1});
    TestTensor out0 = make_out(DType::i64, {97});
    TestTensor out1 = make_out(DType::i64, {97});
    ASSERT_EQ(call("aten::sort.values", {a, 0, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(
        out0, {0,  0,  0,  0,  0,  0,  1,  1,  1,  1,  1,  1,  2,  2,  2,  2,  2,  2,  3,  3,  3,  3,  3,  4,  4,
               4,  4,  4,  4,  5,  5,  5,  5,  5,  5,  6,  6,  6,  6,  6,  7,  7,  7,  7,  7,  7,  8,  8,  8,  8,
               8,  8,  9,  9,  9,  9,  9,  10, 10, 10, 10, 10, 10, 11, 11, 11, 11, 11, 11, 12, 12, 12, 12, 12, 13,
               13, 13, 13, 13, 13, 14, 14, 14, 14, 14, 14, 15, 15, 15, 15, 15, 16, 16, 16, 16, 16, 16}));
    EXPECT_TRUE(equals(
        out1, {0,  17, 34, 51, 68, 85, 11, 28, 45, 62, 79, 96, 5,  22, 39, 56, 73, 90, 16, 33, 50, 67, 84, 10, 27,
               44, 61, 78, 95, 4,  21, 38, 55, 72, 89, 15, 32, 49, 66, 83, 9,  26, 43, 60, 77, 94, 3,  20, 37, 54,
               71, 88, 14, 31, 48, 65, 82, 8,  25, 42, 59, 76, 93, 2,  19, 36, 53, 70, 87, 13, 30, 47, 64, 81, 7,
               24, 41, 58, 75, 92, 1,  18, 35, 52, 69, 86, 12, 29, 46, 63, 80, 6,  23, 40, 57, 74, 91}));
  }
  {
    TestTensor a = make(DType::i64, {2, 4}, {3, 1, 2, 1, 5, 5, 0, -7});
    TestTensor out = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::argsort.stable_out", {a, true, 1, true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 2, 1, 3, 0, 1, 2, 3}));
  }
}

TEST(Topk, ListsTheLargestInOrder) {
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2, 0});
    TestTensor out1 = make_out(DType::i64, {2, 0});
    ASSERT_EQ(call("aten::topk.values", {a, 0, -1, true, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {}));
    EXPECT_TRUE(equals(out1, {}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2, 0});
    TestTensor out1 = make_out(DType::i64, {2, 0});
    ASSERT_EQ(call("aten::topk.values", {a, 0, -1, false, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {}));
    EXPECT_TRUE(equals(out1, {}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2, 1});
    TestTensor out1 = make_out(DType::i64, {2, 1});
    ASSERT_EQ(call("aten::topk.values", {a, 1, -1, true, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {NAN, 7}));
    EXPECT_TRUE(equals(out1, {4, 1}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2, 1});
    TestTensor out1 = make_out(DType::i64, {2, 1});
    ASSERT_EQ(call("aten::topk.values", {a, 1, -1, false, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {-1, -INFINITY}));
    EXPECT_TRUE(equals(out1, {2, 3}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2, 3});
    TestTensor out1 = make_out(DType::i64, {2, 3});
    ASSERT_EQ(call("aten::topk.values", {a, 3, -1, true, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {NAN, 9, 4, 7, 2, 1}));
    EXPECT_TRUE(equals(out1, {4, 1, 3, 1, 2, 4}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2, 3});
    TestTensor out1 = make_out(DType::i64, {2, 3});
    ASSERT_EQ(call("aten::topk.values", {a, 3, -1, false, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {-1, 3, 4, -INFINITY, 0, 1}));
    EXPECT_TRUE(equals(out1, {2, 0, 3, 3, 0, 4}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::topk.values", {a, 5, -1, true, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {NAN, 9, 4, 3, -1, 7, 2, 1, 0, -INFINITY}));
    EXPECT_TRUE(equals(out1, {4, 1, 3, 0, 2, 1, 2, 4, 0, 3}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::topk.values", {a, 5, -1, false, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {-1, 3, 4, 9, NAN, -INFINITY, 0, 1, 2, 7}));
    EXPECT_TRUE(equals(out1, {2, 0, 3, 1, 4, 3, 0, 4, 2, 1}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {1, 5});
    TestTensor out1 = make_out(DType::i64, {1, 5});
    ASSERT_EQ(call("aten::topk.values", {a, 1, 0, true, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {3, 9, 2, 4, NAN}));
    EXPECT_TRUE(equals(out1, {0, 0, 1, 0, 0}));
  }
  {
    TestTensor a = make(DType::f32, {}, {3});
    TestTensor out0 = make_out(DType::f32, {});
    TestTensor out1 = make_out(DType::i64, {});
    ASSERT_EQ(call("aten::topk.values", {a, 1, -1, true, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {3}));
    EXPECT_TRUE(equals(out1, {0}));
  }
}

TEST(Median, AndKthValueFollowEager) {
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2});
    TestTensor out1 = make_out(DType::i64, {2});
    ASSERT_EQ(call("aten::kthvalue.values", {a, 1, -1, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {-1, -INFINITY}));
    EXPECT_TRUE(equals(out1, {2, 3}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {1, 5});
    TestTensor out1 = make_out(DType::i64, {1, 5});
    ASSERT_EQ(call("aten::kthvalue.values", {a, 1, 0, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {0, 7, -1, -INFINITY, 1}));
    EXPECT_TRUE(equals(out1, {1, 1, 0, 1, 1}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2});
    TestTensor out1 = make_out(DType::i64, {2});
    ASSERT_EQ(call("aten::kthvalue.values", {a, 3, -1, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {4, 1}));
    EXPECT_TRUE(equals(out1, {3, 4}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {1, 5});
    TestTensor out1 = make_out(DType::i64, {1, 5});
    ASSERT_EQ(call("aten::kthvalue.values", {a, 1, 0, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {0, 7, -1, -INFINITY, 1}));
    EXPECT_TRUE(equals(out1, {1, 1, 0, 1, 1}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2});
    TestTensor out1 = make_out(DType::i64, {2});
    ASSERT_EQ(call("aten::kthvalue.values", {a, 5, -1, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {NAN, 7}));
    EXPECT_TRUE(equals(out1, {4, 1}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {1, 5});
    TestTensor out1 = make_out(DType::i64, {1, 5});
    ASSERT_EQ(call("aten::kthvalue.values", {a, 1, 0, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {0, 7, -1, -INFINITY, 1}));
    EXPECT_TRUE(equals(out1, {1, 1, 0, 1, 1}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2});
    TestTensor out1 = make_out(DType::i64, {2});
    ASSERT_EQ(call("aten::median.dim_values", {a, -1, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {NAN, 1}));
    EXPECT_TRUE(equals(out1, {4, 4}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2, 1});
    TestTensor out1 = make_out(DType::i64, {2, 1});
    ASSERT_EQ(call("aten::median.dim_values", {a, -1, true, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {NAN, 1}));
    EXPECT_TRUE(equals(out1, {4, 4}));
  }
  {
    TestTensor a = make(DType::i64, {2, 4}, {5, 1, 4, 2, 9, 8, 7, 6});
    TestTensor out0 = make_out(DType::i64, {2});
    TestTensor out1 = make_out(DType::i64, {2});
    ASSERT_EQ(call("aten::median.dim_values", {a, 1, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {2, 7}));
    EXPECT_TRUE(equals(out1, {3, 2}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2});
    TestTensor out1 = make_out(DType::i64, {2});
    ASSERT_EQ(call("aten::nanmedian.dim_values", {a, -1, false, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {3, 1}));
    EXPECT_TRUE(equals(out1, {0, 4}));
  }
  {
    TestTensor a = make(DType::i64, {2, 4}, {5, 1, 4, 2, 9, 8, 7, 6});
    TestTensor out = make_out(DType::i64, {});
    ASSERT_EQ(call("aten::median.out", {a, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {5}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out = make_out(DType::f32, {});
    ASSERT_EQ(call("aten::median.out", {a, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {NAN}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out = make_out(DType::f32, {});
    ASSERT_EQ(call("aten::nanmedian.out", {a, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2}));
  }
  {
    TestTensor a = make(DType::f32, {0}, {});
    TestTensor out = make_out(DType::f32, {});
    ASSERT_EQ(call("aten::median.out", {a, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {NAN}));
  }
}

TEST(Mode, IsTheSmallestMostFrequentValue) {
  TestTensor a = make(DType::i64, {2, 5}, {1, 3, 3, 1, 2, 4, 4, 4, 0, 0});
  TestTensor out0 = make_out(DType::i64, {2});
  TestTensor out1 = make_out(DType::i64, {2});
  ASSERT_EQ(call("aten::mode.values", {a, 1, false, out0, out1}), Error::Ok);
  EXPECT_TRUE(equals(out0, {1, 4}));
  EXPECT_TRUE(equals(out1, {3, 2}));
}

TEST(Unique, FollowsEager) {
  {
    TestTensor a = make(DType::i64, {6}, {3, 1, 3, 2, 1, 1});
    TestTensor out0 = make_dynamic(DType::i64, {6});
    TestTensor out1 = make_dynamic(DType::i64, {6});
    TestTensor out2 = make_dynamic(DType::i64, {6});
    ASSERT_EQ(call("aten::_unique2.out", {a, true, true, true, out0, out1, out2}), Error::Ok);
    EXPECT_TRUE(has_shape(out0, {3}));
    EXPECT_TRUE(equals(out0, {1, 2, 3}));
    EXPECT_TRUE(has_shape(out1, {6}));
    EXPECT_TRUE(equals(out1, {2, 0, 2, 1, 0, 0}));
    EXPECT_TRUE(has_shape(out2, {3}));
    EXPECT_TRUE(equals(out2, {3, 1, 2}));
  }
  {
    TestTensor a = make(DType::i64, {2, 3}, {3, 1, 3, 2, 1, 1});
    TestTensor out0 = make_dynamic(DType::i64, {6});
    TestTensor out1 = make_dynamic(DType::i64, {2, 3});
    TestTensor out2 = make_dynamic(DType::i64, {1});
    ASSERT_EQ(call("aten::_unique2.out", {a, true, true, false, out0, out1, out2}), Error::Ok);
    EXPECT_TRUE(has_shape(out0, {3}));
    EXPECT_TRUE(equals(out0, {1, 2, 3}));
    EXPECT_TRUE(has_shape(out1, {2, 3}));
    EXPECT_TRUE(equals(out1, {2, 0, 2, 1, 0, 0}));
    EXPECT_TRUE(has_shape(out2, {0}));
    EXPECT_TRUE(equals(out2, {}));
  }
  {
    TestTensor a = make(DType::i64, {6}, {3, 1, 3, 2, 1, 1});
    TestTensor out0 = make_dynamic(DType::i64, {6});
    TestTensor out1 = make_dynamic(DType::i64, {6});
    TestTensor out2 = make_dynamic(DType::i64, {6});
    ASSERT_EQ(call("aten::unique_consecutive.out", {a, true, true, nullptr, out0, out1, out2}), Error::Ok);
    EXPECT_TRUE(has_shape(out0, {5}));
    EXPECT_TRUE(equals(out0, {3, 1, 3, 2, 1}));
    EXPECT_TRUE(has_shape(out1, {6}));
    EXPECT_TRUE(equals(out1, {0, 1, 2, 3, 4, 4}));
    EXPECT_TRUE(has_shape(out2, {5}));
    EXPECT_TRUE(equals(out2, {1, 1, 1, 1, 2}));
  }
  {
    TestTensor a = make(DType::f32, {4, 2}, {1, 1, 1, 1, 2, 3, 1, 1});
    TestTensor out0 = make_dynamic(DType::f32, {4, 2});
    TestTensor out1 = make_dynamic(DType::i64, {4});
    TestTensor out2 = make_dynamic(DType::i64, {4});
    ASSERT_EQ(call("aten::unique_consecutive.out", {a, true, true, 0, out0, out1, out2}), Error::Ok);
    EXPECT_TRUE(has_shape(out0, {3, 2}));
    EXPECT_TRUE(equals(out0, {1, 1, 2, 3, 1, 1}));
    EXPECT_TRUE(has_shape(out1, {4}));
    EXPECT_TRUE(equals(out1, {0, 0, 1, 2}));
    EXPECT_TRUE(has_shape(out2, {3}));
    EXPECT_TRUE(equals(out2, {2, 1, 1}));
  }
}

TEST(CumulativeExtremes, FollowEager) {
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::cummax.out", {a, 1, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {3, 9, 9, 9, NAN, 0, 7, 7, 7, 7}));
    EXPECT_TRUE(equals(out1, {0, 1, 1, 1, 4, 0, 1, 1, 1, 1}));
  }
  {
    TestTensor a = make(DType::i64, {2, 4}, {3, 1, 2, 1, 5, 5, 0, -7});
    TestTensor out0 = make_out(DType::i64, {2, 4});
    TestTensor out1 = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::cummax.out", {a, 0, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {3, 1, 2, 1, 5, 5, 2, 1}));
    EXPECT_TRUE(equals(out1, {0, 0, 0, 0, 1, 1, 0, 0}));
  }
  {
    TestTensor a = make(DType::i64, {2, 5}, {1, 3, 3, 1, 2, 4, 4, 4, 0, 0});
    TestTensor out0 = make_out(DType::i64, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::cummax.out", {a, 1, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {1, 3, 3, 3, 3, 4, 4, 4, 4, 4}));
    EXPECT_TRUE(equals(out1, {0, 1, 2, 2, 2, 0, 1, 2, 2, 2}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5}, {3, 9, -1, 4, NAN, 0, 7, 2, -INFINITY, 1});
    TestTensor out0 = make_out(DType::f32, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::cummin.out", {a, 1, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {3, 3, -1, -1, NAN, 0, 0, 0, -INFINITY, -INFINITY}));
    EXPECT_TRUE(equals(out1, {0, 0, 2, 2, 4, 0, 0, 0, 3, 3}));
  }
  {
    TestTensor a = make(DType::i64, {2, 4}, {3, 1, 2, 1, 5, 5, 0, -7});
    TestTensor out0 = make_out(DType::i64, {2, 4});
    TestTensor out1 = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::cummin.out", {a, 0, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {3, 1, 2, 1, 3, 1, 0, -7}));
    EXPECT_TRUE(equals(out1, {0, 0, 0, 0, 0, 0, 1, 1}));
  }
  {
    TestTensor a = make(DType::i64, {2, 5}, {1, 3, 3, 1, 2, 4, 4, 4, 0, 0});
    TestTensor out0 = make_out(DType::i64, {2, 5});
    TestTensor out1 = make_out(DType::i64, {2, 5});
    ASSERT_EQ(call("aten::cummin.out", {a, 1, out0, out1}), Error::Ok);
    EXPECT_TRUE(equals(out0, {1, 1, 1, 1, 1, 4, 4, 4, 0, 0}));
    EXPECT_TRUE(equals(out1, {0, 0, 0, 3, 3, 0, 1, 2, 3, 4}));
  }
}

TEST(Logcumsumexp, FollowsEager) {
  TestTensor a = make(DType::f32, {2, 4}, {0, 1, -2, 100, -INFINITY, -INFINITY, 0.5, INFINITY});
  TestTensor out = make_out(DType::f32, {2, 4});
  ASSERT_EQ(call("aten::logcumsumexp.out", {a, 1, out}), Error::Ok);
  EXPECT_TRUE(
      near(out, {0, 1.31326162815094, 1.3490122556686401, 100, -INFINITY, -INFINITY, 0.5, INFINITY}, 1e-6, 1e-6));
}

TEST(EmbeddingBag, FollowsEager) {
  {
    TestTensor a = make(DType::f32, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    TestTensor b = make(DType::i64, {6}, {0, 2, 4, 1, 1, 3});
    TestTensor c = make(DType::i64, {4}, {0, 2, 2, 5});
    TestTensor out0 = make_out(DType::f32, {4, 3});
    TestTensor out1 = make_out(DType::i64, {6});
    TestTensor out2 = make_out(DType::i64, {4});
    TestTensor out3 = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::_embedding_bag.out", {a, b, c, false, 0, false, nullptr, false, -1, out0, out1, out2, out3}),
              Error::Ok);
    EXPECT_TRUE(near(out0, {6, 8, 10, 0, 0, 0, 18, 21, 24, 9, 10, 11}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out1, {0, 0, 0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out2, {0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out3, {0, 0, 0, 0}, 1e-6, 1e-6));
  }
  {
    TestTensor a = make(DType::f32, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    TestTensor b = make(DType::i64, {6}, {0, 2, 4, 1, 1, 3});
    TestTensor c = make(DType::i64, {4}, {0, 2, 2, 6});
    TestTensor out0 = make_out(DType::f32, {3, 3});
    TestTensor out1 = make_out(DType::i64, {6});
    TestTensor out2 = make_out(DType::i64, {3});
    TestTensor out3 = make_out(DType::i64, {3});
    ASSERT_EQ(call("aten::_embedding_bag.out", {a, b, c, false, 0, false, nullptr, true, -1, out0, out1, out2, out3}),
              Error::Ok);
    EXPECT_TRUE(near(out0, {6, 8, 10, 0, 0, 0, 27, 31, 35}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out1, {0, 0, 0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out2, {0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out3, {0, 0, 0}, 1e-6, 1e-6));
  }
  {
    TestTensor a = make(DType::f32, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    TestTensor b = make(DType::i64, {6}, {0, 2, 4, 1, 1, 3});
    TestTensor c = make(DType::i64, {4}, {0, 2, 2, 5});
    TestTensor out0 = make_out(DType::f32, {4, 3});
    TestTensor out1 = make_out(DType::i64, {6});
    TestTensor out2 = make_out(DType::i64, {4});
    TestTensor out3 = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::_embedding_bag.out", {a, b, c, false, 0, false, nullptr, false, 1, out0, out1, out2, out3}),
              Error::Ok);
    EXPECT_TRUE(near(out0, {6, 8, 10, 0, 0, 0, 12, 13, 14, 9, 10, 11}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out1, {0, 0, 0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out2, {0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out3, {0, 0, 0, 0}, 1e-6, 1e-6));
  }
  {
    TestTensor a = make(DType::f32, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    TestTensor b = make(DType::i64, {6}, {0, 2, 4, 1, 1, 3});
    TestTensor c = make(DType::i64, {4}, {0, 2, 2, 5});
    TestTensor out0 = make_out(DType::f32, {4, 3});
    TestTensor out1 = make_out(DType::i64, {6});
    TestTensor out2 = make_out(DType::i64, {4});
    TestTensor out3 = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::_embedding_bag.out", {a, b, c, false, 1, false, nullptr, false, -1, out0, out1, out2, out3}),
              Error::Ok);
    EXPECT_TRUE(near(out0, {3, 4, 5, 0, 0, 0, 6, 7, 8, 9, 10, 11}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out1, {0, 0, 0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out2, {0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out3, {0, 0, 0, 0}, 1e-6, 1e-6));
  }
  {
    TestTensor a = make(DType::f32, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    TestTensor b = make(DType::i64, {6}, {0, 2, 4, 1, 1, 3});
    TestTensor c = make(DType::i64, {4}, {0, 2, 2, 6});
    TestTensor out0 = make_out(DType::f32, {3, 3});
    TestTensor out1 = make_out(DType::i64, {6});
    TestTensor out2 = make_out(DType::i64, {3});
    TestTensor out3 = make_out(DType::i64, {3});
    ASSERT_EQ(call("aten::_embedding_bag.out", {a, b, c, false, 1, false, nullptr, true, -1, out0, out1, out2, out3}),
              Error::Ok);
    EXPECT_TRUE(near(out0, {3, 4, 5, 0, 0, 0, 6.75, 7.75, 8.75}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out1, {0, 0, 0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out2, {0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out3, {0, 0, 0}, 1e-6, 1e-6));
  }
  {
    TestTensor a = make(DType::f32, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    TestTensor b = make(DType::i64, {6}, {0, 2, 4, 1, 1, 3});
    TestTensor c = make(DType::i64, {4}, {0, 2, 2, 5});
    TestTensor out0 = make_out(DType::f32, {4, 3});
    TestTensor out1 = make_out(DType::i64, {6});
    TestTensor out2 = make_out(DType::i64, {4});
    TestTensor out3 = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::_embedding_bag.out", {a, b, c, false, 1, false, nullptr, false, 1, out0, out1, out2, out3}),
              Error::Ok);
    EXPECT_TRUE(near(out0, {3, 4, 5, 0, 0, 0, 12, 13, 14, 9, 10, 11}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out1, {0, 0, 0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out2, {0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out3, {0, 0, 0, 0}, 1e-6, 1e-6));
  }
  {
    TestTensor a = make(DType::f32, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    TestTensor b = make(DType::i64, {6}, {0, 2, 4, 1, 1, 3});
    TestTensor c = make(DType::i64, {4}, {0, 2, 2, 5});
    TestTensor out0 = make_out(DType::f32, {4, 3});
    TestTensor out1 = make_out(DType::i64, {6});
    TestTensor out2 = make_out(DType::i64, {4});
    TestTensor out3 = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::_embedding_bag.out", {a, b, c, false, 2, false, nullptr, false, -1, out0, out1, out2, out3}),
              Error::Ok);
    EXPECT_TRUE(near(out0, {6, 7, 8, 0, 0, 0, 12, 13, 14, 9, 10, 11}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out1, {0, 0, 0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out2, {0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out3, {0, 0, 0, 0}, 1e-6, 1e-6));
  }
  {
    TestTensor a = make(DType::f32, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    TestTensor b = make(DType::i64, {6}, {0, 2, 4, 1, 1, 3});
    TestTensor c = make(DType::i64, {4}, {0, 2, 2, 6});
    TestTensor out0 = make_out(DType::f32, {3, 3});
    TestTensor out1 = make_out(DType::i64, {6});
    TestTensor out2 = make_out(DType::i64, {3});
    TestTensor out3 = make_out(DType::i64, {3});
    ASSERT_EQ(call("aten::_embedding_bag.out", {a, b, c, false, 2, false, nullptr, true, -1, out0, out1, out2, out3}),
              Error::Ok);
    EXPECT_TRUE(near(out0, {6, 7, 8, 0, 0, 0, 12, 13, 14}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out1, {0, 0, 0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out2, {0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out3, {0, 0, 0}, 1e-6, 1e-6));
  }
  {
    TestTensor a = make(DType::f32, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    TestTensor b = make(DType::i64, {6}, {0, 2, 4, 1, 1, 3});
    TestTensor c = make(DType::i64, {4}, {0, 2, 2, 5});
    TestTensor out0 = make_out(DType::f32, {4, 3});
    TestTensor out1 = make_out(DType::i64, {6});
    TestTensor out2 = make_out(DType::i64, {4});
    TestTensor out3 = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::_embedding_bag.out", {a, b, c, false, 2, false, nullptr, false, 1, out0, out1, out2, out3}),
              Error::Ok);
    EXPECT_TRUE(near(out0, {6, 7, 8, 0, 0, 0, 12, 13, 14, 9, 10, 11}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out1, {0, 0, 0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out2, {0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out3, {0, 0, 0, 0}, 1e-6, 1e-6));
  }
  {
    TestTensor a = make(DType::f32, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    TestTensor b = make(DType::i64, {6}, {0, 2, 4, 1, 1, 3});
    TestTensor c = make(DType::i64, {4}, {0, 2, 2, 5});
    TestTensor d = make(DType::f32, {6}, {1, 2, 0.5, -1, 3, 1});
    TestTensor out0 = make_out(DType::f32, {4, 3});
    TestTensor out1 = make_out(DType::i64, {6});
    TestTensor out2 = make_out(DType::i64, {4});
    TestTensor out3 = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::_embedding_bag.out", {a, b, c, false, 0, false, d, false, -1, out0, out1, out2, out3}),
              Error::Ok);
    EXPECT_TRUE(near(out0, {12, 15, 18, 0, 0, 0, 12, 14.5, 17, 9, 10, 11}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out1, {0, 0, 0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out2, {0, 0, 0, 0}, 1e-6, 1e-6));
    EXPECT_TRUE(near(out3, {0, 0, 0, 0}, 1e-6, 1e-6));
  }
}

TEST(OrderStatistics, MediansAreAtTheirPlaceInTheStableOrder) {
  TestTensor a = make(DType::i32, {4, 5}, {3, 1, 3, 1, 2, 0, 0, 0, 0, 0, 5, 4, 5, 4, 5, 1, 2, 2, 2, 1});
  TestTensor values = make_out(DType::i32, {4}), indices = make_out(DType::i64, {4});
  ASSERT_EQ(call("aten::median.dim_values", {a, 1, false, values, indices}), Error::Ok);
  EXPECT_TRUE(equals(values, {2, 0, 5, 2}));
  EXPECT_TRUE(equals(indices, {4, 2, 0, 1}));
}

TEST(Sort, IsStableForEveryLengthDtypeAndDirection) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i64, DType::i16, DType::u8}) {
    for (const size_t length : {1, 2, 16, 17, 255, 256, 257, 1000}) {
      const std::vector<double> special = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, -1e-40};
      std::vector<double> x(length);
      uint32_t seed = 1;
      for (size_t i = 0; i < length; ++i) {
        seed = seed * 1664525 + 1013904223;
        x[i] = is_floating(dtype) ? static_cast<double>(seed >> 26) / 8 - 4 : static_cast<double>(seed >> 26);
        if (is_floating(dtype) && i % 5 == 3) x[i] = special[i % special.size()];
      }
      if (is_floating(dtype) && length > 20) x[length - 1] = -NAN;
      TestTensor in = make(dtype, {static_cast<int32_t>(length)}, x);
      x = values(in);  // as the dtype rounds them
      for (const bool descending : {false, true}) {
        std::vector<int64_t> order(length);
        for (size_t i = 0; i < length; ++i) order[i] = static_cast<int64_t>(i);
        const auto before = [&](int64_t i, int64_t j) {
          const double a = x[static_cast<size_t>(descending ? j : i)], b = x[static_cast<size_t>(descending ? i : j)];
          return a < b || (!isnan(a) && isnan(b));
        };
        std::stable_sort(order.begin(), order.end(), before);
        std::vector<double> sorted;
        for (const int64_t i : order) sorted.push_back(x[static_cast<size_t>(i)]);
        TestTensor out = make_out(dtype, in.sizes), indices = make_out(DType::i64, in.sizes);
        ASSERT_EQ(call("aten::sort.values_stable", {in, true, 0, descending, out, indices}), Error::Ok);
        EXPECT_TRUE(equals(out, sorted)) << length;
        EXPECT_EQ(ints(indices), order) << length;
      }
    }
  }
}

}  // namespace
}  // namespace wick::test
