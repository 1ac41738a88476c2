// Numbers among the arguments of an operator: constants of the delegate in the operand's dtype, never computed at run
// time, wherever the operator ends up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "backends/xnnpack/compile/lower.h"
#include "backends/xnnpack/compile/target.h"
#include "backends/xnnpack/payload/payload.h"
#include "compiler/support/file_map.h"
#include "compiler/testing/pipeline.h"
#include "tests/support/scratch_folder.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing {
namespace {

using xnnpack::DataType;
using xnnpack::NodeType;
using xnnpack::Payload;

constexpr char kSizes[] = "[2, 3, 4]";

std::string graph(const std::string& dtype, const std::string& body) {
  return fmt::format("graph f(%x: {0}{1}) {{\n {2}\n return %y\n}}", dtype, kSizes, body);
}

Pipeline on_xnnpack(const std::string& text) {
  Pipeline p = Pipeline::from_text(text);
  p.backend("xnnpack");
  return p;
}

// The payload of the only delegate; points into the pipeline.
Payload payload_of(Pipeline& p) {
  Payload payload;
  const compiler::CompileResult* compiled = p.compiled();
  if (!compiled || compiled->method_plans[0].delegates.size() != 1) {
    ADD_FAILURE() << "there is not one delegate: " << p.failures();
    return payload;
  }
  const auto& bytes = compiled->method_plans[0].delegates[0]->payload;
  EXPECT_EQ(xnnpack::read_payload({bytes.data(), bytes.size()}, &payload, nullptr), Error::Ok);
  return payload;
}

void run(Pipeline& p, const Tolerance& tolerance = {}) {
  if (has_xnnpack_library()) p.run_and_compare(tolerance);
}

class ScalarOverload : public ::testing::TestWithParam<const char*> {};

TEST_P(ScalarOverload, BecomesAConstantAndNothingRunsOutside) {
  Pipeline p = on_xnnpack(graph("f32", GetParam()));
  p.at(Stage::lower).check_not("aten.full").check_not("aten.scalar_tensor").check_delegates(1).check_outside({});
  ASSERT_NE(p.compiled(), nullptr) << p.failures();
  EXPECT_EQ(p.compiled()->methods[0].kernels, 0u);
  run(p);
  EXPECT_EQ(p.failures(), "");
}

TEST_P(ScalarOverload, HasTheDtypeOfItsOperand) {
  Pipeline p = on_xnnpack(graph("f16", GetParam()));
  const Payload payload = payload_of(p);
  for (const xnnpack::PayloadValue& value : payload.values) {
    if (value.constant != 0) EXPECT_EQ(value.type, DataType::fp16) << GetParam();
  }
  run(p, {1e-3, 1e-2, 1e-3, 0});
  EXPECT_EQ(p.failures(), "");
}

TEST_P(ScalarOverload, RunsWhereNoDelegateTakesIt) {
  static const compiler::Target others = [] {
    compiler::Target out = xnnpack::kTarget;
    out.partition.supports = [](const compiler::Node& node, const compiler::TargetContext&) {
      return node.is("aten.tanh.default") ? compiler::Verdict::yes() : compiler::Verdict::no("not in this test");
    };
    return out;
  }();
  std::string body = GetParam();
  Pipeline p =
      Pipeline::from_text(fmt::format("graph f(%x: f32{}) {{\n {}\n %z = aten.tanh(%y)\n return %z\n}}", kSizes, body));
  p.target(others).at(Stage::partition).check_delegates(1);
  run(p);
  EXPECT_EQ(p.failures(), "");
}

INSTANTIATE_TEST_SUITE_P(Overloads, ScalarOverload,
                         ::testing::Values("%y = aten.mul.Scalar(%x, 0.125)", "%y = aten.add.Scalar(%x, 3, 2)",
                                           "%y = aten.sub.Scalar(%x, 0.5)", "%y = aten.div.Scalar(%x, 3)",
                                           "%y = aten.rsub.Scalar(%x, 1)", "%y = aten.pow.Tensor_Scalar(%x, 2)"));

// As eager: sums read numbers as f16, products, quotients and slopes as f32; the result is rounded once.
TEST(Scalars, ThatF16DoesNotHoldGiveTheBitsOfPortableKernels) {
  for (const char* body : {"%y = aten.mul.Scalar(%x, 0.1)", "%y = aten.div.Tensor(%x, 0.3)",
                           "%y = aten.add.Tensor(%x, 1.003)", "%y = aten.add.Tensor(%x, %x, 0.1)",
                           "%y = aten.rsub.Scalar(%x, 1.003, 0.1)", "%y = aten.leaky_relu(%x, 0.1)"}) {
    Pipeline p = on_xnnpack(graph("f16", body));
    p.at(Stage::partition).check_delegates(1).check_outside({});
    run(p, {0, 0, 0, 0});
    EXPECT_EQ(p.failures(), "") << body;
  }
}

TEST(Scalars, EqualOnesAreOneConstant) {
  Pipeline p = on_xnnpack(graph("f32",
                                "%a = aten.mul.Scalar(%x, 0.5)\n %b = aten.tanh(%a)\n %c = aten.add.Scalar(%b, 0.5)\n "
                                "%d = aten.tanh(%c)\n %y = aten.mul.Scalar(%d, 0.25)"));
  EXPECT_EQ(payload_of(p).constants.size(), 1u + 2u) << "the reserved one, a half, a quarter";
}

TEST(Scalars, OfAnotherDtypeThanTheResultAreLeftAloneWithTheReason) {
  Pipeline p = Pipeline::from_text("graph f(%x: i64[4]) { %y: f32[4] = aten.mul.Scalar(%x, 0.5) return %y }");
  p.backend("xnnpack").at(Stage::partition).check_delegates(0);
  ASSERT_EQ(p.outside().size(), 1u) << p.failures();
  EXPECT_NE(p.outside()[0].find("dtype i64[4]; only f32 and f16 are taken"), std::string::npos) << p.outside()[0];
  run(p);
  EXPECT_EQ(p.failures(), "");
}

TEST(Scalars, SymbolicOnesAreLeftAloneWithTheReason) {
  Pipeline p = Pipeline::from_text(
      "graph f(%x: f32[4], %n: f32[s0]) {\n range s0: 2..8\n %a = aten.tanh(%x)\n %y = aten.mul.Scalar(%a, s0)\n "
      "return %y\n}");
  p.backend("xnnpack").at(Stage::partition).check("aten.mul.Scalar").check_delegates(1);
  p.check_outside({"aten.mul.Scalar: 'other' is known only at run time"});
  run(p);
  EXPECT_EQ(p.failures(), "");
}

TEST(Scalars, LeaveTheOrderOfAnImageAlone) {
  const std::string conv = ", none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)";
  for (const char* factor :
       {"aten.mul.Scalar(%a, 0.5)", "aten.mul.Tensor(%a, %s)", "aten.mul.Tensor(%s, %a)", "aten.mul.Tensor(%a, %c)"}) {
    Pipeline p = on_xnnpack(
        "graph f(%x: f32[1, 3, 8, 8]) {\n const %w: f32[4, 3, 3, 3] = ...\n const %v: f32[4, 4, 3, 3] "
        "= ...\n const %s: f32[] = [0.5]\n const %c: f32[4, 1, 1] = [1, 2, 3, 4]\n %a = "
        "aten.convolution(%x, %w" +
        conv + "\n %t = aten.tanh(%a)\n %m = " + factor +
        "\n %n = aten.add.Tensor(%m, %t)\n %y = aten.convolution(%n, %v" + conv + "\n return %y\n}");
    const Payload payload = payload_of(p);
    size_t transposes = 0;
    for (const xnnpack::PayloadNode& node : payload.nodes) transposes += node.type == NodeType::static_transpose;
    EXPECT_EQ(transposes, 2u) << factor;
    run(p);
    EXPECT_EQ(p.failures(), "") << factor;
  }
}

// The scale of attention as exporters and models write it, with what lies between it and the product.
class Scale : public ::testing::TestWithParam<const char*> {};

TEST_P(Scale, StaysInsideTheOneDelegate) {
  const std::string text = std::string(R"(graph f(%q: f32[1, 2, 5, 8], %k: f32[1, 2, 7, 8], %v: f32[1, 2, 7, 8]) {
    const %s: f32[] = [0.5]
    const %one: f32[1] = [0.5]
    )") + GetParam() + R"(
    %kt: f32[1, 2, 8, 7] = aten.permute(%k, [0, 1, 3, 2])
    %b = aten.view(%kt, [2, 8, 7])
    %p: f32[2, 5, 7] = aten.bmm(%a, %b)
    %w: f32[2, 5, 7] = aten._softmax(%p, -1, false)
    %c: f32[2, 7, 8] = aten.view(%v, [2, 7, 8])
    %y: f32[2, 5, 8] = aten.bmm(%w, %c)
    return %y
  })";
  Pipeline p = on_xnnpack(text);
  p.at(Stage::partition).check_delegates(1).check_outside({});
  run(p);
  EXPECT_EQ(p.failures(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Scale,
    ::testing::Values(
        "%m = aten.mul.Scalar(%q, 0.5)\n %a = aten.view(%m, [2, 5, 8])",
        "%m = aten.mul.Tensor(%q, %s)\n %a = aten.view(%m, [2, 5, 8])",
        "%m = aten.mul.Tensor(%one, %q)\n %a = aten.view(%m, [2, 5, 8])",
        "%m = aten.div.Scalar(%q, 2)\n %e = aten.expand(%m, [1, 2, 5, 8])\n %a = aten.view(%e, [2, 5, 8])",
        "%t = aten.permute(%q, [0, 2, 1, 3])\n %m = aten.mul.Scalar(%t, 0.5)\n %u = aten.clone(%m)\n %r = "
        "aten.permute(%u, [0, 2, 1, 3])\n %a = aten.reshape(%r, [2, 5, 8])",
        "%m = aten.mul.Scalar(%q, 0.5)\n %d = aten._to_copy(%m, f32)\n %a = aten.view(%d, [2, 5, 8])"));

// Operators that compute in f32 between f16 values are no graph breaks, whatever the order of their dimensions.
TEST(Scalars, OfOtherFloatsBetweenTwoConversionsStayInside) {
  Pipeline p = on_xnnpack(R"(graph f(%x: f16[2, 3, 4]) {
    %a: f16[2, 4, 3] = aten.permute(%x, [0, 2, 1])
    %w: f32[2, 4, 3] = aten._to_copy(%a, f32)
    %m: f32[2, 4, 3] = aten.mul.Scalar(%w, 1000000)
    %s: f32[2, 4, 1] = aten.sum.dim_IntList(%m, [2], true)
    %d: f32[2, 4, 1] = aten.mul.Scalar(%s, 1e-06)
    %h: f16[2, 4, 1] = aten._to_copy(%d, f16)
    %y: f16[2, 4, 3] = aten.mul.Tensor(%a, %h)
    return %y
  })");
  p.at(Stage::partition).check_delegates(1).check_outside({});
  run(p, {1e-3, 1e-2, 1e-3, 0});
  EXPECT_EQ(p.failures(), "");
}

// --- lifetime ---

constexpr char kFactors[] = R"(graph forward(%x: f32[2, 8]) {
  const %w: f32[8, 8] = ...
  %a: f32[2, 8] = aten.linear(%x, %w)
  %b: f32[2, 8] = aten.mul.Scalar(%a, 0.125)
  %y: f32[2, 8] = aten.add.Scalar(%b, 3)
  return %y
})";

