// The backend's own passes, by their golden files (compiler/passes/goldens_test.cpp).
#include "backends/xnnpack/compile/passes/passes.h"

#include <algorithm>

#include "backends/xnnpack/compile/target.h"
#include "compiler/passes/compare_graphs.h"
#include "compiler/passes/golden_file.h"
#include "compiler/passes/pipeline.h"

namespace wick::compiler {

TestedPasses tested_passes() {
  TestedPasses tested = {"backends/xnnpack/compile/passes/test", xnnpack::own_passes(), xnnpack::own_passes(), {}};
  for (const std::string_view name : xnnpack::kTarget.passes.names) {
    const auto in_phase = [&](const Pass& pass) { return pass.name == name && pass.phase == Phase::target; };
    for (const Span<const Pass> table : {tested.own, pass_table()}) {
      if (std::any_of(table.begin(), table.end(), in_phase)) tested.target_passes.push_back(name);
    }
  }
  return tested;
}

namespace {

TEST(XnnpackPasses, ChangedWeightsAreDescribedNotStored) {
  const Function function = parse(R"(graph f(%i: i64[3], %x: f32[3, 2]) {
    const %e: f32[4, 2] = [1.0, 2.0, 3.0, 5.0, 0.0, 0.0, 7.0, 1.0]
    const %w: f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
    %s: f32[3, 2] = aten.embedding(%e, %i)
    %p: f32[3, 2] = aten.linear(%x, %w)
    %a: f32[3, 2] = aten.add.Tensor(%s, %p)
    %n: f32[3, 2], %m: f32[3, 1], %r: f32[3, 1] = aten.native_layer_norm(%a, [2], none, none, 1e-05)
    return %n
  })");
  PipelineOptions options;
  options.own_passes = xnnpack::own_passes();
  const auto changed = run_pass("center_residual", *function.graph, options);
  ASSERT_TRUE(changed.ok()) << render(changed.diag());
  size_t described = 0;
  for (const auto& node : function.graph->nodes()) {
    for (const Value* operand : node->operands()) described += operand->is_constant() && operand->data.computed();
  }
  EXPECT_EQ(described, 2u);
}

}  // namespace
}  // namespace wick::compiler
