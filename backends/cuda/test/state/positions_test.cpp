// Positions that the model reads from tensors as numbers, and ExecuTorch's operators for language models.
#include "backends/cuda/test/state/state_test_support.h"

namespace wick::cuda {
namespace {

class CudaPositions : public CudaState {
 protected:
  // Nodes of method a that stay outside, except for reading the number.
  std::vector<std::string> outside() const {
    std::vector<std::string> out;
    for (const auto& node : result_.methods[0].outside) {
      const bool is_number = node.op == "aten._local_scalar_dense.default" || node.op == "aten.view.default";
      if (!is_number) out.push_back(node.op + ": " + node.reason);
    }
    return out;
  }
  std::string error_of(const std::vector<HostValue>& inputs) const {
    const auto module = on_twin();
    std::vector<HostValue> out;
    ModuleError error;
    EXPECT_FALSE(module->execute("a", inputs, &out, &error));
    return error.message;
  }
};

TEST_F(CudaPositions, OfSlicesWritesAndRangesAreReadWhereTheyLie) {
  compile_state({R"(graph a(%x: f32[2, 4], %at: i64[1]) {
  range u0: 0..14 from_data
  state %cache: f32[16, 4] "cache" = ...
  state %marks: i64[16] "marks" = ...
  const %table: f32[16, 4] = ...
  %p: i64[] = aten.view(%at, [])
  %n: int(u0) = aten._local_scalar_dense(%p)
  %k: f32[16, 4] = aten.slice_scatter(%cache, %x, 0, u0, u0 + 2)
  %rows: f32[2, 4] = aten.narrow(%k, 0, u0, 2)
  %turned: f32[2, 4] = aten.narrow(%table, 0, u0, 2)
  %row: f32[4] = aten.select.int(%k, 0, u0 + 1)
  %steps: i64[2] = aten.arange.start_step(u0, u0 + 2, 1, i64)
  %all: i64[16] = aten.arange(16, i64)
  %seen: bool[16] = aten.le.Scalar(%all, u0 + 1)
  %mark: i64[] = aten.full([], 2*u0 + 3, i64)
  %m: i64[16] = aten.select_scatter(%marks, %mark, 0, u0)
  %a: f32[2, 4] = aten.add.Tensor(%rows, %turned)
  %b: f32[2, 4] = aten.mul.Tensor(%a, %row)
  update %cache = %k
  update %marks = %m
  return %b, %seen, %steps, %m
})"});
  EXPECT_EQ(result_.methods[0].delegates, 1u);
  EXPECT_TRUE(outside().empty()) << outside()[0];
  EXPECT_EQ(reason_outside(0, "cache"), "held");
  EXPECT_EQ(reason_outside(0, "marks"), "held");
  std::vector<Call> calls;
  for (const int64_t at : {0, 5, 14, 4})
    calls.push_back({"a", {numbers(DType::f32, {2, 4}, static_cast<uint64_t>(at) + 1), integers({at}, {1})}});
  expect_like_portable_after(calls);
}

TEST_F(CudaPositions, OfCachedAttentionAreReadWhereTheyLie) {
  compile_state({R"(graph a(%q: f32[1, 2, 4, 8], %x: f32[1, 2, 2, 8], %at: i64[1]) {
  range u0: 0..6 from_data
  state %keys: f32[1, 8, 2, 8] "keys" = ...
  state %values: f32[1, 8, 2, 8] "values" = ...
  %n: int(u0) = aten._local_scalar_dense(%at)
  %y: f32[1, 2, 4, 8], %k: f32[1, 8, 2, 8], %v: f32[1, 8, 2, 8] = llama.sdpa_with_kv_cache(%q, %x, %x, %keys, %values, u0, 2, none, 0.0, true)
  update %keys = %k
  update %values = %v
  return %y
})"});
  EXPECT_EQ(result_.methods[0].delegates, 1u);
  EXPECT_TRUE(outside().empty()) << outside()[0];
  EXPECT_EQ(written_bytes(plan_of(0)), (2u * 2 * 2 * 8 + 2 * 4 * 8) * 4 + 2 * 8);  // rows, result, positions
  const auto want = open(portable_, ""), got = on_twin();
  for (const int64_t at : {0, 2, 3, 6}) {
    const auto seed = static_cast<uint64_t>(at) + 1;
    const Call call = {
        "a",
        {numbers(DType::f32, {1, 2, 4, 8}, seed), numbers(DType::f32, {1, 2, 2, 8}, seed + 9), integers({at}, {1})}};
    const auto a = outputs(*got, call), b = outputs(*want, call);
    for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(element(a[0].tensor, i), element(b[0].tensor, i), 1e-5) << at;
  }
}

TEST_F(CudaPositions, ThatMayBeNegativeAndSizesStayOutside) {
  compile_state({R"(graph a(%x: f32[8, 4], %at: i64[1]) {
  range u0: -4..8 from_data
  range u1: 0..8 from_data
  %n: int(u0) = aten._local_scalar_dense(%at)
  %m: int(u1) = aten._local_scalar_dense(%at)
  %row: f32[4] = aten.select.int(%x, 0, u0)
  %part: f32[min(8, u1), 4] = aten.slice.Tensor(%x, 0, 0, u1)
  %sum: f32[4] = aten.sum.dim_IntList(%part, [0])
  %y: f32[4] = aten.mul.Tensor(%row, 2)
  return %y, %sum
})"});
  const std::vector<std::string> wanted = {
      "aten.select.int: whether its operands' sizes agree is known only at run time",
      "aten.slice.Tensor: a size depends on the values of tensors",
      "aten.sum.dim_IntList: a size depends on the values of tensors"};
  EXPECT_EQ(outside(), wanted);
}

// bf16 has no number 257: eager multiplies and divides by it in f32.
TEST_F(CudaPositions, ThatAreFactorsOfShortFloatsAreNumbersOfF32) {
  compile_state({R"(graph a(%x: bf16[4, 10], %at: i64[1]) {
  range u0: 0..1000 from_data
  %n: int(u0) = aten._local_scalar_dense(%at)
  %mul: bf16[4, 10] = aten.mul.Tensor(%x, u0)
  %div: bf16[4, 10] = aten.div.Tensor(%x, u0)
  return %mul, %div
})"});
  EXPECT_EQ(result_.methods[0].delegates, 1u);
  expect_like_portable_after({{"a", {numbers(DType::bf16, {4, 10}, 1), integers({257}, {1})}}});
}

// As in eager, whatever range the model states.
TEST_F(CudaPositions, OutsideOfTheCacheFailTheCall) {
  compile_state({R"(graph a(%x: f32[1, 2, 2, 4], %at: i64[1]) {
  range u0: 0..8 from_data
  state %cache: f32[1, 8, 2, 4] "cache" = ...
  %n: int(u0) = aten._local_scalar_dense(%at)
  %e: f32[1], %k: f32[1, 8, 2, 4] = llama.update_cache(%x, %cache, u0)
  %y: f32[1, 8, 2, 4] = aten.mul.Tensor(%k, 2)
  update %cache = %k
  return %y
})"});
  EXPECT_EQ(result_.methods[0].delegates, 1u);
  const HostValue x = numbers(DType::f32, {1, 2, 2, 4}, 1);
  expect_like_portable_after({{"a", {x, integers({6}, {1})}}});
  const std::string error = error_of({x, integers({7}, {1})});
  EXPECT_NE(error.find("is out of bounds"), std::string::npos) << error;
}

// Attention over a cache that another method writes.
TEST_F(CudaPositions, BehindTheKeysFailTheCall) {
  for (const char* causal : {"true", "false"}) {
    SCOPED_TRACE(causal);
    compile_state({fmt::format(R"(graph a(%q: f32[1, 2, 4, 8], %x: f32[1, 8, 2, 8], %at: i64[1]) {{
  range u0: 0..1000 from_data
  %n: int(u0) = aten._local_scalar_dense(%at)
  %y: f32[1, 2, 4, 8] = llama.custom_sdpa(%q, %x, %x, u0, none, 0.0, {})
  return %y
}})",
                               causal)});
    EXPECT_EQ(result_.methods[0].delegates, 1u);
    EXPECT_TRUE(outside().empty()) << outside()[0];
    const HostTensor q = numbers(DType::f32, {1, 2, 4, 8}, 1), x = numbers(DType::f32, {1, 8, 2, 8}, 2);
    const auto want = open(portable_, ""), got = on_twin();
    for (const int64_t at : {0, 3, 6}) {
      const Call call = {"a", {q, x, integers({at}, {1})}};
      const auto a = outputs(*got, call), b = outputs(*want, call);
      for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(element(a[0].tensor, i), element(b[0].tensor, i), 1e-5) << at;
    }
    for (const int64_t at : {7, 8, 1000}) {
      const std::string error = error_of({q, x, integers({at}, {1})});
      EXPECT_NE(error.find("is out of bounds"), std::string::npos) << error;
    }
  }
}

}  // namespace
}  // namespace wick::cuda
