// Reports about kernels: their nodes, why they end where they do, operations and bytes, and predicted times.
#include "backends/cuda/compile/report.h"

#include <algorithm>

#include "backends/cuda/compile/cost_model.h"
#include "backends/cuda/test/lower_test_support.h"
#include "tests/fixtures/expand_fixture.h"

namespace wick::cuda {
namespace {

using compiler::DelegateReport;
using compiler::DelegateStep;
using compiler::NodeName;

std::string names_of(const std::vector<NodeName>& nodes) {
  std::string text;
  for (const NodeName& node : nodes) text += (text.empty() ? "" : " ") + node.op;
  return text;
}

// Everything except the kernel's name and times, a line for each item.
std::string text_of(const DelegateReport& report) {
  std::string text;
  for (const DelegateStep& step : report.steps) {
    text += fmt::format("{} | {} | {} | {} x {} x {} | {} flops, reads {}, writes {} | {}\n", step.schedule,
                        names_of(step.nodes), names_of(step.inlined), step.grid[0], step.grid[1], step.grid[2],
                        step.flops, step.read_bytes, step.written_bytes, step.why);
  }
  if (!report.views.empty()) text += "views: " + names_of(report.views) + "\n";
  return text;
}

class CudaReport : public ::testing::Test {
 protected:
  std::string reported(const std::string& text) {
    (void)program_of(text, "cuda", {{"gpu", "none"}}, &result_);
    if (result_.method_plans.empty() || result_.method_plans[0].delegates.size() != 1) return "not one delegate";
    auto made = report(*result_.method_plans[0].delegates[0], {});
    if (!made.ok()) return compiler::render(made.diag());
    report_ = std::move(*made);
    return text_of(report_);
  }

  CompileResult result_;
  DelegateReport report_;
};

TEST_F(CudaReport, AnElementwiseChainIsOneMap) {
  EXPECT_EQ(reported(R"(graph f(%x: f32[4, 100], %b: f32[100]) {
  %a: f32[4, 100] = aten.add.Tensor(%x, %b)
  %y: f32[4, 100] = aten.relu(%a)
  return %y
})"),
            "map | aten.relu.default | aten.add.Tensor | 2 x 1 x 1 | 800 flops, reads 2000, writes 1600 | an output\n");
}

TEST_F(CudaReport, AnEpilogueIsPartOfTheKernelBeforeIt) {
  reported(R"(graph f(%x: f32[70, 96], %w: f32[50, 96], %b: f32[50]) {
  %y: f32[70, 50] = aten.linear(%x, %w, %b)
  %r: f32[70, 50] = aten.relu(%y)
  return %r
})");
  ASSERT_EQ(report_.steps.size(), 1u);
  const DelegateStep& step = report_.steps[0];
  EXPECT_EQ(names_of(step.nodes), "aten.linear.default aten.relu.default");
  EXPECT_EQ(step.flops, 2u * 70 * 50 * 96 + 2 * 70 * 50);
  EXPECT_EQ(step.read_bytes, 4u * (70 * 96 + 50 * 96 + 50));
  EXPECT_EQ(step.written_bytes, 4u * 70 * 50);
  EXPECT_NE(step.schedule.find("tiles "), std::string::npos) << step.schedule;
  EXPECT_EQ(step.why, "an output");
}

TEST_F(CudaReport, SeveralReadersOfAnExpensiveFunctionStoreIt) {
  EXPECT_EQ(reported(R"(graph f(%x: f32[64], %y: f32[2, 64]) {
  %e: f32[64] = aten.exp(%x)
  %s: f32[64] = aten.sin(%e)
  %a: f32[2, 64] = aten.add.Tensor(%s, %y)
  %m: f32[2, 64] = aten.mul.Tensor(%s, %y)
  return %a, %m
})"),
            "map | aten.sin.default | aten.exp.default | 1 x 1 x 1 | 128 flops, reads 256, writes 256 | 2 nodes read "
            "it, and an element takes 2 operations and 1 load\n"
            "map | aten.add.Tensor aten.mul.Tensor |  | 1 x 1 x 1 | 256 flops, reads 768, writes 1024 | an output\n");
}

