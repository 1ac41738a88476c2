// Recurrences, in which each step needs the one before.
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {
namespace {

using CudaRecurrences = CudaLower;

TEST_F(CudaRecurrences, TheGatedDeltaRuleWithOneDecayAndOneForEachRow) {
  for (const char* decay : {"", ", 20"}) {
    compile(fmt::format(R"(graph f(%q: f32[2, 5, 6, 20], %k: f32[2, 3, 5, 20], %v: f32[2, 3, 5, 40],
        %d: f32[2, 3, 5{0}], %b: f32[2, 3, 5], %s: f32[2, 3, 20, 40]) {{
  %h: f32[2, 6, 5, 20] = aten.permute(%q, [0, 2, 1, 3])
  %y: f32[2, 6, 5, 40], %t: f32[2, 3, 20, 40] = llama.{1}gated_delta_rule(%h, %k, %v, %d, %b, %s)
  %z: f32[2, 6, 5, 40] = aten.neg(%y)
  return %z, %t
}})",
                        decay, *decay ? "channelwise_" : ""));
    std::vector<int32_t> decay_sizes = {2, 3, 5};
    if (*decay) decay_sizes.push_back(20);
    expect_like_portable({numbers(DType::f32, {2, 5, 6, 20}, 1), numbers(DType::f32, {2, 3, 5, 20}, 2),
                          numbers(DType::f32, {2, 3, 5, 40}, 3), numbers(DType::f32, decay_sizes, 4),
                          numbers(DType::f32, {2, 3, 5}, 5), numbers(DType::f32, {2, 3, 20, 40}, 6)},
                         1e-5);
  }
}

TEST_F(CudaRecurrences, ARecursiveFilterReadsASignalWhereItLies) {
  compile(R"(graph f(%x: f32[60, 2, 3], %a: f32[3, 4], %s: f32[2, 3, 63]) {
  %t: f32[2, 3, 60] = aten.permute(%x, [1, 2, 0])
  %c: f32[3, 4] = aten.mul.Scalar(%a, 0.25)
  %y: f32[2, 3, 63] = wick.recursive_filter(%t, %c, %s)
  %z: f32[2, 3, 63] = aten.neg(%y)
  return %z, %s
})");
  expect_like_portable(
      {numbers(DType::f32, {60, 2, 3}, 1), numbers(DType::f32, {3, 4}, 2), numbers(DType::f32, {2, 3, 63}, 3)}, 1e-6);
}

}  // namespace
}  // namespace wick::cuda
