// A backend as small as one can be, in both forms: what the seam promises to each backend.
#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>

#include "backends/compile_table.h"
#include "compiler/ir/text/text.h"
#include "compiler/testing/pipeline.h"
#include "tests/toy_backend/payload.h"
#include "tests/toy_backend/target.h"
#include "wick/xnnpack_backend.h"

namespace wick::toy::toy_test {
namespace {

using compiler::TargetRequest;
using testing::Pipeline;
using testing::Stage;

constexpr char kChain[] = R"(graph f(%x: f32[2, 3], %y: f32[2, 3]) {
  const %w: f32[2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  %a = aten.add.Tensor(%x, %y)
  %b = aten.mul.Tensor(%a, %w)
  %c = aten.mul.Scalar(%b, 2.0)
  return %c
})";
// Twice a tensor of f16 is nothing for the backend, nor is the arc tangent.
constexpr char kMixed[] = R"(graph f(%x: f32[2, 3], %h: f16[2, 3]) {
  %a = aten.add.Tensor(%x, %x)
  %t = aten.atan(%a)
  %j = aten.mul.Scalar(%h, 2.0)
  %b = aten.mul.Tensor(%t, %t)
  return %b, %j
})";

Pipeline pipeline(const char* text) { return std::move(Pipeline::from_text(text).runtime(delegates(), kernels())); }

TEST(ToyBackend, RunsAsADelegate) {
  Pipeline p = pipeline(kChain);
  p.target(&kTarget).at(Stage::partition).check_delegates(1).check_outside({});
  p.run_and_compare();
  EXPECT_EQ(p.failures(), "");
  const compiler::Delegate& delegate = *p.compiled()->method_plans[0].delegates[0];
  EXPECT_EQ(delegate.id, kBackendId);
  EXPECT_EQ(delegate.num_nodes, 3u);
  EXPECT_EQ(delegate.constants.size(), 1u);
}

// Names of constants hold in the whole file.
TEST(ToyBackend, SeveralDelegatesHaveConstantsOfTheirOwn) {
  Pipeline p = pipeline(R"(graph f(%x: f32[2, 3]) {
    const %w: f32[2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    const %v: f32[2, 3] = [7.0, 2.0, 1.0, 3.0, 5.0, 8.0]
    %a = aten.mul.Tensor(%x, %w)
    %b = aten.add.Tensor(%a, %w)
    %t = aten.atan(%b)
    %c = aten.mul.Tensor(%t, %v)
    %d = aten.add.Tensor(%c, %w)
    return %d
  })");
  p.target(&kTarget).at(Stage::partition).check_delegates(2);
  p.run_and_compare();
  EXPECT_EQ(p.failures(), "");
}

TEST(ToyBackend, RunsAsKernels) {
  Pipeline p = pipeline(kChain);
  p.target(&toy_kernels::kTarget).at(Stage::partition).check_delegates(0).check_outside({});
  p.at(Stage::lower).check_count("toy.add", 2).check_count("toy.mul", 1).check_not("aten.mul.Tensor");
  p.run_and_compare();
  EXPECT_EQ(p.failures(), "");
}

// Two sums of int8 in a row; a product that the backend does not have reads the last one.
constexpr char kQuantized[] = R"(graph f(%x: f32[2, 3], %y: f32[2, 3]) {
  %p = quantized_decomposed.quantize_per_tensor(%x, 0.0625, 3, -128, 127, i8)
  %q = quantized_decomposed.quantize_per_tensor(%y, 0.03125, -1, -128, 127, i8)
  %a = quantized_decomposed.dequantize_per_tensor(%p, 0.0625, 3, -128, 127, i8)
  %b = quantized_decomposed.dequantize_per_tensor(%q, 0.03125, -1, -128, 127, i8)
  %s = aten.add.Tensor(%a, %b)
  %r = quantized_decomposed.quantize_per_tensor(%s, 0.0546875, 2, -128, 127, i8)
  %c = quantized_decomposed.dequantize_per_tensor(%r, 0.0546875, 2, -128, 127, i8)
  %d = quantized_decomposed.dequantize_per_tensor(%p, 0.0625, 3, -128, 127, i8)
  %t = aten.add.Tensor(%c, %d)
  %u = quantized_decomposed.quantize_per_tensor(%t, 0.125, 0, -128, 127, i8)
  %e = quantized_decomposed.dequantize_per_tensor(%u, 0.125, 0, -128, 127, i8)
  %m = aten.mul.Tensor(%e, %e)
  return %m
})";