// The order must not depend on addresses.
TEST_F(CudaReport, OutputsAreStoredInTheirOrder) {
  for (int i = 0; i < 20; ++i) {
    const std::string text = reported(R"(graph f(%x: f32[64]) {
  %a: f32[64] = aten.neg(%x)
  %b: f32[64] = aten.abs(%x)
  %c: f32[64] = aten.exp(%x)
  return %b, %c, %a
})");
    ASSERT_EQ(report_.steps.size(), 1u);
    EXPECT_EQ(names_of(report_.steps[0].nodes), "aten.neg.default aten.abs.default aten.exp.default") << text;
  }
}

TEST_F(CudaReport, AReductionBehindAnotherOneStoresItsOperand) {
  EXPECT_EQ(reported(R"(graph f(%x: f32[8, 200]) {
  %s: f32[8, 200] = aten._softmax(%x, 1, false)
  %m: f32[8] = aten.amax(%s, [1])
  return %m
})"),
            "warp per row, vectors of 4, 2 held | aten._softmax.default |  | 2 x 1 x 1 | 8000 flops, reads 6400, "
            "writes 6400 | aten.amax.default begins a kernel of its own\n"
            "warp per row, vectors of 4 | aten.amax.default |  | 2 x 1 x 1 | 1600 flops, reads 6400, writes 32 | an "
            "output\n");
}

TEST_F(CudaReport, AJoinOfTwoKernelsStoresOneOfThem) {
  EXPECT_EQ(reported(R"(graph f(%x: f32[8, 200], %y: f32[8, 100]) {
  %a: f32[8] = aten.amax(%x, [1])
  %b: f32[8] = aten.amax(%y, [1])
  %c: f32[8] = aten.add.Tensor(%a, %b)
  return %c
})"),
            "warp per row, vectors of 4 | aten.amax.default |  | 2 x 1 x 1 | 1600 flops, reads 6400, writes 32 | "
            "aten.add.Tensor can "
            "become part of one of its operands' kernels only\n"
            "warp per row, vectors of 2 | aten.amax.default aten.add.Tensor |  | 2 x 1 x 1 | 808 flops, reads 3232, "
            "writes 32 | an "
            "output\n");
}

TEST_F(CudaReport, ReadersOfOtherElementsStoreAKernelsResult) {
  EXPECT_EQ(reported(R"(graph f(%x: f32[8, 200]) {
  %a: f32[8] = aten.amax(%x, [1])
  %b: f32[4] = aten.slice.Tensor(%a, 0, 0, 8, 2)
  %c: f32[4] = aten.neg(%b)
  return %c
})"),
            "warp per row, vectors of 4 | aten.amax.default |  | 2 x 1 x 1 | 1600 flops, reads 6400, writes 32 | "
            "aten.slice.Tensor "
            "reads other elements than a thread of the kernel holds\n"
            "map | aten.neg.default | aten.slice.Tensor | 1 x 1 x 1 | 4 flops, reads 16, writes 16 | an output\n");
}

TEST_F(CudaReport, SeveralResultsAreStoredTogether) {
  EXPECT_EQ(reported(R"(graph f(%x: f32[8, 200]) {
  %a: f32[8], %b: i64[8] = aten.max.dim(%x, 1)
  return %a, %b
})"),
            "warp per row, vectors of 4 | aten.max.dim |  | 2 x 1 x 1 | 1600 flops, reads 6400, writes 96 | "
            "aten.max.dim has several "
            "results\n");
}

TEST_F(CudaReport, ViewsAreNoSteps) {
  EXPECT_EQ(reported(R"(graph f(%x: f32[6, 8]) {
  %t: f32[8, 6] = aten.permute(%x, [1, 0])
  %s: f32[2, 6] = aten.slice.Tensor(%t, 0, 1, 3)
  %y: f32[2, 6] = aten.exp(%s)
  return %y
})"),
            "map | aten.exp.default |  | 1 x 1 x 1 | 12 flops, reads 48, writes 48 | an output\n"
            "views: aten.permute.default aten.slice.Tensor\n");
}

