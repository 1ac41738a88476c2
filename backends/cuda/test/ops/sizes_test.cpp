// Sizes that are known only at run time: of tensors that are made of numbers, and of rows to select from.
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {
namespace {

using CudaSizes = CudaLower;

TEST_F(CudaSizes, APositionIsInsideIfWhatItMeetsTellsItsSize) {
  compile(R"(graph f(%x: f32[2, s0, s0]) {
  range s0: 1..64
  %a: i64[s0] = aten.arange.start_step(0, s0, 1)
  %r: i64[s0, 1] = aten.unsqueeze(%a, 1)
  %m: bool[s0, s0] = aten.le.Tensor(%a, %r)
  %f: f32[s0, s0] = aten.full([s0, s0], -2.0)
  %y: f32[2, s0, s0] = aten.where.self(%m, %x, %f)
  return %y
})");
  for (const int size : {1, 5, 64}) expect_bits_of_portable({numbers(DType::f32, {2, size, size}, 1)});
}

TEST_F(CudaSizes, TensorsWithoutElementsAreInside) {
  compile(R"(graph f(%x: f32[2, 0, 8], %k: f32[2, 3, 8], %w: f32[4, 8]) {
  %e: f32[2, 0, 8] = aten.exp(%x)
  %c: f32[2, 3, 8] = aten.cat([%e, %k], 1)
  %s: f32[2, 8] = aten.sum.dim_IntList(%e, [1])
  %l: f32[2, 0, 4] = aten.linear(%x, %w)
  return %e, %c, %s, %l
})");
  HostTensor none;
  none.dtype = DType::f32;
  none.sizes = {2, 0, 8};
  expect_bits_of_portable({none, numbers(DType::f32, {2, 3, 8}, 1), numbers(DType::f32, {4, 8}, 2)});
}

TEST_F(CudaSizes, ImagesWithoutElementsStayOutside) {
  const auto outside = outside_of(R"(graph f(%x: f32[0, 1, 4, 4], %y: f32[3]) {
  %p: f32[0, 1, 2, 2] = aten.avg_pool2d(%x, [2, 2], [2, 2])
  %z: f32[3] = aten.exp(%y)
  return %p, %z
})");
  ASSERT_EQ(outside.size(), 1u);
  EXPECT_EQ(outside[0], std::make_pair(std::string("aten.avg_pool2d.default"), std::string("a tensor is empty")));
}

TEST_F(CudaSizes, MoreElementsThanARowHasFailTheCall) {
  compile(R"(graph f(%x: f32[2, s0], %n: f32[s1]) {
  range s0: 1..100
  range s1: 1..100
  %v: f32[2, s1], %i: i64[2, s1] = aten.topk(%x, s1)
  %y: f32[2, s1] = aten.add.Tensor(%v, %n)
  return %y
})");
  expect_bits_of_portable({numbers(DType::f32, {2, 50}, 1), numbers(DType::f32, {7}, 2)});
  expect_bits_of_portable({numbers(DType::f32, {2, 50}, 1), numbers(DType::f32, {50}, 2)});
  expect_error({numbers(DType::f32, {2, 50}, 1), numbers(DType::f32, {51}, 2)}, "k is larger than the dimension");
}

}  // namespace
}  // namespace wick::cuda
