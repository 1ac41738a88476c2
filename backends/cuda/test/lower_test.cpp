// Lowers graphs and runs them on the twin: number of kernels, payload bytes, and results.
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda::lower_test {
namespace {

std::string linear_text(const char* dtype) {
  return fmt::format(R"(graph f(%x: {0}[2, 35, 96], %w: {0}[50, 96], %b: {0}[50], %r: {0}[2, 35, 50]) {{
  %y: {0}[2, 35, 50] = aten.linear(%x, %w, %b)
  %g: {0}[2, 35, 50] = aten.gelu(%y)
  %s: {0}[2, 35, 50] = aten.add.Tensor(%g, %r)
  return %s
}})",
                     dtype);
}
std::vector<HostValue> linear_inputs(DType dtype) {
  return {numbers(dtype, {2, 35, 96}, 1), numbers(dtype, {50, 96}, 2), numbers(dtype, {50}, 3),
          numbers(dtype, {2, 35, 50}, 4)};
}

TEST_F(CudaLower, ALinearWithBiasActivationAndResidualIsOneKernel) {
  compile(linear_text("f32"));
  EXPECT_EQ(launches(), 1u);
  expect_like_portable(linear_inputs(DType::f32), 1e-6);
}

TEST_F(CudaLower, MatrixInstructionsSumInSinglePrecision) {
  for (const auto& [name, dtype, error] :
       {std::tuple("bf16", DType::bf16, 1.0 / 128), {"f16", DType::f16, 1.0 / 1024}}) {
    compile(linear_text(name));
    EXPECT_EQ(launches(), 1u);
    expect_like_portable(linear_inputs(dtype), error);
  }
}

TEST_F(CudaLower, LargeIntegersAreNotCutToTheWidthOfIndices) {
  compile(R"(graph f(%x: i64[3]) {
  const %c: i64[] = [-5000000000]
  %y: i64[3] = aten.add.Scalar(%x, 3000000000)
  %z: i64[3] = aten.sub.Tensor(%y, %c)
  %f: f32[3] = aten._to_copy(%z, f32)
  return %f
})");
  HostTensor x;
  x.dtype = DType::i64;
  x.sizes = {3};
  for (const int64_t value : {int64_t{1}, int64_t{-4000000000}, int64_t{1} << 40}) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    x.bytes.insert(x.bytes.end(), bytes, bytes + sizeof value);
  }
  expect_like_portable({x}, 0);
}

TEST_F(CudaLower, BatchesOfMatricesWithOddSizes) {
  compile(R"(graph f(%a: f32[3, 67, 19], %b: f32[3, 19, 45]) {
  %y: f32[3, 67, 45] = aten.bmm(%a, %b)
  return %y
})");
  EXPECT_EQ(launches(), 1u);
  expect_like_portable({numbers(DType::f32, {3, 67, 19}, 1), numbers(DType::f32, {3, 19, 45}, 2)}, 1e-6);
}

TEST_F(CudaLower, ConvolutionsAreTiledWithPaddingAndGroups) {
  compile(R"(graph f(%x: f32[2, 8, 9, 11], %w: f32[32, 8, 3, 3], %b: f32[32], %d: f32[32, 1, 3, 3]) {
  %c: f32[2, 32, 9, 11] = aten.convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  %r: f32[2, 32, 9, 11] = aten.relu(%c)
  %y: f32[2, 32, 5, 6] = aten.convolution(%r, %d, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 32)
  return %y
})");
  EXPECT_EQ(launches(), 2u);
  expect_like_portable({numbers(DType::f32, {2, 8, 9, 11}, 1), numbers(DType::f32, {32, 8, 3, 3}, 2),
                        numbers(DType::f32, {32}, 3), numbers(DType::f32, {32, 1, 3, 3}, 4)},
                       1e-6);
}