TEST_F(CudaReport, AnOutputThatIsAViewIsCopied) {
  EXPECT_EQ(reported(R"(graph f(%x: f32[6, 8]) {
  %y: f32[6, 8] = aten.exp(%x)
  %t: f32[8, 6] = aten.permute(%x, [1, 0])
  return %y, %t
})"),
            "map | aten.exp.default |  | 1 x 1 x 1 | 48 flops, reads 192, writes 192 | an output\n"
            "map |  |  | 1 x 1 x 1 | 0 flops, reads 192, writes 192 | an output that is a view, an input, a constant "
            "or another output\n"
            "views: aten.permute.default\n");
}

TEST_F(CudaReport, AGatherReadsTheRowsThatItsIndicesName) {
  EXPECT_EQ(reported(R"(graph f(%w: f32[1000, 4], %i: i64[2]) {
  %y: f32[2, 4] = aten.embedding(%w, %i)
  return %y
})"),
            "map | aten.embedding.default |  | 1 x 1 x 1 | 0 flops, reads 48, writes 32 | an output\n");
}

TEST_F(CudaReport, SizesOfRunTimeAreFormulasAndUpperBounds) {
  EXPECT_EQ(reported(R"(graph f(%x: f32[s0, 1024]) {
  range s0: 1..64
  %y: f32[s0, 1024] = aten.exp(%x)
  return %y
})"),
            "map, vectors of 2 | aten.exp.default |  | (2 * s0) x 1 x 1 | 65536 flops, reads 262144, writes 262144 | "
            "an output\n");
  EXPECT_EQ(report_.symbols, std::vector<std::string>{"s0: 1..64"});
}

TEST_F(CudaReport, AttentionCountsItsTwoProducts) {
  reported(R"(graph f(%q: f32[1, 4, 5, 8], %k: f32[1, 2, 70, 8], %v: f32[1, 2, 70, 40]) {
  %y: f32[1, 4, 5, 40] = aten.scaled_dot_product_attention(%q, %k, %v, none, 0.0, false, 0.5, true)
  return %y
})");
  ASSERT_EQ(report_.steps.size(), 1u);
  const DelegateStep& step = report_.steps[0];
  EXPECT_EQ(names_of(step.nodes), "aten.scaled_dot_product_attention.default");
  EXPECT_EQ(step.flops, 2u * 20 * 70 * (8 + 40) + 3 * 20 * 70 + 20 * 70);
  EXPECT_EQ(step.read_bytes, 4u * (20 * 8 + 2 * 70 * 8 + 2 * 70 * 40));
  EXPECT_EQ(step.written_bytes, 4u * 20 * 40);
  EXPECT_NE(step.schedule.find("query"), std::string::npos) << step.schedule;
  EXPECT_EQ(step.why, "an output");
}

TEST_F(CudaReport, OfAFileItTellsWhatThePlanHolds) {
  const std::string text = R"(graph f(%x: f32[8, 200]) {
  %a: f32[8] = aten.amax(%x, [1])
  return %a
})";
  const std::string whole = reported(text);
  compiler::Delegate from_file;
  from_file.payload = result_.method_plans[0].delegates[0]->payload;
  auto made = report(from_file, {});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(whole,
            "warp per row, vectors of 4 | aten.amax.default |  | 2 x 1 x 1 | 1600 flops, reads 6400, writes 32 | an "
            "output\n");
  EXPECT_EQ(text_of(*made), "warp per row, vectors of 4 |  |  | 2 x 1 x 1 | 1600 flops, reads 6400, writes 32 | \n");
  from_file.payload.resize(20);
  EXPECT_EQ(compiler::render(report(from_file, {}).diag()),
            "error[corrupt-file]: a delegate of CUDA: the payload's tables are corrupt\n");
}

