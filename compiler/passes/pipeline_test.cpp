// The pipeline over every graph of the golden files: it ends, and the program still computes the same bits.
#include "compiler/passes/pipeline.h"

#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/ir/clone.h"
#include "compiler/passes/compare_graphs.h"
#include "compiler/passes/golden_file.h"
#include "compiler/quantize/fold_quantization.h"

namespace wick::compiler::pipeline_test {
namespace {

// Each graph of each golden file that is meant to compile.
std::vector<Case> all_cases() {
  std::vector<Case> out;
  for (const std::string& name : golden_files()) {
    for (Case& c : read_golden(golden_folder() + "/" + name + ".ir").cases) {
      c.title = name + ": " + c.title;
      if (c.expect != Expect::error) out.push_back(std::move(c));
    }
  }
  return out;
}

bool has_graphs(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const auto& node) { return !node->graphs.empty(); });
}

void compare_all(const PipelineOptions& options, double tolerance) {
  size_t compared = 0, control_flow = 0;
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.title);
    const Function original = parse(c.input), optimized = parse(c.input);
    unfold_quantization(*original.graph);  // kernels compute with elements
    const Status status = run_pipeline(*optimized.graph, options);
    ASSERT_TRUE(status.ok()) << render(status.diag());
    const Outcome before = evaluate_outputs(*original.graph), after = evaluate_outputs(*optimized.graph);
    if (!before.status.ok()) {  // draws random numbers, has control flow, or is refused by a kernel on purpose
      control_flow += has_graphs(*original.graph) ? 1 : 0;
      continue;
    }
    ASSERT_TRUE(after.status.ok()) << render(after.status.diag());
    ASSERT_EQ(before.outputs.size(), after.outputs.size());
    for (size_t i = 0; i < before.outputs.size(); ++i) expect_same(before.outputs[i], after.outputs[i], tolerance);
    ++compared;
  }
  EXPECT_GT(compared * 10, (all_cases().size() - control_flow) * 8) << "too few graphs run";
}

TEST(Pipeline, DecomposeSaysWhetherItReplacedANode) {
  const Function f = parse("graph f(%x: f32[2, 3]) { %y: f32[3, 2] = aten.t(%x) return %y }");
  for (const Changed expected : {Changed::yes, Changed::no}) {
    const auto changed = run_pass("decompose", *f.graph, {});
    ASSERT_TRUE(changed.ok());
    EXPECT_EQ(*changed, expected);
  }
}

TEST(Pipeline, KeepsEveryBitOfEveryGoldenGraph) {
  PipelineOptions options;
  options.skip = {"fold_batch_norm"};
  options.verify_each_pass = true;
  compare_all(options, 0);
}

TEST(Pipeline, FoldedBatchNormsAgreeUpToRounding) {
  PipelineOptions options;
  options.verify_each_pass = true;
  compare_all(options, 1e-5);
}

std::vector<std::string_view> target_passes() {
  std::vector<std::string_view> names;
  for (const Pass& pass : pass_table()) {
    if (pass.phase == Phase::target) names.push_back(pass.name);
  }
  return names;
}

// What stays whole for the passes has no kernel of ours: it is decomposed to be run.
Outcome evaluate_decomposed(Graph& graph) {
  EXPECT_TRUE(run_pass("decompose", graph, {}).ok());
  return evaluate_outputs(graph, true);
}

// Their contracts say where inf and NaN differ, so the inputs are finite.
TEST(Pipeline, TargetPassesKeepFiniteValuesUpToRounding) {
  PipelineOptions options;
  options.keep = [](const Node& node) { return node.is("aten.linear.default") || node.is("aten.rms_norm.default"); };
  options.verify_each_pass = true;
  options.target_passes = target_passes();
  size_t compared = 0, cases = 0;
  for (const std::string_view pass : target_passes()) {
    for (const Case& c : read_golden(golden_folder() + "/" + std::string(pass) + ".ir").cases) {
      SCOPED_TRACE(std::string(pass) + ": " + c.title);
      const Function original = parse(c.input), alone = parse(c.input), together = parse(c.input);
      ++cases;
      ASSERT_TRUE(run_pass(pass, *alone.graph, options).ok());
      const Status status = run_pipeline(*together.graph, options);
      ASSERT_TRUE(status.ok()) << render(status.diag());
      const Outcome before = evaluate_decomposed(*original.graph);
      if (!before.status.ok()) continue;  // the random integers are no indices
      // Where quantization is chosen at run time, a pass may choose it for each row: steps of the grid differ.
      const double tolerance = c.input.find("choose_qparams") != std::string::npos ? 2e-2 : 1e-4;
      for (const Function* function : {&alone, &together}) {
        const Outcome after = evaluate_decomposed(*function->graph);
        ASSERT_TRUE(after.status.ok()) << render(after.status.diag());
        ASSERT_EQ(before.outputs.size(), after.outputs.size());
        for (size_t i = 0; i < before.outputs.size(); ++i) expect_same(before.outputs[i], after.outputs[i], tolerance);
      }
      ++compared;
    }
  }
  EXPECT_GT(compared * 10, cases * 8) << "too few graphs run";
}

