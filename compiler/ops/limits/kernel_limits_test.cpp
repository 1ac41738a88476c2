#include "compiler/ops/limits/kernel_limits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/ir/text/text.h"

namespace wick::compiler {
namespace {

// Does the kernel take attention with these types and trailing arguments?
bool takes(const char* query, const char* key, const char* mask, const char* arguments) {
  const bool masked = *mask != '\0';
  const auto parsed = parse_graph(fmt::format(
      "graph forward(%q: {0}, %k: {1}, %v: {1}{2}) {{\n  %y: {0} = aten.scaled_dot_product_attention(%q, %k, "
      "%v, {3}{4})\n  return %y\n}}\n",
      query, key, masked ? fmt::format(", %m: {}", mask) : "", masked ? "%m" : "none", arguments));
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.diag().message);
  return parsed.ok() && kernel_takes(*parsed->graph->nodes().front());
}

TEST(KernelLimits, AttentionIsTakenInFloat32WithEqualLeadingSizes) {
  EXPECT_TRUE(takes("f32[2, 3, 4, 8]", "f32[2, 3, 4, 8]", "", ""));
  EXPECT_TRUE(takes("f32[2, 3, 4, 8]", "f32[2, 3, 4, 8]", "", ", 0.0, true"));
  EXPECT_FALSE(takes("f16[2, 3, 4, 8]", "f16[2, 3, 4, 8]", "", ""));
  EXPECT_FALSE(takes("f32[2, 3, 4, 8]", "f32[2, 1, 4, 8]", "", ""));
}

TEST(KernelLimits, AttentionTakesMasksThatBroadcastToTheScores) {
  EXPECT_TRUE(takes("f32[2, 3, 4, 8]", "f32[2, 3, 4, 8]", "bool[1, 4, 4]", ""));
  EXPECT_TRUE(takes("f32[2, 3, 4, 8]", "f32[2, 3, 4, 8]", "f32[4]", ""));
  EXPECT_FALSE(takes("f32[2, 3, 4, 8]", "f32[2, 3, 4, 8]", "f64[4, 4]", ""));
}

TEST(KernelLimits, GroupedAttentionWantsMultiplesOfTheKeyHeads) {
  EXPECT_TRUE(takes("f32[2, 6, 4, 8]", "f32[2, 3, 4, 8]", "", ", 0.0, false, none, true"));
  EXPECT_FALSE(takes("f32[2, 6, 4, 8]", "f32[2, 1, 4, 8]", "", ", 0.0, false, none, false"));
}

}  // namespace
}  // namespace wick::compiler
