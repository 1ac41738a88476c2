// Mutable buffers that delegates hold: who changes each, and what is left of the graph.
#include "compiler/partition/buffers/held_buffers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "compiler/ir/text/text.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/remainder.h"
#include "compiler/passes/pipeline.h"

namespace wick::compiler {
namespace {

// Takes add, mul and relu, and holds buffers of f32. The payload is the partition in its text form.
Target holding() {
  Target target;
  target.name = "red";
  target.delegate.id = "RedBackend";
  target.partition.supports = [](const Node& node, const TargetContext&) {
    const bool known = node.is("aten.relu.default") || node.is("aten.add.Tensor") || node.is("aten.mul.Tensor") ||
                       node.is("higher_order.cond.default");
    return known ? Verdict::yes() : Verdict::no("an operator without rule");
  };
  target.delegate.lower = [](const Graph& graph, const TargetContext&) -> Result<Delegate> {
    const std::string text = to_text(graph, "p");
    Delegate delegate;
    delegate.id = "RedBackend";
    delegate.payload.assign(text.begin(), text.end());
    return delegate;
  };
  target.partition.takes_graphs = true;
  target.delegate.holds = [](const Value& state, const TargetContext&) {
    return state.dtype() == DType::f32 ? Verdict::yes() : Verdict::no("no f32");
  };
  return target;
}

struct Held {
  std::string graph;                  // that is left
  std::vector<std::string> payloads;  // in the order of the delegates
  std::vector<BufferPlace> buffers;
};

// Partitions a copy of the graph and puts what the target took back into the graph.
Held hold(const std::string& text, const TargetContext& context = {}) {
  auto function = parse_graph(text);
  if (!function.ok()) {
    ADD_FAILURE() << render(function.diag());
    return {};
  }
  OriginMap sources;
  const std::unique_ptr<Graph> copy = clone(*function->graph, sources);
  const Target target = holding();
  const auto report = partition(*copy, target, context, ask_all(*copy, target, context));
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : render(report.diag()));
  if (!report.ok()) return {};
  EXPECT_TRUE(verify(*copy).ok()) << to_text(*copy, "copy");
  EXPECT_TRUE(put_back(*function->graph, *copy, sources, report->taken));
  EXPECT_TRUE(verify(*function->graph).ok()) << to_text(*function->graph, "g");
  EXPECT_TRUE(run_pass("dead_code", *function->graph, {}).ok());
  Held out = {to_text(*function->graph, "f"), {}, report->buffers};
  for (const auto& delegate : function->graph->delegates)
    out.payloads.emplace_back(delegate->payload.begin(), delegate->payload.end());
  return out;
}

TEST(HeldBuffers, AreStatesOfTheDelegateAndNothingElse) {
  const Held held = hold(R"(graph f(%x: f32[2]) {
  state %s: f32[2] "count" = [1, 2]
  %a: f32[2] = aten.add.Tensor(%s, %x)
  update %s = %a
  return %a
})");
  EXPECT_EQ(held.graph, R"(graph f(%x: f32[2]) {
  held %s: f32[2] "count" = [1.0, 2.0]
  delegate "RedBackend" 132
  %a: f32[2] = wick.call_delegate.stateful([%x], 0)
  return %a
}
)");
  ASSERT_EQ(held.payloads.size(), 1u);
  EXPECT_EQ(held.payloads[0], R"(graph p(%x: f32[2]) {
  state %s: f32[2] "count" = [1.0, 2.0]
  %a: f32[2] = aten.add.Tensor(%s, %x)
  update %s = %a
  return %a
}
)");
  ASSERT_EQ(held.buffers.size(), 1u);
  EXPECT_EQ(held.buffers[0].backend, "red");
  EXPECT_EQ(held.buffers[0].size_bytes, 8u);
}

// The first delegate reads the old value, and so does the second, which is the last: it gets the new value as an input.
TEST(HeldBuffers, AreChangedByTheLastDelegateThatUsesThem) {
  const Held held = hold(R"(graph f(%x: f32[2]) {
  state %s: f32[2] "s" = ...
  %a: f32[2] = aten.add.Tensor(%s, %x)
  %b: f32[2] = aten.exp(%a)
  %c: f32[2] = aten.mul.Tensor(%b, %s)
  update %s = %a
  return %c
})");
  ASSERT_EQ(held.payloads.size(), 2u);
  EXPECT_EQ(held.payloads[0].find("update"), std::string::npos) << held.payloads[0];
  EXPECT_NE(held.payloads[1].find("update %s = %a"), std::string::npos) << held.payloads[1];
  EXPECT_NE(held.graph.find("%c: f32[2] = wick.call_delegate.stateful([%b, %a], 1)"), std::string::npos) << held.graph;
}

