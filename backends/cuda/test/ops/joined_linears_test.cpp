// Linear layers that read one operand become one kernel.
#include "backends/cuda/compile/joined_linears.h"

#include <algorithm>

#include "backends/cuda/test/lower_test_support.h"
#include "tests/fixtures/expand_fixture.h"

namespace wick::cuda::joined_linears_test {
namespace {

std::string multiples(size_t count, uint64_t seed) {
  std::string out;
  for (size_t i = 0; i < count; ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ", ", (static_cast<int>(philox4x32(seed, i).words[0] % 129) - 64) / 64.0);
  return "[" + out + "]";
}

// Queries, keys and values of `rows` tokens; the keys have no bias. `after`: nodes that follow.
std::string projections(const char* dtype, int rows, const char* after) {
  return fmt::format(R"(graph f(%x: {0}[{1}, 64], %g: {0}[64]) {{
  const %wq: {0}[48, 64] = {2}
  const %wk: {0}[48, 64] = {3}
  const %wv: {0}[20, 64] = {4}
  const %bq: {0}[48] = {5}
  const %bv: {0}[20] = {6}
  %n: {0}[{1}, 64] = aten.rms_norm(%x, [64], %g, 1e-05)
  %q: {0}[{1}, 48] = aten.linear(%n, %wq, %bq)
  %k: {0}[{1}, 48] = aten.linear(%n, %wk)
  %v: {0}[{1}, 20] = aten.linear(%n, %wv, %bv)
{7}
}})",
                     dtype, rows, multiples(48 * 64, 1), multiples(48 * 64, 2), multiples(20 * 64, 3), multiples(48, 4),
                     multiples(20, 5), after);
}

std::string products(const char* dtype, int rows) {
  return fmt::format(R"(  %t: {0}[48, {1}] = aten.permute(%k, [1, 0])
  %s: {0}[{1}, {1}] = aten.mm(%q, %t)
  %y: {0}[{1}, 20] = aten.mm(%s, %v)
  return %y)",
                     dtype, rows);
}

class CudaJoinedLinears : public CudaLower {
 protected:
  // The reason that the report gives for kernel `number`.
  std::string why(size_t number) const {
    const auto& delegate = *result_.method_plans[0].delegates[0];
    return static_cast<const Kept*>(delegate.kept.get())->steps[number].why;
  }
};

TEST_F(CudaJoinedLinears, LayersThatReadOneNormAreOneKernelWithIt) {
  for (const auto& [name, dtype, error] : {std::tuple("f32", DType::f32, 1e-5), {"bf16", DType::bf16, 1.0 / 16}}) {
    compile(projections(name, 40, products(name, 40).c_str()));
    EXPECT_EQ(launches(), 3u);
    EXPECT_EQ(why(0), "3 linear layers read one operand: a launch instead of 3");
    expect_like_portable({numbers(dtype, {40, 64}, 1), numbers(dtype, {64}, 2)}, error);
  }
}

TEST_F(CudaJoinedLinears, OfOneRowToo) {
  compile(projections("f32", 1, products("f32", 1).c_str()));
  EXPECT_EQ(launches(), 3u);
  expect_like_portable({numbers(DType::f32, {1, 64}, 1), numbers(DType::f32, {64}, 2)}, 1e-5);
}