// V9: buffers of the arena may share bytes only if all nodes that touch one of them are done before the other is
// touched, in any order that the dependencies allow.
void expect_no_overlap(const Plan& plan, const char* name) {
  const size_t count = plan.nodes.size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count));  // before[j][i]: i is done when j begins
  std::vector<std::vector<size_t>> users(plan.buffers.size());
  for (size_t j = 0; j < count; ++j) {
    for (const uint32_t i : plan.nodes[j].after) {
      before[j][i] = true;
      for (size_t k = 0; k < i; ++k) before[j][k] = before[j][k] || before[i][k];
    }
    for (const Argument& argument : plan.nodes[j].arguments) {
      if (argument.kind == ParameterKind::pointer) users[argument.index].push_back(j);
    }
  }
  const auto all_before = [&](size_t a, size_t b) {
    for (const size_t i : users[a]) {
      for (const size_t j : users[b]) {
        if (j <= i || !before[j][i]) return false;
      }
    }
    return true;
  };
  size_t shared = 0;
  for (size_t a = 0; a < plan.buffers.size(); ++a) {
    for (size_t b = a + 1; b < plan.buffers.size(); ++b) {
      const Buffer &x = plan.buffers[a], &y = plan.buffers[b];
      if (x.space != Space::arena || y.space != Space::arena || users[a].empty() || users[b].empty()) continue;
      if (x.offset + x.size_bytes <= y.offset || y.offset + y.size_bytes <= x.offset) continue;
      EXPECT_TRUE(all_before(a, b) || all_before(b, a)) << name << ": buffers " << a << " and " << b;
      ++shared;
    }
  }
  EXPECT_GT(shared, 0u) << name;
}

// Each node that the backend takes is in a step of the report, or is a view.
TEST_F(CudaReport, NoNodeOfAModelIsMissingAndNoBuffersAliveTogetherOverlap) {
  for (const char* name : {"deit_tiny", "llama_static_cache_dynamic", "mobilenet_v3_dynamic", "wav2vec2", "swin_t"}) {
    auto fixture = testing::expand_fixture(fmt::format("tests/fixtures/models/{}.wfix.gz", name));
    ASSERT_TRUE(fixture.ok());
    compiler::CompileOptions options;
    options.targets = *compiler::find_targets("cuda");
    options.for_report = true;
    const auto compiled = compiler::compile(
        std::vector<compiler::CompileBytes>{{"forward", name, {fixture->pt2.data(), fixture->pt2.size()}}}, options);
    ASSERT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
    const auto made = report(*compiled->method_plans[0].delegates[0], {});
    ASSERT_TRUE(made.ok());
    const std::vector<uint8_t>& payload = compiled->method_plans[0].delegates[0]->payload;
    Plan plan;
    ASSERT_EQ(read_plan({payload.data(), payload.size()}, &plan, nullptr), Error::Ok);
    expect_no_overlap(plan, name);
    std::vector<std::string> known;
    const auto add = [&](const std::vector<NodeName>& nodes) {
      for (const NodeName& node : nodes) known.push_back(node.op + " " + node.module + " " + node.source);
    };
    add(made->views);
    for (const DelegateStep& step : made->steps) {
      EXPECT_NE(step.why, "");
      add(step.nodes);
      add(step.inlined);
    }
    std::sort(known.begin(), known.end());
    for (const compiler::NodeVerdict& node : compiled->methods[0].nodes) {
      if (node.where_it_runs != "cuda") continue;
      const std::string key = node.op + " " + node.module + " " + node.source;
      EXPECT_TRUE(std::binary_search(known.begin(), known.end(), key)) << name << ": " << key;
    }
  }
}

// --- the cost model ---

