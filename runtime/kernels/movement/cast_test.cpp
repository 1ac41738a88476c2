// Expected values are those of eager PyTorch.
#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

TEST(Copy, BroadcastsAndConverts) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {4}, {1, 2, 3, 4});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::copy.out", {a, b, false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::boolean, {}, {1});
    ASSERT_EQ(call("aten::copy_", {a, b, false}), Error::Ok);
    EXPECT_TRUE(equals(a, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  }
}

TEST(DimOrderOps, ConvertLayoutAndDtype) {
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor out = make_out(DType::i32, {2, 3, 2, 4});
    ASSERT_EQ(call("dim_order_ops::_to_dim_order_copy.out", {a, false, std::vector<int64_t>{0, 1, 2, 3}, out}),
              Error::Ok);
    EXPECT_TRUE(
        equals(out, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                     24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47});
    TestTensor out = make_out(DType::f64, {2, 3, 2, 4}, {0, 2, 3, 1});
    ASSERT_EQ(call("dim_order_ops::_to_dim_order_copy.out", {a, false, std::vector<int64_t>{0, 2, 3, 1}, out}),
              Error::Ok);
    EXPECT_TRUE(
        equals(out, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                     24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 2, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47},
                        {0, 2, 3, 1});
    TestTensor out = make_out(DType::f32, {2, 3, 2, 4}, {0, 2, 3, 1});
    ASSERT_EQ(call("dim_order_ops::_clone_dim_order.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                     24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47}));
  }
}

TEST(Cast, FollowsEager) {
  {
    TestTensor a = make(DType::f32, {24}, {0,           -0.0,
                                           0.5,         -0.5,
                                           1.5,         -1.5,
                                           2.5,         127.4000015258789,
                                           128,         -128.89999389648438,
                                           255.5,       256,
                                           -1,          300,
                                           65504,       -300,
                                           NAN,         INFINITY,
                                           -INFINITY,   3000000000,
                                           -3000000000, 1.0000000200408773e+20,
                                           65520,       2147483648});
    TestTensor out = make_out(DType::f16, {24});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(
        out, {0,  -0.0, 0.5,   -0.5, 1.5, -1.5,     2.5,       127.375,  128,       -128.875, 255.5,    256,
              -1, 300,  65504, -300, NAN, INFINITY, -INFINITY, INFINITY, -INFINITY, INFINITY, INFINITY, INFINITY}));
  }
  {
    TestTensor a = make(DType::f32, {24}, {0,           -0.0,
                                           0.5,         -0.5,
                                           1.5,         -1.5,
                                           2.5,         127.4000015258789,
                                           128,         -128.89999389648438,
                                           255.5,       256,
                                           -1,          300,
                                           65504,       -300,
                                           NAN,         INFINITY,
                                           -INFINITY,   3000000000,
                                           -3000000000, 1.0000000200408773e+20,
                                           65520,       2147483648});
    TestTensor out = make_out(DType::bf16, {24});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(
        out,
        {0,     -0.0,      0.5, -0.5,  1.5,  -1.5, 2.5,      127.5,     128,        -129,        256,
         256,   -1,        300, 65536, -300, NAN,  INFINITY, -INFINITY, 3003121664, -3003121664, 9.972771014849226e+19,
         65536, 2147483648}));
  }
  {
    TestTensor a = make(DType::f32, {24}, {0,           -0.0,
                                           0.5,         -0.5,
                                           1.5,         -1.5,
                                           2.5,         127.4000015258789,
                                           128,         -128.89999389648438,
                                           255.5,       256,
                                           -1,          300,
                                           65504,       -300,
                                           NAN,         INFINITY,
                                           -INFINITY,   3000000000,
                                           -3000000000, 1.0000000200408773e+20,
                                           65520,       2147483648});
    TestTensor out = make_out(DType::f64, {24});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0,           -0.0,
                             0.5,         -0.5,
                             1.5,         -1.5,
                             2.5,         127.4000015258789,
                             128,         -128.89999389648438,
                             255.5,       256,
                             -1,          300,
                             65504,       -300,
                             NAN,         INFINITY,
                             -INFINITY,   3000000000,
                             -3000000000, 1.0000000200408773e+20,
                             65520,       2147483648}));
  }
  {
    TestTensor a = make(DType::f32, {24}, {0,           -0.0,
                                           0.5,         -0.5,
                                           1.5,         -1.5,
                                           2.5,         127.4000015258789,
                                           128,         -128.89999389648438,
                                           255.5,       256,
                                           -1,          300,
                                           65504,       -300,
                                           NAN,         INFINITY,
                                           -INFINITY,   3000000000,
                                           -3000000000, 1.0000000200408773e+20,
                                           65520,       2147483648});
    TestTensor out = make_out(DType::boolean, {24});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  }
  {
    TestTensor a = make(DType::f32, {24}, {0,           -0.0,
                                           0.5,         -0.5,
                                           1.5,         -1.5,
                                           2.5,         127.4000015258789,
                                           128,         -128.89999389648438,
                                           255.5,       256,
                                           -1,          300,
                                           65504,       -300,
                                           NAN,         INFINITY,
                                           -INFINITY,   3000000000,
                                           -3000000000, 1.0000000200408773e+20,
                                           65520,       2147483648});
    TestTensor out = make_out(DType::i8, {24});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0, 0, 0, 0, 1, -1, 2, 127, -128, -128, -1, 0, -1, 44, -32, -44, 0, 0, 0, 0, 0, 0, -16, 0}));
  }
  {
    TestTensor a = make(DType::f32, {24}, {0,           -0.0,
                                           0.5,         -0.5,
                                           1.5,         -1.5,
                                           2.5,         127.4000015258789,
                                           128,         -128.89999389648438,
                                           255.5,       256,
                                           -1,          300,
                                           65504,       -300,
                                           NAN,         INFINITY,
                                           -INFINITY,   3000000000,
                                           -3000000000, 1.0000000200408773e+20,
                                           65520,       2147483648});
    TestTensor out = make_out(DType::i16, {24});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0, 0, 0, 0, 1, -1, 2, 127, 128, -128, 255, 256, -1, 300, -32, -300, 0, 0, 0, 0, 0, 0, -16, 0}));
  }
  {
    TestTensor a = make(DType::f32, {24}, {0,           -0.0,
                                           0.5,         -0.5,
                                           1.5,         -1.5,
                                           2.5,         127.4000015258789,
                                           128,         -128.89999389648438,
                                           255.5,       256,
                                           -1,          300,
                                           65504,       -300,
                                           NAN,         INFINITY,
                                           -INFINITY,   3000000000,
                                           -3000000000, 1.0000000200408773e+20,
                                           65520,       2147483648});
    TestTensor out = make_out(DType::i32, {24});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(
        out, {0,           0,           0,           0,           1,           -1,          2,     127,
              128,         -128,        255,         256,         -1,          300,         65504, -300,
              -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, 65520, -2147483648}));
  }
  {
    TestTensor a = make(DType::f32, {24}, {0,           -0.0,
                                           0.5,         -0.5,
                                           1.5,         -1.5,
                                           2.5,         127.4000015258789,
                                           128,         -128.89999389648438,
                                           255.5,       256,
                                           -1,          300,
                                           65504,       -300,
                                           NAN,         INFINITY,
                                           -INFINITY,   3000000000,
                                           -3000000000, 1.0000000200408773e+20,
                                           65520,       2147483648});
    TestTensor out = make_out(DType::i64, {24});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_EQ(ints(out), (std::vector<int64_t>{0,
                                               0,
                                               0,
                                               0,
                                               1,
                                               -1,
                                               2,
                                               127,
                                               128,
                                               -128,
                                               255,
                                               256,
                                               -1,
                                               300,
                                               65504,
                                               -300,
                                               (-9223372036854775807 - 1),
                                               (-9223372036854775807 - 1),
                                               (-9223372036854775807 - 1),
                                               3000000000,
                                               -3000000000,
                                               (-9223372036854775807 - 1),
                                               65520,
                                               2147483648}));
  }
  {
    TestTensor a = make(DType::f32, {24}, {0,           -0.0,
                                           0.5,         -0.5,
                                           1.5,         -1.5,
                                           2.5,         127.4000015258789,
                                           128,         -128.89999389648438,
                                           255.5,       256,
                                           -1,          300,
                                           65504,       -300,
                                           NAN,         INFINITY,
                                           -INFINITY,   3000000000,
                                           -3000000000, 1.0000000200408773e+20,
                                           65520,       2147483648});
    TestTensor out = make_out(DType::u8, {24});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0, 0, 0, 0, 1, 255, 2, 127, 128, 128, 255, 0, 255, 44, 224, 212, 0, 0, 0, 0, 0, 0, 240, 0}));
  }
  {
    TestTensor a = make(DType::f32, {24}, {0,           -0.0,
                                           0.5,         -0.5,
                                           1.5,         -1.5,
                                           2.5,         127.4000015258789,
                                           128,         -128.89999389648438,
                                           255.5,       256,
                                           -1,          300,
                                           65504,       -300,
                                           NAN,         INFINITY,
                                           -INFINITY,   3000000000,
                                           -3000000000, 1.0000000200408773e+20,
                                           65520,       2147483648});
    TestTensor out = make_out(DType::u16, {24});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0,     0,   0,     0,     1, 65535, 2, 127, 128, 65408, 255,   256,
                             65535, 300, 65504, 65236, 0, 0,     0, 0,   0,   0,     65520, 0}));
  }
  {
    TestTensor a = make(DType::f32, {17},
                        {0, 0, 0.5, 0.5, 1.5, 1.5, 2.5, 127.4000015258789, 128, 128.89999389648438, 255.5, 256, 1, 300,
                         65504, 300, 3000000000});
    TestTensor out = make_out(DType::u32, {17});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0, 0, 0, 1, 1, 2, 127, 128, 128, 255, 256, 1, 300, 65504, 300, 3000000000}));
  }
  {
    TestTensor a = make_ints(DType::i64, {13},
                             {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740993,
                              (-9223372036854775807 - 1), 9223372036854775807});
    TestTensor out = make_out(DType::f16, {13});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, -1, 127, 128, -129, 255, 256, INFINITY, INFINITY, INFINITY, -INFINITY, INFINITY}));
  }
  {
    TestTensor a = make_ints(DType::i64, {13},
                             {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740993,
                              (-9223372036854775807 - 1), 9223372036854775807});
    TestTensor out = make_out(DType::bf16, {13});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740992.0,
                             -9.223372036854776e+18, 9.223372036854776e+18}));
  }
  {
    TestTensor a = make_ints(DType::i64, {13},
                             {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740993,
                              (-9223372036854775807 - 1), 9223372036854775807});
    TestTensor out = make_out(DType::f32, {13});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740992.0,
                             -9.223372036854776e+18, 9.223372036854776e+18}));
  }
  {
    TestTensor a = make_ints(DType::i64, {13},
                             {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740993,
                              (-9223372036854775807 - 1), 9223372036854775807});
    TestTensor out = make_out(DType::f64, {13});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740992.0,
                             -9.223372036854776e+18, 9.223372036854776e+18}));
  }
  {
    TestTensor a = make_ints(DType::i64, {13},
                             {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740993,
                              (-9223372036854775807 - 1), 9223372036854775807});
    TestTensor out = make_out(DType::boolean, {13});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  }
  {
    TestTensor a = make_ints(DType::i64, {13},
                             {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740993,
                              (-9223372036854775807 - 1), 9223372036854775807});
    TestTensor out = make_out(DType::i8, {13});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, -1, 127, -128, 127, -1, 0, 0, 0, 1, 0, -1}));
  }
  {
    TestTensor a = make_ints(DType::i64, {13},
                             {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740993,
                              (-9223372036854775807 - 1), 9223372036854775807});
    TestTensor out = make_out(DType::i16, {13});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, -1, 127, 128, -129, 255, 256, 0, 0, 1, 0, -1}));
  }
  {
    TestTensor a = make_ints(DType::i64, {13},
                             {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740993,
                              (-9223372036854775807 - 1), 9223372036854775807});
    TestTensor out = make_out(DType::i32, {13});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, -1, 127, 128, -129, 255, 256, 65536, -2147483648, 1, 0, -1}));
  }
  {
    TestTensor a = make_ints(DType::i64, {13},
                             {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740993,
                              (-9223372036854775807 - 1), 9223372036854775807});
    TestTensor out = make_out(DType::u8, {13});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 255, 127, 128, 127, 255, 0, 0, 0, 1, 0, 255}));
  }
  {
    TestTensor a = make_ints(DType::i64, {13},
                             {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740993,
                              (-9223372036854775807 - 1), 9223372036854775807});
    TestTensor out = make_out(DType::u16, {13});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 65535, 127, 128, 65407, 255, 256, 0, 0, 1, 0, 65535}));
  }
  {
    TestTensor a = make_ints(DType::i64, {13},
                             {0, 1, -1, 127, 128, -129, 255, 256, 65536, 2147483648, 9007199254740993,
                              (-9223372036854775807 - 1), 9223372036854775807});
    TestTensor out = make_out(DType::u32, {13});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 4294967295, 127, 128, 4294967167, 255, 256, 65536, 2147483648, 1, 0, 4294967295}));
  }
  {
    TestTensor a = make(DType::boolean, {2}, {1, 0});
    TestTensor out = make_out(DType::f32, {2});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 0}));
  }
  {
    TestTensor a = make(DType::f64, {4}, {1e+300, 0.1, -1e-40, 2.9802322387695312e-08});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {INFINITY, 0.10000000149011612, -9.99994610111476e-41, 2.9802322387695312e-08}));
  }
  {
    TestTensor a = make_complex(DType::c64, {2}, {{1, 3}, {2, -4}});
    TestTensor out = make_out(DType::c128, {2});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_EQ(complex_values(out), complex_values(make_complex(DType::c128, {2}, {{1, 3}, {2, -4}})));
  }
  {
    TestTensor a = make_complex(DType::c64, {2}, {{1, 3}, {2, -4}});
    TestTensor out = make_out(DType::f32, {2});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 2}));
  }
  {
    TestTensor a = make(DType::i64, {2}, {1, 2});
    TestTensor out = make_out(DType::c64, {2});
    ASSERT_EQ(call("aten::_to_copy.out", {a, false, nullptr, out}), Error::Ok);
    EXPECT_EQ(complex_values(out), complex_values(make_complex(DType::c64, {2}, {{1, 0}, {2, 0}})));
  }
}

}  // namespace
}  // namespace wick::test
