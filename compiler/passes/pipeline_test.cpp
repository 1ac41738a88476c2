// The pipeline follows its options.
#include "compiler/passes/pipeline.h"

#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/passes/compare_graphs.h"
#include "compiler/passes/golden_file.h"

namespace wick::compiler {

TestedPasses tested_passes() {
  TestedPasses tested = {"compiler/passes/test", pass_table(), {}, {}};
  for (const Pass& pass : pass_table()) {
    if (pass.phase == Phase::target) tested.target_passes.push_back(pass.name);
  }
  return tested;
}

namespace pipeline_test {
namespace {

TEST(Pipeline, DecomposeSaysWhetherItReplacedANode) {
  const Function f = parse("graph f(%x: f32[2, 3]) { %y: f32[3, 2] = aten.t(%x) return %y }");
  for (const Changed expected : {Changed::yes, Changed::no}) {
    const auto changed = run_pass("decompose", *f.graph, {});
    ASSERT_TRUE(changed.ok());
    EXPECT_EQ(*changed, expected);
  }
}

constexpr char kSmall[] = R"(graph f(%x: f32[2, 3]) {
  const %w: f32[3, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  %a: f32[2, 3] = aten.alias(%x)
  %s: f32[2, 3] = aten.square(%a)
  %p: f32[2, 3] = aten.permute(%w, [1, 0])
  %y: f32[2, 3] = aten.add.Tensor(%s, %p)
  return %y
})";

size_t count(const Graph& graph, std::string_view op) {
  return static_cast<size_t>(
      std::count_if(graph.nodes().begin(), graph.nodes().end(), [&](const auto& node) { return node->is(op); }));
}

TEST(Pipeline, WritesFoldedQuantizationBackFirst) {
  Function f =
      parse("graph f(%x: i8[4]q(scale=0.5, zero=3)) { %y: i8[4]q(scale=0.25, zero=0) = aten.relu(%x) return %y }");
  ASSERT_TRUE(run_pipeline(*f.graph, {}).ok());
  std::vector<std::string> names;
  for (const auto& node : f.graph->nodes()) names.emplace_back(node->op->name());
  EXPECT_EQ(names, (std::vector<std::string>{"quantized_decomposed.dequantize_per_tensor.default", "aten.relu.default",
                                             "quantized_decomposed.quantize_per_tensor.default"}));
}

TEST(Pipeline, SkipsPassesByName) {
  const Function function = parse(kSmall);
  PipelineOptions options;
  options.skip = {"fold_constants"};
  ASSERT_TRUE(run_pipeline(*function.graph, options).ok());
  EXPECT_EQ(count(*function.graph, "aten.permute.default"), 1u);
}

TEST(Pipeline, StopsAfterThePassNamed) {
  const Function function = parse(kSmall);
  std::vector<PassTiming> timings;
  PipelineOptions options;
  options.stop_after = "canonicalize";
  options.timings = &timings;
  ASSERT_TRUE(run_pipeline(*function.graph, options).ok());
  EXPECT_EQ(count(*function.graph, "aten.permute.default"), 1u);
  ASSERT_FALSE(timings.empty());
  EXPECT_EQ(timings.back().pass, "canonicalize");
  EXPECT_EQ(timings.front().pass, "gather_quantized");
}

TEST(Pipeline, RefusesNamesOfNoPass) {
  const Function function = parse(kSmall);
  PipelineOptions skips, stops;
  skips.skip = {"fold_constant"};
  stops.stop_after = "nothing";
  for (const Status& status : {run_pipeline(*function.graph, skips), run_pipeline(*function.graph, stops)}) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.diag().code, Code::usage);
    EXPECT_NE(status.diag().help.find("fold_constants"), std::string::npos);
  }
  const Result<Changed> changed = run_pass("nothing", *function.graph, {});
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.diag().message, "there is no pass 'nothing'");
}

TEST(Pipeline, PassesOfTargetsRunOnceAfterTheRoundsAndOnlyIfNamed) {
  std::vector<std::string_view> of_targets;
  for (const Pass& pass : pass_table()) {
    if (pass.phase == Phase::target) of_targets.push_back(pass.name);
  }
  ASSERT_FALSE(of_targets.empty());
  std::reverse(of_targets.begin(), of_targets.end());  // they run as named, not as in the table
  std::vector<PassTiming> timings;
  PipelineOptions options;
  options.timings = &timings;
  const Function without = parse(kSmall), with = parse(kSmall);
  ASSERT_TRUE(run_pipeline(*without.graph, options).ok());
  for (const PassTiming& timing : timings)
    EXPECT_EQ(std::count(of_targets.begin(), of_targets.end(), timing.pass), 0) << timing.pass;
  timings.clear();
  options.target_passes = of_targets;
  ASSERT_TRUE(run_pipeline(*with.graph, options).ok());
  std::vector<std::string_view> ran;
  for (const PassTiming& timing : timings) {
    if (std::count(of_targets.begin(), of_targets.end(), timing.pass)) ran.push_back(timing.pass);
  }
  std::vector<std::string_view> wanted;  // those that have a row in phase recognize, too, run there first
  for (const std::string_view name : of_targets) {
    const auto recognizes = [&](const Pass& pass) { return pass.name == name && pass.phase == Phase::recognize; };
    if (std::any_of(pass_table().begin(), pass_table().end(), recognizes)) wanted.push_back(name);
  }
  wanted.insert(wanted.end(), of_targets.begin(), of_targets.end());
  EXPECT_EQ(ran, wanted);
  options.target_passes = {"canonicalize"};
  EXPECT_EQ(run_pipeline(*with.graph, options).diag().code, Code::internal);
}