TEST(HeldBuffers, ThatNoNodeUsesAreADelegateOfTheirOwn) {
  const Held held = hold(R"(graph f(%x: f32[2]) {
  state %s: f32[2] "s" = ...
  update %s = %x
  return 1
})");
  ASSERT_EQ(held.payloads.size(), 1u);
  EXPECT_NE(held.payloads[0].find("update %s = %x"), std::string::npos) << held.payloads[0];
  EXPECT_NE(held.graph.find("wick.call_delegate.stateful([%x], 0)"), std::string::npos) << held.graph;
}

// A branch that runs in the program would need the buffer there.
TEST(HeldBuffers, AreReadByBranchesThatDelegatesTake) {
  const auto text = [](const char* inside) {
    return fmt::format(R"(graph f(%p: bool[], %x: f32[2]) {{
  state %s: f32[2] "s" = ...
  %a: f32[2] = higher_order.cond(%p, [%s, %x]) graph (%u: f32[2], %v: f32[2]) {{
      %b = aten.add.Tensor(%u, %v)
      return %b
    }} graph (%u: f32[2], %v: f32[2]) {{
      %b = aten.{}(%u)
      return %b
    }}
  update %s = %a
  return %a
}})",
                       inside);
  };
  const Held held = hold(text("relu"));
  ASSERT_EQ(held.payloads.size(), 1u);
  EXPECT_NE(held.payloads[0].find("higher_order.cond(%p, [%s, %x])"), std::string::npos) << held.payloads[0];
  EXPECT_NE(held.payloads[0].find("update %s = %a"), std::string::npos) << held.payloads[0];
  EXPECT_NE(held.graph.find("%a: f32[2] = wick.call_delegate.stateful([%p, %x], 0)"), std::string::npos) << held.graph;
  const Held outside = hold(text("exp"));
  ASSERT_EQ(outside.buffers.size(), 1u);
  EXPECT_EQ(outside.buffers[0].reason, "higher_order.cond.default reads it outside of delegates");
}

TEST(HeldBuffers, AreNoneThatOthersUseOrThatAreNotToBe) {
  const std::string text = R"(graph f(%x: f32[2]) {
  state %read: f32[2] "read" = ...
  state %written: f32[2] "written" = ...
  state %number: i64[2] "number" = ...
  state %from: f32[2] "from" = ...
  state %to: f32[2] "to" = ...
  state %agreed: f32[2] "agreed" = ...
  %e: f32[2] = aten.exp(%read)
  %a: f32[2] = aten.add.Tensor(%read, %written)
  %w: f32[2] = aten.exp(%a)
  %n: i64[2] = aten.add.Tensor(%number, %number)
  %f: f32[2] = aten.add.Tensor(%from, %a)
  %g: f32[2] = aten.add.Tensor(%agreed, %f)
  update %written = %w
  update %number = %n
  update %from = %f
  update %to = %from
  update %agreed = %g
  return %e
})";
  BufferRules rules;
  rules.outside["agreed"] = "another method does not";
  TargetContext context;
  context.buffers = &rules;
  const Held held = hold(text, context);
  std::vector<std::string> reasons;
  for (const BufferPlace& place : held.buffers) reasons.push_back(place.name + ": " + place.reason);
  const std::vector<std::string> wanted = {"read: aten.exp.default reads it outside of delegates",
                                           "written: aten.exp.default computes its new value outside of delegates",
                                           "number: no f32",
                                           "from: the buffer 'to' takes its value",
                                           "to: it takes the value of the buffer 'from'",
                                           "agreed: another method does not"};
  EXPECT_EQ(reasons, wanted);
  EXPECT_EQ(held.graph.find("held"), std::string::npos) << held.graph;
}

TEST(HeldBuffers, HaveOtherNamesInDelegatesIfMethodsDiffer) {
  BufferRules rules;
  rules.names["s"] = "s@decode";
  TargetContext context;
  context.buffers = &rules;
  const Held held = hold(R"(graph f(%x: f32[2]) {
  state %s: f32[2] "s" = ...
  %a: f32[2] = aten.add.Tensor(%s, %x)
  update %s = %a
  return %s
})",
                         context);
  ASSERT_EQ(held.payloads.size(), 1u);
  EXPECT_NE(held.payloads[0].find("\"s@decode\""), std::string::npos) << held.payloads[0];
  // The program returns the old value.
  EXPECT_NE(held.payloads[0].find("return %s"), std::string::npos) << held.payloads[0];
}

}  // namespace
}  // namespace wick::compiler
