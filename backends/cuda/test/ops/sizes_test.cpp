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
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  options.backends = {&cuda_backend()};
  options.device = "cuda-twin=" + twin();
  ModuleError error;
  std::vector<HostValue> outputs;
  const auto module = wick::Module::load({program_.data(), program_.size()}, options, &error);
  ASSERT_TRUE(module) << error.message;
  EXPECT_FALSE(module->forward({numbers(DType::f32, {2, 50}, 1), numbers(DType::f32, {51}, 2)}, &outputs, &error));
  EXPECT_NE(error.message.find("k is larger than the dimension"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace wick::cuda
