#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/ir/text/text.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/pipeline.h"

namespace wick::compiler::graph_breaks_test {
namespace {

Verdict supports(const Node& node, const TargetContext&) {
  for (const char* op : {"aten.relu.default", "aten.add.Tensor", "aten.cat.default"}) {
    if (node.is(op)) return Verdict::yes();
  }
  return Verdict::no("an operator without rule");
}

Result<Delegate> lower(const Graph& graph, const TargetContext&) {
  Delegate delegate;
  delegate.id = "B";
  delegate.payload = {1};
  delegate.num_nodes = graph.num_nodes();
  return delegate;
}

const Target kTarget = {.name = "b", .partition = {.supports = supports}, .delegate = {.id = "B", .lower = lower}};

std::string text(const std::optional<uint64_t>& bytes) { return bytes ? fmt::format("{}", *bytes) : "?"; }

// A line for each break: "BODY: NODES_BEFORE > BYTES > OUTSIDE, .. > BYTES > NODES_AFTER, NOW to IF_INSIDE".
std::string breaks(const std::string& graph, bool for_report = true) {
  Result<Function> function = parse_graph(graph);
  if (!function.ok()) return render(function.diag());
  TargetContext context;
  context.for_report = for_report;
  Result<PartitionReport> part = partition(*function->graph, kTarget, context, ask_all(*function->graph, kTarget, {}));
  if (!part.ok()) return render(part.diag());
  PartitionReport report;
  report.add(std::move(*part));
  std::string out;
  for (const GraphBreak& found : report.breaks) {
    EXPECT_TRUE(found.before && found.after && found.before != found.after);
    std::string nodes;
    for (const NodePlace& node : found.nodes) {
      EXPECT_EQ(node.backend, "");
      EXPECT_FALSE(node.reason.empty()) << node.op;
      nodes += (nodes.empty() ? "" : ", ") + node.op;
    }
    out += fmt::format("{}: {} > {} > {} > {} > {}, {} to {}\n", found.body_of, found.cost.nodes_before,
                       text(found.cost.bytes_out), nodes, text(found.cost.bytes_in), found.cost.nodes_after,
                       found.cost.delegates_now, found.cost.delegates_if_inside);
  }
  return out;
}

TEST(GraphBreaks, OneDelegateHasNone) {
  EXPECT_EQ(breaks(R"(graph f(%x: f32[2]) {
    %a = aten.exp(%x)
    %b = aten.relu(%a)
    %c = aten.add.Tensor(%b, %x)
    %d = aten.exp(%c)
    return %d
  })"),
            "");
}

// %e is read by no later delegate, and %i needs nothing of the first one.
TEST(GraphBreaks, NodesOnPathsBetweenTwoDelegatesAreTheCause) {
  const std::string graph = R"(graph f(%x: f32[4], %z: f32[4]) {
    %a = aten.relu(%x)
    %i = aten.exp(%z)
    %e = aten.tan(%a)
    %b = aten.exp(%a)
    %c = aten.tan(%b)
    %d = aten.add.Tensor(%c, %i)
    %g = aten.add.Tensor(%d, %a)
    return %g, %e
  })";
  EXPECT_EQ(breaks(graph), ": 1 > 16 > aten.exp.default, aten.tan.default > 32 > 2, 2 to 1\n");
  EXPECT_EQ(breaks(graph, false), "");
}

TEST(GraphBreaks, EachBorderOfAChainIsOne) {
  EXPECT_EQ(breaks(R"(graph f(%x: f32[2, 3]) {
    %a = aten.relu(%x)
    %b: f16[2, 3] = aten._to_copy(%a, f16)
    %c = aten.relu(%b)
    %d = aten.exp(%c)
    %e = aten.relu(%d)
    return %e
  })"),
            ": 1 > 24 > aten._to_copy.default > 12 > 1, 3 to 2\n"
            ": 1 > 12 > aten.exp.default > 12 > 1, 3 to 2\n");
}

// A value that several nodes read crosses once.
TEST(GraphBreaks, BytesCountEachValueOnceAtItsUpperBound) {
  const auto graph = [](const char* range) {
    return fmt::format(R"(graph f(%x: f32[s0, 2]) {{
      range s0: {}
      %a = aten.relu(%x)
      %b = aten.exp(%a)
      %c = aten.tan(%a)
      %d: f32[3*s0, 2] = aten.cat([%b, %c, %b], 0)
      return %d
    }})",
                       range);
  };
  EXPECT_EQ(breaks(graph("0..5")), ": 1 > 40 > aten.exp.default, aten.tan.default > 80 > 1, 2 to 1\n");
  EXPECT_EQ(breaks(graph("0..inf")), ": 1 > ? > aten.exp.default, aten.tan.default > ? > 1, 2 to 1\n");
}

TEST(GraphBreaks, BodiesHaveTheirOwn) {
  EXPECT_EQ(breaks(R"(graph f(%p: bool[], %x: f32[2]) {
    %a = aten.relu(%x)
    %r: f32[2] = higher_order.cond(%p, [%a]) graph (%u: f32[2]) {
      %s: f32[2] = aten.relu(%u)
      %t: f32[2] = aten.exp(%s)
      %w: f32[2] = aten.relu(%t)
      return %w
    } graph (%v: f32[2]) {
      return %v
    }
    %y = aten.relu(%r)
    return %y
  })"),
            "higher_order.cond.default: 1 > 8 > aten.exp.default > 8 > 1, 2 to 1\n"
            ": 1 > 8 > higher_order.cond.default > 8 > 1, 2 to 1\n");
}

}  // namespace
}  // namespace wick::compiler::graph_breaks_test
