// Tests of Pipeline itself: stages, checks that fail, user-defined passes, tolerances.
#include "compiler/testing/pipeline.h"

#include <gtest/gtest.h>
#include <string.h>

#include "compiler/ir/builder.h"
#include "compiler/ir/text/text.h"
#include "wick/backends.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing {
namespace {

using compiler::Changed;
using compiler::Graph;
using compiler::Phase;
using compiler::Result;

constexpr char kModel[] = R"(graph f(%x: f32[2, 8]) {
  const %w: f32[4, 8] = ...
  %a: f32[2, 4] = aten.linear(%x, %w)
  %b: f32[2, 4] = aten.relu(%a)
  %c: f32[2, 4] = aten.erf(%b)
  return %c
})";

// relu becomes abs, which computes something else.
Result<Changed> relu_to_abs(Graph& graph) {
  Changed changed = Changed::no;
  for (const auto& node : graph.nodes()) {
    if (!node->is("aten.relu.default")) continue;
    graph.rewrite(node.get(), *compiler::find_op("aten.abs.default"), {node->operands()[0]});
    changed = Changed::yes;
  }
  return changed;
}

TEST(Pipeline, ShowsEachStage) {
  Pipeline p = Pipeline::from_text(kModel);
  p.backend("xnnpack");
  p.at(Stage::import).check("aten.linear").check_count("aten.relu.default", 1);
  p.at(Stage::partition).check_not("aten.linear").check("aten.erf").check("wick.call_delegate").check_delegates(1);
  p.at(Stage::lower).check_count("aten.erf", 1);
  EXPECT_EQ(p.failures(), "");
  EXPECT_EQ(p.outside().size(), 1u);
  EXPECT_NE(p.dump(Stage::partition).find("wick.call_delegate"), std::string::npos);
  EXPECT_NE(p.dump(Stage::emit).find("XnnpackBackend: "), std::string::npos);
}

TEST(Pipeline, AFailedCheckSaysWhatWasFound) {
  Pipeline p = Pipeline::from_text(kModel);
  p.at(Stage::import).check("aten.mul.Tensor").check_not("aten.relu").check_count("aten.erf", 2).check_delegates(3);
  ASSERT_EQ(p.failed_checks().size(), 4u);
  EXPECT_EQ(p.failed_checks()[0], "after import: there is no aten.mul.Tensor");
  EXPECT_EQ(p.failed_checks()[1], "after import: there are 1 aten.relu, none are wanted");
  EXPECT_EQ(p.failed_checks()[2], "after import: there are 1 aten.erf, 2 are wanted");
  EXPECT_EQ(p.failed_checks()[3], "after import: there are 0 delegates, 3 are wanted");
}

TEST(Pipeline, APassOfTheTestRunsBeforeThePartitioner) {
  for (const Phase phase : {Phase::prepare, Phase::optimize, Phase::target}) {
    Pipeline p = Pipeline::from_text(kModel);
    p.backend("xnnpack").transform("relu_to_abs", relu_to_abs, phase);
    p.at(Stage::import).check("aten.relu");
    p.at(Stage::passes).check_not("aten.relu").check_count("aten.abs", 1);
    p.at(Stage::partition).check_not("aten.abs");
    EXPECT_EQ(p.failures(), "");
  }
}

TEST(Pipeline, APassOfTheTestRunsWithoutABackendToo) {
  for (const Phase phase : {Phase::prepare, Phase::optimize, Phase::target}) {
    Pipeline p = Pipeline::from_text(kModel);
    p.transform("relu_to_abs", relu_to_abs, phase).at(Stage::lower).check_count("aten.abs", 1);
    EXPECT_EQ(p.failures(), "");
  }
}

TEST(Pipeline, APassOfAnyPhaseRuns) {
  for (const Phase phase : {Phase::prepare, Phase::recognize, Phase::optimize, Phase::target, Phase::last}) {
    bool ran = false;
    Pipeline p = Pipeline::from_text(kModel);
    p.transform(
        "watch",
        [&](Graph&) {
          ran = true;
          return Changed::no;
        },
        phase);
    p.at(Stage::partition);
    EXPECT_EQ(p.failures(), "");
    EXPECT_TRUE(ran) << static_cast<int>(phase);
  }
}

TEST(Pipeline, OptionsBehindTheFirstStageAreFailures) {
  Pipeline p = Pipeline::from_text(kModel);
  p.at(Stage::import).transform("relu_to_abs", relu_to_abs).skip("canonicalize").backend("portable");
  p.options().strict_nan = true;
  ASSERT_EQ(p.failed_checks().size(), 4u);
  EXPECT_EQ(p.failed_checks()[0],
            "after import: transform(\"relu_to_abs\") has no effect: options come before the first stage");
}