std::vector<HostValue> call(Module& module) {
  std::vector<HostValue> inputs = {HostTensor{DType::f32, {2, 8}, std::vector<uint8_t>(64, 0x3f)}}, outputs;
  ModuleError error;
  EXPECT_TRUE(module.forward(inputs, &outputs, &error)) << error.message;
  return outputs;
}

std::unique_ptr<Module> open(const std::string& path) {
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  options.backends = {&xnnpack_backend()};
  ModuleError error;
  auto module = Module::load(path, options, &error);
  EXPECT_TRUE(module) << error.message;
  return module;
}

TEST(Scalars, InAFileOutliveLoadingAndTheFilesName) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "built without the library";
  const testing::ScratchFolder scratch;
  Pipeline p = on_xnnpack(kFactors);
  ASSERT_NE(p.compiled(), nullptr) << p.failures();
  ASSERT_TRUE(compiler::write_pieces(scratch.file("a.pte"), p.compiled()->program.pte).ok());
  const auto module = open(scratch.file("a.pte"));
  ASSERT_TRUE(module);
  const std::vector<HostValue> first = call(*module);
  std::filesystem::remove(scratch.file("a.pte"));
  const std::vector<HostValue> second = call(*module);
  EXPECT_EQ(first[0].tensor.bytes, second[0].tensor.bytes);
}