TEST(ToyBackend, ReadsQuantizationInTypes) {
  Pipeline p = pipeline(kQuantized);
  p.target(&toy_kernels::kTarget).at(Stage::lower).check_count("toy.quantized_add", 2).check_not("aten.add.Tensor");
  p.check_count("quantized_decomposed.quantize_per_tensor", 2);
  p.check_count("quantized_decomposed.dequantize_per_tensor", 1).check_count("aten.mul.Tensor", 1);
  p.run_and_compare();
  EXPECT_EQ(p.failures(), "");
  ASSERT_NE(p.compiled(), nullptr);
  const auto& nodes = p.compiled()->methods[0].nodes;
  const auto sum =
      std::find_if(nodes.begin(), nodes.end(), [](const auto& node) { return node.op == "aten.add.Tensor"; });
  ASSERT_NE(sum, nodes.end());
  EXPECT_EQ(sum->quantization,
            "i8[2, 3]q(scale=0.0625, zero=3), i8[2, 3]q(scale=0.03125, zero=-1) -> i8[2, 3]q(scale=0.0546875, zero=2)");
}

// The form delegate takes no quantized values here; the program is as it was.
TEST(ToyBackend, LeavesQuantizedProgramsAlone) {
  Pipeline p = pipeline(kQuantized);
  p.target(&kTarget).run_and_compare();
  EXPECT_EQ(p.failures(), "");
}

// Scratch memory is in the plan while its only reader runs, and no instruction makes it.
TEST(ToyBackend, ScratchIsPlannedButNotComputed) {
  Pipeline p = pipeline(kChain);
  p.target(&toy_kernels::kTarget).at(Stage::lower).check_count("wick.scratch", 1);
  ASSERT_NE(p.compiled(), nullptr);
  const compiler::MethodPlan& plan = p.compiled()->method_plans[0];
  EXPECT_EQ(plan.instructions.size(), 3u);
  size_t brief = 0;
  for (const compiler::Storage& storage : plan.storages) {
    const bool in_arena = storage.kind == compiler::Storage::Kind::arena && storage.used;
    brief += in_arena && storage.first == 1 && storage.last == 1 && storage.size_bytes >= 24;
  }
  EXPECT_EQ(brief, 1u);
}

TEST(ToyBackend, LeavesTheRestAsItWas) {
  for (const compiler::Target* target : {&kTarget, &toy_kernels::kTarget}) {
    SCOPED_TRACE(target->name);
    Pipeline p = pipeline(kMixed);
    p.target(target).at(Stage::lower).check_count("aten.mul.Scalar", 1).check_count("aten.atan", 1);
    p.check_not("aten.mul.Tensor").check_not("aten.add.Tensor");
    p.run_and_compare();
    EXPECT_EQ(p.failures(), "");
  }
}

TEST(ToyBackend, EachBackendSeesTheProgramWithoutTheOthers) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "no XNNPACK library";
  const auto xnnpack = *compiler::find_targets("xnnpack");
  struct Order {
    std::vector<TargetRequest> targets;
    size_t toys, others;
  };
  const Order orders[] = {{{&kTarget, xnnpack[0]}, 2, 1}, {{xnnpack[0], &kTarget}, 0, 2}};
  for (const Order& order : orders) {
    SCOPED_TRACE(order.targets[0].target->name);
    std::string text = kMixed;  // with more elements than light nodes have
    for (size_t at = 0; (at = text.find("[2, 3]")) != std::string::npos;) text.replace(at, 6, "[200, 300]");
    Pipeline p = pipeline(text.c_str());
    for (const TargetRequest& request : order.targets) p.target(request);
    p.run_and_compare();
    EXPECT_EQ(p.failures(), "");
    ASSERT_NE(p.compiled(), nullptr);
    size_t toys = 0, others = 0;
    for (const auto& delegate : p.compiled()->method_plans[0].delegates) ++(delegate->id == kBackendId ? toys : others);
    EXPECT_EQ(toys, order.toys);
    EXPECT_EQ(others, order.others);
    // Both said no to the same node, each for its own reason.
    const std::vector<std::string> outside = p.outside();
    ASSERT_FALSE(outside.empty());
    EXPECT_NE(outside[0].find("toy: an operator other than add and mul"), std::string::npos) << outside[0];
    EXPECT_NE(outside[0].find("xnnpack: "), std::string::npos) << outside[0];
  }
}