TEST_F(CudaJoinedLinears, LayersWhoseReadersJoinThemAndOutputsStayApart) {
  compile(projections("f32", 40, R"(  %r: f32[40, 48] = aten.silu(%q)
  %z: f32[40, 48] = aten.mul.Tensor(%r, %k)
  return %z, %v)"));
  EXPECT_EQ(launches(), 4u);
  expect_like_portable({numbers(DType::f32, {40, 64}, 1), numbers(DType::f32, {64}, 2)}, 1e-5);
}

// Weights in a branch are its own constants, or inputs that are constants; those in a loop's body must not change.
// Carried values do change.
TEST_F(CudaJoinedLinears, LayersInBranchesAndBodiesToo) {
  const std::string constants =
      fmt::format("const %wk: f32[20, 64] = {}\n  const %b: f32[20] = {}", multiples(20 * 64, 2), multiples(20, 3));
  const auto graph = [&](const char* carried, const char* more, const char* inner_carried, const char* inner_more) {
    return fmt::format(R"(graph f(%n: i64[], %x: f32[5, 64]) {{
  const %wq: f32[20, 64] = {0}
  {1}
  %i: i64[], %y: f32[5, 64]{2} = higher_order.while_loop([%n, %x{3}], [{4}]) graph (%a: i64[], %u: f32[5, 64]{5}, {6}) {{
    %p: bool[] = aten.gt.Scalar(%a, 0)
    return %p
  }} graph (%a: i64[], %u: f32[5, 64]{5}, {6}) {{
    %d: i64[] = aten.sub.Scalar(%a, 1)
    %q: f32[5, 20] = aten.linear(%u, %vq)
    %k: f32[5, 20] = aten.linear(%u, %vk, %vb)
    %t: f32[20, 5] = aten.permute(%k, [1, 0])
    %s: f32[5, 5] = aten.mm(%q, %t)
    %v: f32[5, 64] = aten.mm(%s, %u)
    %h: f32[5, 64] = aten.tanh(%v)
    return %d, %h{7}
  }}
  return %y
}})",
                       multiples(20 * 64, 1), constants, *carried ? ", %z: f32[20, 64]" : "", carried, more,
                       inner_carried, inner_more, *carried ? ", %vq" : "");
  };
  const auto expect = [&](const std::string& text, size_t layers) {
    compile(text);
    size_t found = 0;
    const auto& delegate = *result_.method_plans[0].delegates[0];
    for (const auto& step : static_cast<const Kept*>(delegate.kept.get())->steps) {
      found += std::count_if(step.nodes.begin(), step.nodes.end(),
                             [](const auto& node) { return node.op == "aten.linear.default"; }) > 0;
    }
    EXPECT_EQ(found, layers);
    HostTensor rounds;
    rounds.dtype = DType::i64;
    rounds.bytes = {3, 0, 0, 0, 0, 0, 0, 0};
    expect_like_portable({rounds, numbers(DType::f32, {5, 64}, 1)}, 1e-5);
  };
  expect(graph("", "%wq, %wk, %b", "", "%vq: f32[20, 64], %vk: f32[20, 64], %vb: f32[20]"), 1);
  expect(graph(", %wq", "%wk, %b", ", %vq: f32[20, 64]", "%vk: f32[20, 64], %vb: f32[20]"), 2);
}

size_t launches_of_model(const std::string& name) {
  const auto fixture = testing::expand_fixture(fmt::format("tests/fixtures/models/{}.wfix.gz", name));
  EXPECT_TRUE(fixture.ok());
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets("cuda");
  options.for_report = true;
  const Span<const uint8_t> bytes(fixture->pt2.data(), fixture->pt2.size());
  const auto compiled = compiler::compile(std::vector<compiler::CompileBytes>{{"forward", name, bytes}}, options);
  EXPECT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
  if (!compiled.ok() || compiled->method_plans[0].delegates.size() != 1) return SIZE_MAX;
  const std::vector<uint8_t>& payload = compiled->method_plans[0].delegates[0]->payload;
  Plan plan;
  EXPECT_EQ(read_plan({payload.data(), payload.size()}, &plan, nullptr), Error::Ok);
  return plan.nodes.size();
}

// All nodes of graphs of real models, in f32.
TEST(CudaLaunches, DeitTinyTakesAtMost64) { EXPECT_LE(launches_of_model("deit_tiny"), 64u); }
TEST(CudaLaunches, ResNet50TakesAtMost56) { EXPECT_LE(launches_of_model("resnet50"), 56u); }
TEST(CudaLaunches, TheEncoderOfWhisperTinyTakesAtMost24) { EXPECT_LE(launches_of_model("whisper_encoder"), 24u); }

}  // namespace
}  // namespace wick::cuda::joined_linears_test