TEST(Pipeline, LeavesKeptCompositesWhole) {
  const Function function = parse(kSmall);
  PipelineOptions options;
  options.keep = [](const Node& node) { return node.is("aten.square.default"); };
  ASSERT_TRUE(run_pipeline(*function.graph, options).ok());
  EXPECT_EQ(count(*function.graph, "aten.square.default"), 1u);
}

TEST(Pipeline, GrowsConstantsUpToItsLimitOnly) {
  constexpr char kGrowing[] = R"(graph f(%x: f32[64, 64]) {
    const %c: f32[1, 64] = ...
    %a = aten.expand(%c, [64, 64])
    %b = aten.mm(%x, %a)
    return %b
  })";
  PipelineOptions small;
  small.fold.max_folded_bytes = 1000;
  const Function kept = parse(kGrowing), folded = parse(kGrowing);
  ASSERT_TRUE(run_pipeline(*kept.graph, small).ok());
  ASSERT_TRUE(run_pipeline(*folded.graph, {}).ok());
  EXPECT_EQ(count(*kept.graph, "aten.expand.default"), 1u);
  EXPECT_EQ(count(*folded.graph, "aten.expand.default"), 0u);
}

TEST(Pipeline, KeepsTheOriginsOfMergedNodes) {
  const Function function = parse(R"(graph f(%x: f32[2, 3]) {
    %a = aten.view(%x, [6])  @ "first" "model.py:1"
    %b = aten.view(%a, [3, 2])  @ "second" "model.py:2"
    return %b
  })");
  ASSERT_TRUE(run_pipeline(*function.graph, {}).ok());
  const Node& view = *function.graph->nodes().front();
  ASSERT_EQ(function.graph->num_nodes(), 1u);
  EXPECT_EQ(view.origin->module, "second");
  ASSERT_EQ(view.more_origins.size(), 1u);
  EXPECT_EQ(view.more_origins[0]->module, "first");
}

TEST(Pipeline, FoldedConstantsAreNotNeededSoon) {
  const Function function = parse(R"(graph f(%x: f32[2, 2]) {
    const %w: f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
    %t: f32[2, 2] = aten.permute(%w, [1, 0])
    %y: f32[2, 2] = aten.add.Tensor(%x, %t)
    return %y
  })");
  const uint8_t* weight = function.graph->constants().front()->data.bytes().data();
  std::vector<const uint8_t*> released;
  PipelineOptions options;
  options.release = [&](Span<const uint8_t> bytes) { released.push_back(bytes.data()); };
  const auto changed = run_pass("fold_constants", *function.graph, options);
  ASSERT_TRUE(changed.ok()) << render(changed.diag());
  EXPECT_EQ(released, std::vector<const uint8_t*>{weight});
}

// 10,000 nodes: a pass that looks at pairs of nodes would take minutes.
TEST(Pipeline, TakesTimeThatGrowsWithTheGraphOnly) {
  std::string text = "graph f(%x0: f32[4, 4]) {\n";
  constexpr int kBlocks = 1250;
  for (int i = 0; i < kBlocks; ++i) {
    const std::string x = "%x" + std::to_string(i), b = "%b" + std::to_string(i);
    text += b + "a = aten.permute(" + x + ", [1, 0])\n" + b + "c = aten.relu(" + b + "a)\n" + b + "d = aten.view(" + b +
            "c, [16])\n" + b + "e = aten.view(" + b + "d, [4, 4])\n" + b + "g = aten.exp(" + b + "e)\n" + b +
            "h = aten.exp(" + b + "e)\n" + b + "i = aten.mul.Tensor(" + b + "g, " + b + "h)\n%x" +
            std::to_string(i + 1) + " = aten.add.Tensor(" + b + "i, %x0)\n";
  }
  const Function function = parse(text + "return %x" + std::to_string(kBlocks) + "\n}");
  ASSERT_EQ(function.graph->num_nodes(), 10000u);
  std::vector<PassTiming> timings;
  PipelineOptions options;
  options.timings = &timings;
  const Status status = run_pipeline(*function.graph, options);
  ASSERT_TRUE(status.ok()) << render(status.diag());
  for (const PassTiming& timing : timings)
    EXPECT_LT(timing.time_ns, 10'000'000'000u) << timing.pass << " in round " << timing.round;
  EXPECT_EQ(count(*function.graph, "aten.exp.default"), static_cast<size_t>(kBlocks));
  EXPECT_EQ(count(*function.graph, "aten.view.default"), 0u);
}

}  // namespace
}  // namespace pipeline_test
}  // namespace wick::compiler