// The library takes a clamp into the pooling before it, and its numbers for padding.
TEST(Scalars, ThatBoundAPoolAreNoPadding) {
  for (const char* pool : {"aten.max_pool2d(%x, [2, 2], [2, 2])", "aten.avg_pool2d(%x, [2, 2], [2, 2])"}) {
    for (const char* bounds : {"0.25, 0.5", "-0.5, -0.25", "-0.5, 0"}) {
      Pipeline p = on_xnnpack(fmt::format(
          "graph f(%x: f32[1, 2, 4, 4]) {{ %p: f32[1, 2, 2, 2] = {} %y: f32[1, 2, 2, 2] = aten.clamp(%p, {}) "
          "return %y }}",
          pool, bounds));
      p.at(Stage::partition).check_delegates(1);
      run(p);
      EXPECT_EQ(p.failures(), "") << pool << " " << bounds;
    }
  }
}

TEST(Scalars, OfOneInstanceOutliveAnother) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "built without the library";
  const testing::ScratchFolder scratch;
  Pipeline p = on_xnnpack(kFactors);
  ASSERT_NE(p.compiled(), nullptr) << p.failures();
  ASSERT_TRUE(compiler::write_pieces(scratch.file("a.pte"), p.compiled()->program.pte).ok());
  auto a = open(scratch.file("a.pte")), b = open(scratch.file("a.pte"));
  ASSERT_TRUE(a && b);
  const std::vector<HostValue> first = call(*a);
  call(*b);
  a.reset();
  EXPECT_EQ(call(*b)[0].tensor.bytes, first[0].tensor.bytes);
}

}  // namespace
}  // namespace wick::testing