// M6 for twins: their libraries stay open, but a process with many of them must not run out of mappings.
TEST_F(CudaLower, ATwinThatNobodyUsesHasNoStacks) {
  compile(R"(graph f(%x: f32[3, 5000]) {
  %y: f32[3, 5000] = aten._softmax(%x, 1, false)
  return %y
})");
  const HostTensor input = numbers(DType::f32, {3, 5000}, 1);
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  options.backends = {&cuda_backend()};
  options.device = "cuda-twin=" + twin();
  auto module = wick::Module::load({program_.data(), program_.size()}, options, nullptr);
  ASSERT_TRUE(module);
  void* const library = dlopen(twin().c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto count = reinterpret_cast<uint64_t (*)(const char*)>(dlsym(library, "wick_twin_count"));
  EXPECT_EQ(count("stacks"), 0u);
  std::vector<HostValue> outputs;
  ASSERT_TRUE(module->forward({input}, &outputs, nullptr));
  EXPECT_GE(count("stacks"), 256u);
  module.reset();
  EXPECT_EQ(count("stacks"), 0u);
  dlclose(library);
  expect_like_portable({input}, 1e-6);
}

// V1: both spellings of a view become the same. V5: it is not copied.
TEST_F(CudaLower, ASliceInBothSpellingsIsIndexArithmeticAlone) {
  const char* text = R"(graph f(%x: f32[6, 8]) {{
  %s: f32[2, 8] = aten.{}.Tensor(%x, 0, 1, 3)
  %y: f32[2, 8] = aten.exp(%s)
  return %y
}})";
  compile(fmt::format(fmt::runtime(text), "slice"));
  const auto payload = without_model(result_.method_plans[0].delegates[0]->payload);
  EXPECT_EQ(launches(), 1u);
  expect_like_portable({numbers(DType::f32, {6, 8}, 1)}, 1e-6);
  compile(fmt::format(fmt::runtime(text), "slice_copy"));
  EXPECT_EQ(without_model(result_.method_plans[0].delegates[0]->payload), payload);
}

// V8: parts of a fused projection are read in place, and heads are written to their places in one tensor.
TEST_F(CudaLower, SplitProjectionsAndJoinedHeadsCostNoCopies) {
  compile(R"(graph f(%x: f32[2, 10, 24], %w: f32[72, 24], %b: f32[72], %o: f32[24, 24]) {
  %p: f32[2, 10, 72] = aten.linear(%x, %w, %b)
  %h: f32[2, 10, 3, 4, 6] = aten.view(%p, [2, 10, 3, 4, 6])
  %t: f32[3, 2, 4, 10, 6] = aten.permute(%h, [2, 0, 3, 1, 4])
  %q: f32[2, 4, 10, 6] = aten.select.int(%t, 0, 0)
  %k: f32[2, 4, 10, 6] = aten.select.int(%t, 0, 1)
  %v: f32[2, 4, 10, 6] = aten.select.int(%t, 0, 2)
  %a: f32[2, 4, 10, 6] = aten.scaled_dot_product_attention(%q, %k, %v, none, 0.0, true)
  %u: f32[2, 10, 4, 6] = aten.permute(%a, [0, 2, 1, 3])
  %j: f32[2, 10, 24] = aten.view(%u, [2, 10, 24])
  %y: f32[2, 10, 24] = aten.linear(%j, %o)
  return %y
})");
  EXPECT_EQ(launches(), 3u);
  expect_like_portable({numbers(DType::f32, {2, 10, 24}, 1), numbers(DType::f32, {72, 24}, 2),
                        numbers(DType::f32, {72}, 3), numbers(DType::f32, {24, 24}, 4)},
                       1e-5);
}

TEST_F(CudaLower, GroupedAttentionWithAMaskIsOneKernel) {
  compile(R"(graph f(%q: f32[1, 4, 5, 8], %k: f32[1, 2, 70, 8], %v: f32[1, 2, 70, 40], %m: f32[1, 1, 5, 70]) {
  %z: f32[] = aten.scalar_tensor(0.0)
  %c: bool[1, 1, 5, 70] = aten.gt.Tensor(%m, %z)
  %y: f32[1, 4, 5, 40] = aten.scaled_dot_product_attention(%q, %k, %v, %c, 0.0, false, 0.5, true)
  return %y
})");
  EXPECT_EQ(launches(), 1u);
  expect_like_portable({numbers(DType::f32, {1, 4, 5, 8}, 1), numbers(DType::f32, {1, 2, 70, 8}, 2),
                        numbers(DType::f32, {1, 2, 70, 40}, 3), numbers(DType::f32, {1, 1, 5, 70}, 4)},
                       1e-5);
}