// What one backend made is nothing that the next is asked about.
TEST(ToyBackend, ItsOperatorsAreNotOfferedToOtherBackends) {
  Pipeline p = pipeline(kChain);
  p.target(&toy_kernels::kTarget).target(&kTarget).at(Stage::partition).check_delegates(0).check_outside({});
  p.run_and_compare();
  EXPECT_EQ(p.failures(), "");
}

TEST(ToyBackend, ProfileStockRefusesOperatorsThatStockLacks) {
  Pipeline p = pipeline(kChain);
  p.options().profile = compiler::Profile::stock;
  p.target(&toy_kernels::kTarget).at(Stage::lower).check_error("toy::");
  EXPECT_EQ(p.failures(), "");
}

TEST(ToyBackend, ProfileStockRefusesBackendsWhoseDelegatesStockLacks) {
  Pipeline p = pipeline(kChain);
  p.options().profile = compiler::Profile::stock;
  p.target(&kTarget).at(Stage::partition).check_error("stock ExecuTorch does not run delegates of the backend 'toy'");
  EXPECT_EQ(p.failures(), "");
}

TEST(ToyBackend, ItsPassesAreRunSkippedAndShownLikeAllOthers) {
  std::vector<std::string> shown;
  Pipeline p = pipeline(kChain);
  p.options().on_stage = [&](std::string_view, std::string_view stage, const compiler::Graph&) {
    shown.emplace_back(stage);
  };
  p.target(&kTarget).at(Stage::partition).check_delegates(1);
  EXPECT_EQ(p.failures(), "");
  EXPECT_EQ(std::count(shown.begin(), shown.end(), "toy_double"), 1);
  Pipeline skipping = pipeline(kChain);
  skipping.skip("toy_double")
      .target(&kTarget)
      .at(Stage::partition)
      .check_outside({"aten.mul.Scalar: an operator other than add and mul"});
  skipping.run_and_compare();
  EXPECT_EQ(skipping.failures(), "");
  Pipeline wrong = pipeline(kChain);
  wrong.skip("toy_triple").target(&kTarget).at(Stage::partition).check_error("there is no pass 'toy_triple'");
  EXPECT_EQ(wrong.failures(), "");
}

TEST(ToyBackend, OptionsTravelToTheRunAsCompileSpecs) {
  for (const bool strict : {false, true}) {
    SCOPED_TRACE(strict);
    Pipeline p = pipeline(kChain);
    p.target({&kTarget, {{"mode", strict ? "strict" : "plain"}}});
    const auto module = p.load();
    ASSERT_NE(module, nullptr) << p.failures();
    HostTensor huge{DType::f32, {2, 3}, std::vector<uint8_t>(24)};
    for (size_t i = 0; i < 6; ++i) {
      const float value = 3e38f;
      memcpy(&huge.bytes[4 * i], &value, 4);
    }
    std::vector<HostValue> outputs;
    ModuleError error;
    EXPECT_EQ(module->execute("f", {huge, huge}, &outputs, &error), !strict);
    if (strict) EXPECT_NE(error.message.find("a value is not finite"), std::string::npos) << error.message;
  }
}

TEST(ToyBackend, PayloadsAreChecked) {
  Payload payload;
  payload.num_inputs = 2;
  payload.num_elements = 6;
  payload.nodes = {{Kind::add, 0, 1}, {Kind::mul, 2, 2}};
  payload.outputs = {3};
  const std::vector<uint8_t> bytes = write_payload(payload);
  const auto is_valid = [](const std::vector<uint8_t>& blob) {
    Payload read;
    return read_payload({blob.data(), blob.size()}, &read);
  };
  EXPECT_TRUE(is_valid(bytes));
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(is_valid({bytes.begin(), bytes.begin() + size}));
  for (const size_t at : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}) {
    std::vector<uint8_t> broken = bytes;
    broken[4 * at + 3] = 0x7f;
    EXPECT_FALSE(is_valid(broken)) << at;
  }
}

}  // namespace
}  // namespace wick::toy::toy_test
