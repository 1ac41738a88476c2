// The tester itself: stages, checks that fail, passes of one's own, tolerances.
#include "compiler/testing/pipeline.h"

#include <gtest/gtest.h>

#include "compiler/ir/builder.h"
#include "compiler/ir/text/text.h"
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

// relu becomes abs: another function.
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
