// Searches in sorted sequences, and counts by value. Expected values are those of eager PyTorch.
#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

TEST(Searchsorted, FollowsEager) {
  {
    TestTensor a = make(DType::f32, {2, 4}, {1, 3, 3, 5, 0, 2, 4, 6});
    TestTensor b = make(DType::f32, {2, 4}, {3, 0, 9, NAN, 2, 5, -1, 6});
    TestTensor out = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::searchsorted.Tensor_out", {a, b, false, false, nullptr, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 0, 4, 4, 1, 3, 0, 3}));
  }
  {
    TestTensor a = make(DType::f32, {2, 4}, {3, 0, 9, NAN, 2, 5, -1, 6});
    TestTensor b = make(DType::f32, {4}, {1, 3, 3, 5});
    TestTensor out = make_out(DType::i32, {2, 4});
    ASSERT_EQ(call("aten::bucketize.Tensor_out", {a, b, true, false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 0, 4, 4, 1, 3, 0, 4}));
  }
  {
    TestTensor a = make(DType::f32, {2, 4}, {1, 3, 3, 5, 0, 2, 4, 6});
    TestTensor b = make(DType::f32, {2, 4}, {3, 0, 9, NAN, 2, 5, -1, 6});
    TestTensor out = make_out(DType::i64, {2, 4});
    ASSERT_EQ(call("aten::searchsorted.Tensor_out", {a, b, false, true, nullptr, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3, 0, 4, 4, 2, 3, 0, 4}));
  }
  {
    TestTensor a = make(DType::f32, {2, 4}, {3, 0, 9, NAN, 2, 5, -1, 6});
    TestTensor b = make(DType::f32, {4}, {1, 3, 3, 5});
    TestTensor out = make_out(DType::i32, {2, 4});
    ASSERT_EQ(call("aten::bucketize.Tensor_out", {a, b, true, true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3, 0, 4, 4, 1, 4, 0, 4}));
  }
  {
    TestTensor a = make(DType::f32, {3}, {5, 1, 3});
    TestTensor b = make(DType::f32, {2}, {2, 4});
    TestTensor c = make(DType::i64, {3}, {1, 2, 0});
    TestTensor out = make_out(DType::i64, {2});
    ASSERT_EQ(call("aten::searchsorted.Tensor_out", {a, b, false, false, "right", c, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 2}));
  }
  {
    TestTensor a = make(DType::f32, {4}, {1, 3, 3, 5});
    TestTensor out = make_out(DType::i64, {});
    ASSERT_EQ(call("aten::searchsorted.Scalar_out", {a, 3, false, false, nullptr, nullptr, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1}));
  }
  {
    TestTensor a = make(DType::f32, {4}, {1, 3, 3, 5});
    TestTensor out = make_out(DType::i64, {});
    ASSERT_EQ(call("aten::bucketize.Scalar_out", {3.5, a, false, false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3}));
  }
}

TEST(SearchSorted, FindsThePlaceForEveryLength) {
  for (const size_t length : {0, 1, 2, 3, 7, 8, 9, 100}) {
    std::vector<double> sequence, wanted = {-INFINITY, -1, INFINITY, NAN};
    for (size_t i = 0; i < length; ++i) sequence.push_back(std::floor(static_cast<double>(i) / 2));
    for (size_t i = 0; i <= length; ++i) wanted.push_back(static_cast<double>(i) / 2);
    const int32_t count = static_cast<int32_t>(wanted.size());
    TestTensor boundaries = make(DType::f32, {static_cast<int32_t>(length)}, sequence);
    TestTensor x = make(DType::f32, {count}, wanted), out = make_out(DType::i64, {count});
    for (const bool right : {false, true}) {
      std::vector<int64_t> places;
      for (const double value : wanted) {
        const auto behind = [&](double at) { return right ? at > value : at >= value; };
        places.push_back(std::find_if(sequence.begin(), sequence.end(), behind) - sequence.begin());
      }
      ASSERT_EQ(call("aten::searchsorted.Tensor_out", {boundaries, x, false, right, nullptr, nullptr, out}), Error::Ok);
      EXPECT_EQ(ints(out), places) << length;
    }
  }
}

TEST(Histc, ARangeWiderThanDoubleIsRefused) {
  TestTensor a = make(DType::f64, {2}, {1e308, -1e308}), out = make_out(DType::f64, {4});
  EXPECT_EQ(call("aten::histc.out", {a, 4, -1e308, 1e308, out}), Error::InvalidArgument);
  EXPECT_EQ(call("aten::histc.out", {a, 4, 0, 0, out}), Error::InvalidArgument);
}

TEST(Histc, CountsBins) {
  {
    TestTensor a = make(DType::f32, {8}, {0, 1, 2, 2.5, 5, -1, 10, NAN});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::histc.out", {a, 4, 0, 5, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2, 1, 1, 1}));
  }
  {
    TestTensor a = make(DType::f32, {6}, {0, 1, 2, 2.5, 5, -1});
    TestTensor out = make_out(DType::f32, {3});
    ASSERT_EQ(call("aten::histc.out", {a, 3, 0, 0, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2, 3, 1}));
  }
  {
    TestTensor a = make(DType::f32, {3}, {1, 1, 1});
    TestTensor out = make_out(DType::f32, {2});
    ASSERT_EQ(call("aten::histc.out", {a, 2, 0, 0, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 3}));
  }
}

TEST(Bincount, CountsValues) {
  {
    TestTensor a = make(DType::i64, {3}, {1, 1, 3});
    TestTensor out = make_out(DType::i64, {6});
    ASSERT_EQ(call("aten::bincount.out", {a, nullptr, 6, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 2, 0, 1, 0, 0}));
  }
  {
    TestTensor a = make(DType::i64, {3}, {1, 1, 3});
    TestTensor b = make(DType::f32, {3}, {0.5, 0.25, 2});
    TestTensor out = make_out(DType::f64, {4});
    ASSERT_EQ(call("aten::bincount.out", {a, b, 0, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0.75, 0, 2}));
  }
  {
    TestTensor a = make(DType::i64, {0}, {});
    TestTensor out = make_out(DType::i64, {2});
    ASSERT_EQ(call("aten::bincount.out", {a, nullptr, 2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 0}));
  }
}

}  // namespace
}  // namespace wick::test