TEST_F(CudaLower, AFunctionThatSeveralNodesReadIsComputedOnce) {
  compile(R"(graph f(%x: f32[64], %y: f32[2, 64]) {
  %e: f32[64] = aten.exp(%x)
  %s: f32[64] = aten.sin(%e)
  %a: f32[2, 64] = aten.add.Tensor(%s, %y)
  %m: f32[2, 64] = aten.mul.Tensor(%s, %y)
  return %a, %m
})");
  EXPECT_EQ(launches(), 2u);  // one kernel for both outputs
  expect_like_portable({numbers(DType::f32, {64}, 1), numbers(DType::f32, {2, 64}, 2)}, 1e-6);
}

// Statement C2 of docs/cuda_proofs.md.
TEST_F(CudaLower, TheSameGraphGivesTheSameBytes) {
  compile(linear_text("f32"));
  const std::vector<uint8_t> first = program_;
  compile(linear_text("f32"));
  EXPECT_EQ(program_, first);
}

TEST_F(CudaLower, AnIndexOutsideFailsTheCall) {
  compile(R"(graph f(%w: f32[7, 4], %i: i64[2]) {
  %y: f32[2, 4] = aten.embedding(%w, %i)
  return %y
})");
  HostTensor index;
  index.dtype = DType::i64;
  index.sizes = {2};
  for (const int64_t value : {int64_t{3}, int64_t{7}}) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    index.bytes.insert(index.bytes.end(), bytes, bytes + 8);
  }
  expect_error({numbers(DType::f32, {7, 4}, 1), index}, "aten.embedding.default: an index is out of bounds");
}

// As in eager, whatever the other side is. Squares may overflow.
TEST_F(CudaLower, AHypotenuseOfAnInfiniteSideIsInfinite) {
  compile("graph f(%x: f32[4], %y: f32[4]) {\n  %h: f32[4] = aten.hypot(%x, %y)\n  return %h\n}");
  EXPECT_EQ(launches(), 1u);
  const float sides[2][4] = {{INFINITY, NAN, 3e30f, NAN}, {NAN, -INFINITY, 4e30f, 1}};
  std::vector<HostValue> inputs;
  for (const auto& side : sides) {
    HostTensor tensor = numbers(DType::f32, {4}, 1);
    std::memcpy(tensor.bytes.data(), side, sizeof side);
    inputs.push_back(tensor);
  }
  const auto found = outputs_of(program_, inputs, "cuda-twin=" + twin());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(element(found[0].tensor, 0), INFINITY);
  EXPECT_EQ(element(found[0].tensor, 1), INFINITY);
  EXPECT_NEAR(element(found[0].tensor, 2), 5e30, 1e24);
  EXPECT_TRUE(std::isnan(element(found[0].tensor, 3)));
}

// As in eager. If the divisor is a number, the result is rounded once.
TEST_F(CudaLower, FloorDivisionOf16BitFloatsRoundsEachStep) {
  for (const char* dtype : {"bf16", "f16"}) {
    compile(fmt::format(R"(graph f(%x: {0}[64, 64], %y: {0}[64, 64]) {{
  %a: {0}[64, 64] = aten.mul.Scalar(%x, 50.0)
  %h: {0}[64, 64] = aten.mul.Scalar(%y, 0.5)
  %b: {0}[64, 64] = aten.add.Scalar(%h, -0.75)
  %q: {0}[64, 64] = aten.floor_divide(%a, %b)
  %d: {0}[64, 64] = aten.div.Tensor_mode(%b, %h, "floor")
  %r: {0}[64, 64] = aten.div.Scalar_mode(%a, 0.3, "floor")
  return %q, %d, %r
}})",
                        dtype));
    const DType type = dtype[0] == 'b' ? DType::bf16 : DType::f16;
    HostTensor y = numbers(type, {64, 64}, 2);
    for (size_t i = 0; i < y.bytes.size(); i += 2) y.bytes[i] |= 1;  // not 0
    expect_bits_of_portable({numbers(type, {64, 64}, 1), y});
  }
}

}  // namespace
}  // namespace wick::cuda::lower_test