// Attention that its kernel does not take, as exporters and as authors write it.
TEST(CudaReasons, PartsOfAnAttentionSayWhyItIsNotOneKernel) {
  const auto reasons = [](const std::string& text) {
    CompileResult result;
    EXPECT_FALSE(program_of(text, "cuda", {{"gpu", "none"}}, &result).empty());
    std::string found;
    for (const auto& node : result.methods[0].nodes) found += node.reason.empty() ? "" : node.reason + "\n";
    return found;
  };
  const auto plain = [](const std::string& query, const std::string& key) {
    return fmt::format(
        "graph f(%q: {0}, %k: {1}, %v: {1}) {{\n  %y: {0} = aten.scaled_dot_product_attention(%q, %k, "
        "%v)\n  return %y\n}}",
        query, key);
  };
  const std::string sdpa = "aten.scaled_dot_product_attention.default as a whole: ";
  EXPECT_EQ(reasons(plain("f64[2, 3, 8]", "f64[2, 5, 8]")),
            sdpa + "its kernel computes in f32, and the operands are f64\n");
  EXPECT_EQ(reasons(plain("f32[2, 3, 257]", "f32[2, 5, 257]")), sdpa + "257 features, of at most 256\n");
  EXPECT_EQ(reasons(plain("f32[2, 2, 3, 8]", "f32[2, 5, 8]")),
            sdpa + "the operands differ in rank, or have fewer than 3 dimensions\n");
  EXPECT_EQ(reasons(plain("f32[2, 3, 256]", "f32[2, 5, 256]")), "");
  const auto by_hand = [](const std::string& dtype) {
    return fmt::format(R"(graph f(%q: {0}[2, 3, 8], %k: {0}[2, 8, 5], %v: {0}[2, 5, 8]) {{
  %s: {0}[2, 3, 5] = aten.bmm(%q, %k)
  %w: {0}[2, 3, 5] = aten._softmax(%s, -1, false)
  %y: {0}[2, 3, 8] = aten.bmm(%w, %v)
  return %y
}})",
                       dtype);
  };
  EXPECT_EQ(reasons(by_hand("f64")),
            "wick.attention.default as a whole: its kernel computes in f32, and the operands are f64\n");
  EXPECT_EQ(reasons(by_hand("f32")), "");
}

TEST(CudaCostModel, TakesTheLargestOfItsTerms) {
  const Chip& chip = *find_chip("h200");
  EXPECT_EQ(predict(chip, Arithmetic::f32, 0, 0).us, 3.0);
  EXPECT_STREQ(predict(chip, Arithmetic::f32, 0, 0).bound, "latency");
  // 0.85 of 4.8 TB/s: 12.24 MB take as long as the latency.
  EXPECT_STREQ(predict(chip, Arithmetic::f32, 0, 12.2e6).bound, "latency");
  EXPECT_STREQ(predict(chip, Arithmetic::f32, 0, 12.3e6).bound, "memory");
  EXPECT_NEAR(predict(chip, Arithmetic::f32, 0, 4.08e9).us, 1000, 1e-6);
  // 0.35 of 989 TFLOP/s, and half of that for TF32.
  EXPECT_NEAR(predict(chip, Arithmetic::matrix_tf32, 1.73075e11, 0).us, 1000, 1e-6);
  EXPECT_STREQ(predict(chip, Arithmetic::matrix_f16, 1.03e9, 0).bound, "latency");
  EXPECT_STREQ(predict(chip, Arithmetic::matrix_f16, 1.04e9, 0).bound, "arithmetic");
  EXPECT_NEAR(predict(chip, Arithmetic::matrix_f16, 3.4615e11, 0).us, 1000, 1e-6);
  // 0.6 of it, by instructions of four warps.
  EXPECT_NEAR(predict(chip, Arithmetic::matrix_warpgroup, 5.934e11, 0).us, 1000, 1e-6);
  EXPECT_NEAR(predict(chip, Arithmetic::f32, 5.36e10, 0).us, 1000, 1e-6);
  EXPECT_NEAR(predict(chip, Arithmetic::f64, 2.68e10, 0).us, 1000, 1e-6);
}

TEST(CudaCostModel, HasARowForEachChipThatTheOptionNames) {
  const std::string choices = kChipOption.choices;
  std::string names;
  for (const Chip& chip : chips()) {
    names += (names.empty() ? "" : "|") + std::string(chip.name);
    EXPECT_EQ(find_chip(chip.name), &chip);
    EXPECT_GT(chip.matrix_f16_flops, chip.f32_flops);
    EXPECT_GT(chip.f32_flops, chip.f64_flops);
  }
  EXPECT_EQ(names, choices);
  EXPECT_EQ(find_chip("none"), nullptr);
}

}  // namespace
}  // namespace wick::cuda
