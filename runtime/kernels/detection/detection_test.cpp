#include "common/math/math.h"
#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

TEST(Nms, KeepsTheBestOfBoxesThatOverlap) {
  TestTensor boxes = make(DType::f32, {3, 4}, {0, 0, 10, 10, 1, 1, 11, 11, 20, 20, 30, 30}),
             scores = make(DType::f32, {3}, {0.5, 0.9, 0.1}), kept = make_dynamic(DType::i64, {3});
  ASSERT_EQ(call("torchvision::nms.out", {boxes, scores, 0.5, kept}), Error::Ok);
  EXPECT_EQ(ints(kept), (std::vector<int64_t>{1, 2}));
}

TEST(Nms, BoxesWithoutScoresAreRefused) {
  TestTensor boxes = make(DType::f32, {2, 4}, {0, 0, 1, 1, 0, 0, 1, 1}), scores = make(DType::f32, {1}, {1}),
             kept = make_dynamic(DType::i64, {2});
  EXPECT_EQ(call("torchvision::nms.out", {boxes, scores, 0.5, kept}), Error::InvalidArgument);
}

TEST(RoiAlign, BoxesOfImagesThatDoNotExistAreRefused) {
  TestTensor image = make(DType::f32, {1, 1, 2, 2}, {1, 2, 3, 4}), out = make_out(DType::f32, {1, 1, 1, 1});
  for (const double index : {-1.0, 1.0, 1e30, math::kNaN}) {
    TestTensor boxes = make(DType::f32, {1, 5}, {index, 0, 0, 1, 1});
    EXPECT_EQ(call("torchvision::roi_align.out", {image, boxes, 1.0, 1, 1, -1, false, out}), Error::InvalidArgument);
  }
}

TEST(RoiAlign, ABoxThatWouldTakeForEverIsRefused) {
  TestTensor image = make(DType::f32, {1, 1, 2, 2}, {1, 2, 3, 4}), out = make_out(DType::f32, {1, 1, 1, 1});
  for (const double far : {1e9, math::kInfinity}) {
    TestTensor boxes = make(DType::f32, {1, 5}, {0, 0, 0, far, 1});
    EXPECT_NE(call("torchvision::roi_align.out", {image, boxes, 1.0, 1, 1, -1, true, out}), Error::Ok) << far;
  }
}

TEST(RoiAlign, SamplesOfABoxMuchLargerThanTheImageAreThoseOfEager) {
  TestTensor image = make(DType::f64, {1, 1, 2, 2}, {1, 2, 3, 4});
  TestTensor wide = make(DType::f64, {1, 5}, {0, -1000, -900, 1000.25, 1000});
  TestTensor long_one = make(DType::f64, {1, 5}, {0, -20000, 0.25, 45000, 1.5});
  TestTensor one = make_out(DType::f64, {1, 1, 1, 1}), four = make_out(DType::f64, {1, 1, 2, 2});
  ASSERT_EQ(call("torchvision::roi_align.out", {image, wide, 1.0, 1, 1, -1, false, one}), Error::Ok);
  EXPECT_TRUE(near(one, {5.62218890555e-06}));
  ASSERT_EQ(call("torchvision::roi_align.out", {image, wide, 1.0, 2, 2, -1, true, four}), Error::Ok);
  EXPECT_TRUE(near(four, {8.41263999e-06, 2.15555515519e-05, 0, 0}));
  ASSERT_EQ(call("torchvision::roi_align.out", {image, long_one, 1.0, 2, 2, -1, true, four}), Error::Ok);
  EXPECT_TRUE(near(four, {0.0002, 0, 0.000353846154, 0}));
}

TEST(RoiAlign, MoreThan32SamplesAlongABinAreRefused) {
  TestTensor image = make(DType::f32, {1, 1, 2, 2}, {1, 2, 3, 4}), out = make_out(DType::f32, {1, 1, 1, 1});
  TestTensor boxes = make(DType::f32, {1, 5}, {0, 0, 0, 1, 1});
  EXPECT_EQ(call("torchvision::roi_align.out", {image, boxes, 1.0, 1, 1, 32, false, out}), Error::Ok);
  EXPECT_EQ(call("torchvision::roi_align.out", {image, boxes, 1.0, 1, 1, 33, false, out}), Error::InvalidArgument);
}

TEST(RoiPool, BoxesFarOutsideGiveZeros) {
  TestTensor image = make(DType::f32, {1, 1, 2, 2}, {1, 2, 3, 4}), out = make_out(DType::f32, {1, 1, 2, 2}),
             places = make_out(DType::i32, {1, 1, 2, 2});
  TestTensor boxes = make(DType::f32, {1, 5}, {0, 1e30, 1e30, 2e30, 2e30});
  ASSERT_EQ(call("torchvision::roi_pool.out", {image, boxes, 1.0, 2, 2, out, places}), Error::Ok);
  EXPECT_TRUE(equals(out, {0, 0, 0, 0}));
  EXPECT_EQ(ints(places), (std::vector<int64_t>{-1, -1, -1, -1}));
}

TEST(DeformConv, OffsetsFarOutsideReadZeros) {
  TestTensor image = make(DType::f32, {1, 1, 2, 2}, {1, 2, 3, 4}), weight = make(DType::f32, {1, 1, 1, 1}, {2}),
             bias = make(DType::f32, {1}, {0.5}), out = make_out(DType::f32, {1, 1, 2, 2});
  TestTensor offset = make(DType::f32, {1, 2, 2, 2}, {0, 1e30, -1e30, math::kNaN, 0, 0, 0, 0});
  ASSERT_EQ(
      call("torchvision::deform_conv2d.out", {image, weight, offset, offset, bias, 1, 1, 0, 0, 1, 1, 1, 1, false, out}),
      Error::Ok);
  EXPECT_TRUE(equals(out, {2.5, 0.5, 0.5, 0.5}));
}

}  // namespace
}  // namespace wick::test