// What values of the copy stand for, as more outputs of both graphs.
void output_what_stands_for(Graph& graph, Graph& copy) {
  std::vector<std::pair<Value*, Value*>> pairs;
  for (const auto& value : copy.values()) {
    if (value->kind == ValueKind::result && !value->producer) continue;
    for (Value* original : value->stands_for) {
      if (value->type.is_tensor() && original->kind == ValueKind::result) pairs.emplace_back(original, value.get());
    }
  }
  for (const auto& [original, value] : pairs) {
    GraphOutput output;
    output.value = original;
    graph.add_output(output);
    output.value = value;
    copy.add_output(output);
  }
}

// A backend that leaves a node takes its operands by this.
TEST(Pipeline, ValuesOfACloneHaveTheElementsOfWhatTheyStandFor) {
  PipelineOptions options;
  options.keep = [](const Node& node) { return node.is("aten.linear.default") || node.is("aten.rms_norm.default"); };
  options.target_passes = target_passes();
  size_t compared = 0, pairs = 0;
  for (const std::string_view pass : target_passes()) {
    for (const Case& c : read_golden(golden_folder() + "/" + std::string(pass) + ".ir").cases) {
      SCOPED_TRACE(std::string(pass) + ": " + c.title);
      for (const bool together : {false, true}) {
        const Function original = parse(c.input);
        OriginMap sources;
        const auto copy = clone(*original.graph, sources);
        if (together)
          ASSERT_TRUE(run_pipeline(*copy, options).ok());
        else
          ASSERT_TRUE(run_pass(pass, *copy, options).ok());
        const size_t outputs = original.graph->outputs.size();
        output_what_stands_for(*original.graph, *copy);
        const Outcome wanted = evaluate_decomposed(*original.graph), found = evaluate_decomposed(*copy);
        if (!wanted.status.ok() || !found.status.ok()) continue;  // the random integers are no indices
        const double tolerance = c.input.find("choose_qparams") != std::string::npos ? 2e-2 : 1e-4;
        ASSERT_EQ(wanted.outputs.size(), found.outputs.size());
        for (size_t i = 0; i < wanted.outputs.size(); ++i) expect_same(wanted.outputs[i], found.outputs[i], tolerance);
        ++compared;
        pairs += wanted.outputs.size() - outputs;
      }
    }
  }
  EXPECT_GT(compared, 300u);
  EXPECT_GT(pairs, compared) << "too few values stand for others";
}

TEST(Pipeline, SecondRunChangesNothing) {
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.title);
    const Function function = parse(c.input);
    ASSERT_TRUE(run_pipeline(*function.graph, {}).ok());
    const std::string once = to_text(*function.graph, "g");
    std::vector<std::string> changed;
    PipelineOptions options;
    options.on_changed = [&](std::string_view pass, const Graph&) { changed.emplace_back(pass); };
    ASSERT_TRUE(run_pipeline(*function.graph, options).ok());
    EXPECT_EQ(changed, std::vector<std::string>()) << once << to_text(*function.graph, "g");
  }
}

TEST(Pipeline, SameTextGivesSameText) {
  for (const Case& c : all_cases()) {
    const Function a = parse(c.input), b = parse(c.input);
    ASSERT_TRUE(run_pipeline(*a.graph, {}).ok());
    ASSERT_TRUE(run_pipeline(*b.graph, {}).ok());
    EXPECT_EQ(to_text(*a.graph, "g"), to_text(*b.graph, "g"));
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

TEST(Pipeline, ChangedWeightsAreDescribedNotStored) {
  const Function function = parse(R"(graph f(%i: i64[3], %x: f32[3, 2]) {
    const %e: f32[4, 2] = [1.0, 2.0, 3.0, 5.0, 0.0, 0.0, 7.0, 1.0]
    const %w: f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
    %s: f32[3, 2] = aten.embedding(%e, %i)
    %p: f32[3, 2] = aten.linear(%x, %w)
    %a: f32[3, 2] = aten.add.Tensor(%s, %p)
    %n: f32[3, 2], %m: f32[3, 1], %r: f32[3, 1] = aten.native_layer_norm(%a, [2], none, none, 1e-05)
    return %n
  })");
  const auto changed = run_pass("center_residual", *function.graph, {});
  ASSERT_TRUE(changed.ok()) << render(changed.diag());
  size_t described = 0;
  for (const auto& node : function.graph->nodes()) {
    for (const Value* operand : node->operands()) described += operand->is_constant() && operand->data.computed();
  }
  EXPECT_EQ(described, 2u);
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
}  // namespace wick::compiler::pipeline_test
