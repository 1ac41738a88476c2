// Expected values are those of eager PyTorch.
#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

TEST(Arange, FollowsEager) {
  {
    TestTensor out = make_out(DType::i64, {5});
    ASSERT_EQ(call("aten::arange.out", {5, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4}));
  }
  {
    TestTensor out = make_out(DType::i64, {0});
    ASSERT_EQ(call("aten::arange.out", {0, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {}));
  }
  {
    TestTensor out = make_out(DType::i64, {3});
    ASSERT_EQ(call("aten::arange.start_out", {2, 7, 2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2, 4, 6}));
  }
  {
    TestTensor out = make_out(DType::i64, {2});
    ASSERT_EQ(call("aten::arange.start_out", {7, 2, -3, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {7, 4}));
  }
  {
    TestTensor out = make_out(DType::f32, {5});
    ASSERT_EQ(call("aten::arange.out", {5, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4}));
  }
  {
    TestTensor out = make_out(DType::f32, {10});
    ASSERT_EQ(call("aten::arange.start_out", {0.0, 1.0, 0.1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0.10000000149011612, 0.20000000298023224, 0.30000001192092896, 0.4000000059604645, 0.5,
                             0.6000000238418579, 0.699999988079071, 0.800000011920929, 0.8999999761581421}));
  }
  {
    TestTensor out = make_out(DType::f32, {2});
    ASSERT_EQ(call("aten::arange.start_out", {1.5, 3, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1.5, 2.5}));
  }
  {
    TestTensor out = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::arange.start_out", {0, int64_t{1099511627776}, int64_t{274877906944}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 274877906944, 549755813888, 824633720832}));
  }
  {
    TestTensor out = make_out(DType::f64, {8});
    ASSERT_EQ(call("aten::arange.start_out", {1.0, -1.0, -0.25, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 0.75, 0.5, 0.25, 0, -0.25, -0.5, -0.75}));
  }
  {
    TestTensor out = make_out(DType::f16, {3});
    ASSERT_EQ(call("aten::arange.out", {3, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2}));
  }
  {
    TestTensor out = make_out(DType::i64, {5});
    ASSERT_EQ(call("aten::arange.start_out", {0.0, 5.0, 1.0, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4}));
  }
}

TEST(Linspace, FollowsEager) {
  {
    TestTensor out = make_out(DType::f32, {5});
    ASSERT_EQ(call("aten::linspace.out", {0.0, 1.0, 5, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0.25, 0.5, 0.75, 1}));
  }
  {
    TestTensor out = make_out(DType::f64, {5});
    ASSERT_EQ(call("aten::linspace.out", {0.0, 1.0, 5, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0.25, 0.5, 0.75, 1}));
  }
  {
    TestTensor out = make_out(DType::f32, {7});
    ASSERT_EQ(call("aten::linspace.out", {1.0, -2.0, 7, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 0.5, 0, -0.5, -1, -1.5, -2}));
  }
  {
    TestTensor out = make_out(DType::f64, {7});
    ASSERT_EQ(call("aten::linspace.out", {1.0, -2.0, 7, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 0.5, 0, -0.5, -1, -1.5, -2}));
  }
  {
    TestTensor out = make_out(DType::f32, {1});
    ASSERT_EQ(call("aten::linspace.out", {3.0, 4.0, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3}));
  }
  {
    TestTensor out = make_out(DType::f64, {1});
    ASSERT_EQ(call("aten::linspace.out", {3.0, 4.0, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3}));
  }
  {
    TestTensor out = make_out(DType::f32, {2});
    ASSERT_EQ(call("aten::linspace.out", {0.0, 1.0, 2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1}));
  }
  {
    TestTensor out = make_out(DType::f64, {2});
    ASSERT_EQ(call("aten::linspace.out", {0.0, 1.0, 2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1}));
  }
  {
    TestTensor out = make_out(DType::f32, {10});
    ASSERT_EQ(call("aten::linspace.out", {-1.0, 1.0, 10, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {-1, -0.7777777910232544, -0.5555555820465088, -0.3333333134651184, -0.1111111044883728,
                             0.1111111044883728, 0.3333333134651184, 0.5555555820465088, 0.7777777910232544, 1}));
  }
  {
    TestTensor out = make_out(DType::f64, {10});
    ASSERT_EQ(call("aten::linspace.out", {-1.0, 1.0, 10, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {-1, -0.7777777777777778, -0.5555555555555556, -0.33333333333333337, -0.11111111111111116,
                             0.11111111111111116, 0.33333333333333337, 0.5555555555555556, 0.7777777777777778, 1}));
  }
  {
    TestTensor out = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::linspace.out", {0, 10, 4, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 3, 6, 10}));
  }
  {
    TestTensor out = make_out(DType::f32, {0});
    ASSERT_EQ(call("aten::linspace.out", {0.0, 1.0, 0, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {}));
  }
}

TEST(Eye, HasAOneDiagonal) {
  {
    TestTensor out = make_out(DType::f32, {3, 3});
    ASSERT_EQ(call("aten::eye.out", {3, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 0, 0, 0, 1, 0, 0, 0, 1}));
  }
  {
    TestTensor out = make_out(DType::i64, {2, 3});
    ASSERT_EQ(call("aten::eye.m_out", {2, 3, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 0, 0, 0, 1, 0}));
  }
  {
    TestTensor out = make_out(DType::f32, {3, 0});
    ASSERT_EQ(call("aten::eye.m_out", {3, 0, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {}));
  }
}

TEST(Full, FillsWithANumber) {
  {
    TestTensor out = make_out(DType::f32, {2, 2});
    ASSERT_EQ(call("aten::full.out", {std::vector<int64_t>{2, 2}, 1.5, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1.5, 1.5, 1.5, 1.5}));
  }
  {
    TestTensor out = make_out(DType::f32, {2});
    ASSERT_EQ(call("aten::full.out", {std::vector<int64_t>{2}, true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 1}));
  }
  {
    TestTensor out = make_out(DType::f16, {});
    ASSERT_EQ(call("aten::full.out", {std::vector<int64_t>{}, -INFINITY, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {-INFINITY}));
  }
  {
    TestTensor out = make_out(DType::boolean, {2});
    ASSERT_EQ(call("aten::full.out", {std::vector<int64_t>{2}, true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 1}));
  }
  {
    TestTensor out = make_out(DType::i64, {2});
    ASSERT_EQ(call("aten::full.out", {std::vector<int64_t>{2}, -7, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {-7, -7}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::full_like.out", {a, 2.0, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::fill.Scalar_out", {a, 2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {}, {3});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::fill.Tensor_out", {a, b, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}));
  }
  {
    TestTensor out = make_out(DType::f32, {2, 3});
    ASSERT_EQ(call("aten::zeros.out", {std::vector<int64_t>{2, 3}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0, 0, 0, 0, 0}));
  }
  {
    TestTensor out = make_out(DType::u8, {2, 3});
    ASSERT_EQ(call("aten::ones.out", {std::vector<int64_t>{2, 3}, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 1, 1, 1, 1, 1}));
  }
  {
    TestTensor out = make_out(DType::f32, {});
    ASSERT_EQ(call("aten::scalar_tensor.out", {2.5, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2.5}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::ones_like.out", {a, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::zeros_like.out", {a, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  }
}

}  // namespace
}  // namespace wick::test