// Two writers and a reader: each method sees what the one before wrote.
TEST(SharedStates, AreSeenByAllMethodsOnEveryBackend) {
  const char* const texts[] = {
      R"(graph add(%x: f32[4]) {
  state %s: f32[4] "cache" = [1.0, 2.0, 3.0, 4.0]
  %n: f32[4] = aten.add.Tensor(%s, %x)
  update %s = %n
  return %n
})",
      R"(graph double(%x: f32[4]) {
  state %s: f32[4] "cache" = [1.0, 2.0, 3.0, 4.0]
  %n: f32[4] = aten.mul.Tensor(%s, %x)
  update %s = %n
  return %n
})",
      R"(graph look(%x: f32[4]) {
  const %s: f32[4] "cache" = [1.0, 2.0, 3.0, 4.0]
  %n: f32[4] = aten.add.Tensor(%s, %x)
  return %n
})"};
  for (const char* backend : {"portable", "xnnpack", "cortex-m"}) {
    for (const auto rule : {compiler::StateSharing::Rule::all, compiler::StateSharing::Rule::none}) {
      std::vector<compiler::Function> functions;
      for (const char* text : texts) functions.push_back(std::move(*compiler::parse_graph(text)));
      compiler::CompileOptions options;
      options.targets = *compiler::find_targets(backend);
      options.share_state.rule = rule;
      const auto compiled = compiler::compile(std::move(functions), options);
      ASSERT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
      const std::vector<uint8_t> bytes = compiled->program.pte.join();
      ModuleOptions module_options;
      module_options.kernels.assign(all_kernels().begin(), all_kernels().end());
      module_options.backends.assign(all_backends().begin(), all_backends().end());
      ModuleError error;
      const auto module = Module::load({bytes.data(), bytes.size()}, module_options, &error);
      ASSERT_TRUE(module) << error.message;
      const auto call = [&](const char* method) {
        HostTensor two{DType::f32, {4}, {}};
        two.bytes.resize(4 * sizeof(float));
        const float number = 2;
        for (size_t i = 0; i < 4; ++i) memcpy(two.bytes.data() + i * sizeof number, &number, sizeof number);
        std::vector<HostValue> outputs;
        EXPECT_TRUE(module->execute(method, {HostValue(two)}, &outputs, &error)) << error.message;
        float first = 0;
        if (!outputs.empty()) memcpy(&first, outputs[0].tensor.bytes.data(), sizeof first);
        return first;
      };
      const bool shared = rule == compiler::StateSharing::Rule::all;
      EXPECT_EQ(call("look"), 3) << backend;
      EXPECT_EQ(call("add"), 3) << backend;
      EXPECT_EQ(call("look"), shared ? 5 : 3) << backend;
      EXPECT_EQ(call("double"), shared ? 6 : 2) << backend;
      EXPECT_EQ(call("look"), shared ? 8 : 3) << backend;
      EXPECT_EQ(call("add"), shared ? 8 : 5) << backend;
    }
  }
}

TEST(Pipeline, AChangedFunctionIsFound) {
  Pipeline p = Pipeline::from_text(kModel);
  p.transform("relu_to_abs", relu_to_abs).run_and_compare();
  ASSERT_EQ(p.mismatches().size(), 1u);
  EXPECT_NE(p.mismatches()[0].find("output 0: "), std::string::npos);
  Pipeline same = Pipeline::from_text(kModel);
  same.run_and_compare();
  EXPECT_EQ(same.failures(), "");
}

TEST(Pipeline, APassThatBreaksTheGraphIsAnErrorThatNamesIt) {
  Pipeline p = Pipeline::from_text(kModel);
  p.transform("stop", [](Graph&) -> Result<Changed> { return compiler::Diag(compiler::Code::internal, "no luck"); });
  p.at(Stage::passes).check_error("no luck");
  EXPECT_EQ(p.failures(), "");
  EXPECT_NE(compiler::render(*p.error()).find("in the pass stop"), std::string::npos);
  Pipeline unexpected = Pipeline::from_text("graph f(%x: f32[2]) { %y = aten.no_such_thing(%x) return %y }");
  unexpected.at(Stage::import);
  EXPECT_NE(unexpected.failures(), "");
}

TEST(Pipeline, StepsOfTheQuantizationWidenTheTolerance) {
  const Tolerance none{0, 0, 0, 0}, one{0, 0, 0, 1};
  const auto number = [](float value) {
    HostTensor tensor{DType::f32, {1}, std::vector<uint8_t>(sizeof value)};
    memcpy(tensor.bytes.data(), &value, sizeof value);
    return HostValue(tensor);
  };
  EXPECT_NE(difference(number(1.5f), number(1.25f), none, 0.25), "");
  EXPECT_EQ(difference(number(1.5f), number(1.25f), one, 0.25), "");
  EXPECT_NE(difference(number(1.5f), number(1.0f), one, 0.25), "");
}

TEST(Pipeline, KnownOutputsAreHeldAgainst) {
  Pipeline p = Pipeline::from_text("graph f(%x: f32[2]) { %y = aten.neg(%x) return %y }");
  HostTensor x{DType::f32, {2}, std::vector<uint8_t>(8)};
  HostTensor y = x;
  const float one = 1;
  memcpy(y.bytes.data(), &one, sizeof one);
  p.run_and_compare({}, {HostValue(x)}, {HostValue(y)});
  ASSERT_EQ(p.mismatches().size(), 1u);
  EXPECT_EQ(p.mismatches()[0], "output 0: 1 of 2 elements differ; element 0 is -0 instead of 1");
}

}  // namespace
}  // namespace wick::testing
