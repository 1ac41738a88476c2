// Writes of rows that an index selects, many at once. If several go to one place, the last one stays.
#include "backends/cuda/test/state/state_test_support.h"

namespace wick::cuda {
namespace {

using CudaWrites = CudaLower;
using CudaStateWrites = CudaState;

// Places in [-size, size), some of them repeated.
HostTensor repeated_places(int32_t count, int64_t size) {
  std::vector<int64_t> out;
  for (int32_t i = 0; i < count; ++i) out.push_back(static_cast<int64_t>(i) * 7 % (2 * size) - size);
  return integers(out, {count});
}

// Few updates run in order. More are compared with all later ones, and run at once.
TEST_F(CudaWrites, TheLastOfSeveralUpdatesOfOneRowStays) {
  for (const int32_t updates : {2, 31, 32, 100}) {
    compile(fmt::format(R"(graph f(%x: bf16[40, 2048], %i: i64[{0}], %v: bf16[{0}, 2048]) {{
  %y: bf16[40, 2048] = aten.index_put(%x, [%i], %v)
  return %y
}})",
                        updates));
    ASSERT_EQ(launches(), updates < 32 ? 2u : 3u);
    const std::string& text = kernel_text(launches() - 1);
    EXPECT_EQ(text.find("for (idx col0") == std::string::npos, updates >= 32) << text;
    EXPECT_EQ(text.find("store_vector(") != std::string::npos, updates >= 32) << text;
    const HostValue x = numbers(DType::bf16, {40, 2048}, 1), v = numbers(DType::bf16, {updates, 2048}, 2);
    expect_bits_of_portable({x, repeated_places(updates, 40), v});
    std::vector<int64_t> bad(static_cast<size_t>(updates));
    bad[1] = 40;
    expect_error({x, integers(bad, {updates}), v}, "aten.index_put.default: an index is out of bounds");
  }
}

// Dimensions before and after the indexed ones, two indices that broadcast, values that broadcast, and single elements.
TEST_F(CudaWrites, UpdatesMayStandAnywhereInTheTensor) {
  compile(
      R"(graph f(%x: f32[3, 20, 9, 16], %i: i64[40], %v: f32[3, 40, 9, 16], %j: i64[8, 1], %k: i64[5], %w: f32[3, 8, 5, 1], %u: f32[40]) {
  %a: f32[3, 20, 9, 16] = aten.index_put(%x, [none, %i], %v)
  %b: f32[3, 20, 9, 16] = aten.index_put(%x, [none, %j, %k], %w)
  %c: f32[3, 20, 9, 16] = aten.index_copy(%x, 1, %i, %v)
  %y: f32[60, 144] = aten.reshape(%x, [60, 144])
  %d: f32[60, 144] = aten.index_put(%y, [%i, %i], %u)
  return %a, %b, %c, %d
})");
  expect_bits_of_portable({numbers(DType::f32, {3, 20, 9, 16}, 1), repeated_places(40, 20),
                           numbers(DType::f32, {3, 40, 9, 16}, 2), integers({0, 1, 2, 1, 19, -20, 3, 4}, {8, 1}),
                           integers({8, 0, -9, 5, 0}, {5}), numbers(DType::f32, {3, 8, 5, 1}, 3),
                           numbers(DType::f32, {40}, 4)});
}

TEST_F(CudaWrites, SumsStayInOrder) {
  compile(R"(graph f(%x: f32[20, 16], %i: i64[64], %v: f32[64, 16]) {
  %y: f32[20, 16] = aten.index_put(%x, [%i], %v, true)
  return %y
})");
  EXPECT_EQ(launches(), 2u);
  expect_bits_of_portable(
      {numbers(DType::f32, {20, 16}, 1), repeated_places(64, 20), numbers(DType::f32, {64, 16}, 2)});
}

TEST_F(CudaWrites, TheirNumberMayBeKnownOnlyAtRunTime) {
  compile(R"(graph f(%x: f32[40, 64], %i: i64[s0], %v: f32[s0, 64]) {
  range s0: 1..500
  %y: f32[40, 64] = aten.index_put(%x, [%i], %v)
  return %y
})");
  EXPECT_EQ(launches(), 3u);
  for (const int32_t updates : {1, 7, 200})
    expect_bits_of_portable(
        {numbers(DType::f32, {40, 64}, 1), repeated_places(updates, 40), numbers(DType::f32, {updates, 64}, 2)});
}

// The rows of a prompt go into a cache: nothing else is written, and a row with a bad index is not written.
TEST_F(CudaStateWrites, ManyRowsOfACacheAreWrittenInPlace) {
  compile_state({R"(graph a(%x: f32[1, 4, 40, 8], %at: i64[40]) {
  state %cache: f32[1, 4, 64, 8] "cache" = ...
  %k: f32[1, 4, 64, 8] = aten.index_put(%cache, [none, none, %at], %x)
  update %cache = %k
  return 0
})",
                 "graph look() {\n  state %cache: f32[1, 4, 64, 8] \"cache\" = ...\n"
                 "  %y: f32[1, 4, 64, 8] = aten.add.Tensor(%cache, 1)\n  update %cache = %cache\n  return %y\n}"});
  const HostTensor rows = numbers(DType::f32, {1, 4, 40, 8}, 3);
  EXPECT_EQ(written_bytes(plan_of(0)), rows.bytes.size() + 40);  // and the bools that say which updates stay
  expect_like_portable_after({{"a", {rows, repeated_places(40, 64)}}, {"look", {}}});
  const auto module = on_twin();
  std::vector<int64_t> places;
  for (int64_t i = 0; i < 40; ++i) places.push_back(i + 1);
  (void)outputs(*module, {"a", {rows, integers(places, {40})}});
  const auto before = outputs(*module, {"look", {}})[0].tensor.bytes;
  places[39] = 64;
  std::vector<HostValue> out;
  ModuleError error;
  EXPECT_FALSE(module->execute("a", {rows, integers(places, {40})}, &out, &error));
  EXPECT_NE(error.message.find("out of bounds"), std::string::npos) << error.message;
  EXPECT_EQ(outputs(*module, {"look", {}})[0].tensor.bytes, before);
}

}  // namespace
}  // namespace wick::cuda
