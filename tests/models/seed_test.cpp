// What stands between DeiT-Tiny and one delegate: a target that refuses what a rule set without norms, guarded softmax,
// selects and scalar factors refuses, and then takes one after the other.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "backends/xnnpack/compile/ops/op_rules.h"
#include "backends/xnnpack/compile/target.h"
#include "compiler/testing/pipeline.h"
#include "tests/fixtures/expand_fixture.h"

namespace wick::testing {
namespace {

using Names = std::set<std::string, std::less<>>;

constexpr char kModel[] = "tests/fixtures/models/deit_tiny.wfix.gz";
constexpr size_t kLayers = 12, kNorms = 2 * kLayers + 1;

const Names kNormParts = {"aten.native_layer_norm.default",
                          "aten.rms_norm.default",
                          "aten.mean.dim",
                          "aten.sub.Tensor",
                          "aten.square.default",
                          "aten.pow.Tensor_Scalar",
                          "aten.add.Scalar",
                          "aten.rsqrt.default",
                          "aten.mul.Tensor"};
const Names kSoftmax = {"aten._safe_softmax.default"};
const Names kSelects = {"aten.select.int"};
const Names kScalars = {"aten.mul.Scalar"};

Names refused;  // by the target of this test

compiler::Verdict supports(const compiler::Node& node, const compiler::TargetContext& context) {
  if (refused.count(node.op->name())) return compiler::Verdict::no("refused by this test");
  return xnnpack::supports(node, context);
}
compiler::Verdict keep(const compiler::Node& node, const compiler::TargetContext& context) {
  return supports(node, context);
}

const compiler::Target& target() {
  static const compiler::Target target = [] {
    compiler::Target out = xnnpack::kTarget;
    out.partition.supports = supports;
    out.partition.keep = keep;
    return out;
  }();
  return target;
}

class Seed : public ::testing::Test {
 protected:
  void SetUp() override {
    auto expanded = expand_fixture(kModel);
    ASSERT_TRUE(expanded.ok()) << compiler::render(expanded.diag());
    fixture_ = std::move(*expanded);
  }
  Pipeline model() { return Pipeline::from_bytes({fixture_.pt2.data(), fixture_.pt2.size()}, "deit_tiny.pt2"); }

  // Delegates if the target refuses these, without the passes that would fold scales and selects away.
  size_t delegates(const std::vector<Names>& sets) {
    refused.clear();
    for (const Names& set : sets) refused.insert(set.begin(), set.end());
    Pipeline p = model();
    p.target(target());
    for (const char* pass : {"split_linears", "fold_scale", "recognize_norms", "center_residual", "narrow_early"})
      p.skip(pass);
    const size_t found = p.delegates();
    EXPECT_EQ(p.failures(), "");
    refused.clear();
    return found;
  }

  Fixture fixture_;
};

// A norm, a softmax or a factor in each layer splits what lies before it from what lies behind it.
TEST_F(Seed, EachMissingRuleCutsEachLayerOnce) {
  EXPECT_EQ(delegates({}), 1u);
  EXPECT_EQ(delegates({kScalars}), 1 + kLayers);
  EXPECT_EQ(delegates({kSelects}), 1 + kLayers + 1) << "and that of the class token";
  EXPECT_EQ(delegates({kSoftmax}), 1 + kLayers);
  EXPECT_EQ(delegates({kNormParts}), 1 + kNorms);
}

TEST_F(Seed, TheCutsAddUp) {
  EXPECT_EQ(delegates({kNormParts, kSoftmax}), 1 + kNorms + kLayers);
  EXPECT_EQ(delegates({kNormParts, kSoftmax, kScalars}), 1 + kNorms + 2 * kLayers);
  // The factor follows the select: one cut for both.
  EXPECT_EQ(delegates({kNormParts, kSoftmax, kScalars, kSelects}), 1 + kNorms + 2 * kLayers);
}

// additive_masks drops the guard of attention against rows of nothing but minus infinity, which tests scores.
TEST_F(Seed, IsOneDelegateWithoutAnyOfTheOtherPasses) {
  for (const std::string_view pass : xnnpack::kTarget.passes.names) {
    if (pass == "additive_masks") continue;
    Pipeline p = model();
    p.backend("xnnpack").skip(std::string(pass));
    p.at(Stage::partition).check_delegates(1).check_outside({});
    EXPECT_EQ(p.failures(), "") << pass;
  }
}

TEST_F(Seed, ThePassesTakeScalesAndSelectsOutOfTheGraph) {
  Pipeline p = model();
  p.backend("xnnpack");
  p.at(Stage::import).check_count("aten.scaled_dot_product_attention", kLayers).check_count("aten.layer_norm", kNorms);
  p.at(Stage::passes)
      .check_not("aten.mul.Scalar")
      .check_not("aten.select.int")
      .check_not("aten.where.self")
      .check_not("aten._softmax")
      .check_count("aten._safe_softmax", kLayers)
      .check_count("aten.rms_norm", kNorms);
  p.at(Stage::partition).check_delegates(1).check_outside({});
  EXPECT_EQ(p.failures(), "");
}

}  // namespace
}  // namespace wick::testing
