// The pass on the text form of graphs: before and after.
#include <gtest/gtest.h>

#include "backends/compile_table.h"
#include "backends/cortex_m/compile/passes/passes.h"
#include "compiler/ir/text/text.h"

namespace wick::cortex_m {
namespace {

std::string fused(const std::string& nodes, const char* result = "%z") {
  compiler::known_targets();  // registers operators
  const std::string text = "graph f(%x: i8[4]q(scale=0.5, zero=3), %w: i8[4]q(scale=0.25, zero=0)) {\n" + nodes +
                           "  return " + result + "\n}";
  auto function = compiler::parse_graph(text);
  if (!function.ok()) return render(function.diag());
  const auto changed = fuse_activations(*function->graph);
  if (!changed.ok()) return render(changed.diag());
  const compiler::Status valid = compiler::verify(*function->graph);
  if (!valid.ok()) return render(valid.diag());
  const std::string after = compiler::to_text(*function->graph, "f");
  const size_t first = after.find('\n') + 1;
  return after.substr(first, after.find("  return") - first);
}

TEST(CortexMFuseActivations, BoundsBecomeTheRangeOfElements) {
  EXPECT_EQ(fused("  %y = aten.add.Tensor(%x, %w)\n  %z: i8[4]q(scale=0.5, zero=-7) = aten.relu(%y)\n"),
            "  %y: i8[4]q(range=-7..127, scale=0.5, zero=-7) = aten.add.Tensor(%x, %w)\n");
  EXPECT_EQ(fused("  %y = aten.mul.Tensor(%x, %w)\n  %z: i8[4]q(scale=0.5, zero=-7) = aten.hardtanh(%y, -2.0, 6.0)\n"),
            "  %y: i8[4]q(range=-11..5, scale=0.5, zero=-7) = aten.mul.Tensor(%x, %w)\n");
}

TEST(CortexMFuseActivations, AlsoWhereTheOperandHasTheScaleOfTheResult) {
  EXPECT_EQ(fused("  %y: i8[4]q(range=-50..50, scale=0.5, zero=-7) = aten.add.Tensor(%x, %w)\n"
                  "  %z: i8[4]q(scale=0.5, zero=-7) = aten.relu(%y)\n"),
            "  %y: i8[4]q(range=-7..50, scale=0.5, zero=-7) = aten.add.Tensor(%x, %w)\n");
}

TEST(CortexMFuseActivations, NotWhereItWouldChangeElements) {
  const char* const unchanged[] = {
      // With another scale there are two roundings.
      "  %y: i8[4]q(scale=0.25, zero=0) = aten.add.Tensor(%x, %w)\n"
      "  %z: i8[4]q(scale=0.5, zero=-7) = aten.relu(%y)\n",
      // The value has another reader.
      "  %y: f32[4] = aten.add.Tensor(%x, %w)\n  %z: i8[4]q(scale=0.5, zero=-7) = aten.relu(%y)\n"
      "  %s: f32[4] = aten.sin(%y)\n",
      // The result is in floats.
      "  %y: f32[4] = aten.add.Tensor(%x, %w)\n  %z: f32[4] = aten.relu(%y)\n",
      // The activation reads a result that is not the first.
      "  %s: f32[1, 1, 4] = aten.full([1, 1, 4], 0.0)\n  %u: f32[12, 4] = aten.full([12, 4], 0.0)\n"
      "  %y: f32[1, 1, 4], %h: f32[1, 1, 4] = aten.gru.input(%s, %s, [%u, %u], false, 1, 0.0, false, false, false)\n"
      "  %z: i8[1, 1, 4]q(scale=0.5, zero=3) = aten.relu(%h)\n",
      // The operand has no producer.
      "  %z: i8[4]q(scale=0.5, zero=3) = aten.relu(%x)\n",
  };
  for (const char* text : unchanged) EXPECT_EQ(fused(text), text);
}

}  // namespace
}  // namespace wick::cortex_m
