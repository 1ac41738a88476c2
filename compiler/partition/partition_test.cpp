#include "compiler/partition/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "compiler/ir/text/text.h"
#include "compiler/partition/groups/group.h"
#include "compiler/passes/pipeline.h"
#include "tests/support/processor_time.h"

namespace wick::compiler::partition_test {
namespace {

Function parse(const std::string& text) {
  auto function = parse_graph(text);
  if (function.ok()) return std::move(*function);
  ADD_FAILURE() << render(function.diag()) << text;
  return {"", std::make_unique<Graph>(), "", "", {}};
}

Verdict only(const Node& node, std::initializer_list<std::string_view> ops) {
  for (std::string_view op : ops) {
    if (node.is(op)) return node.result()->dtype() == DType::f32 ? Verdict::yes() : Verdict::no("no f32 result");
  }
  return Verdict::no("an operator without rule");
}

// The payload is the partition in its text form.
template <const char* id>
Result<Delegate> lower_text(const Graph& graph, const TargetContext&) {
  const std::string text = to_text(graph, "p");
  Delegate delegate;
  delegate.id = id;
  delegate.payload.assign(text.begin(), text.end());
  delegate.num_nodes = graph.num_nodes();
  for (const auto& node : graph.nodes()) delegate.origins.push_back(node->origin);
  return delegate;
}

constexpr char kRedId[] = "RedBackend", kBlueId[] = "BlueBackend";
// Red takes relu, add and mul; blue takes exp and, after red, mul.
const Target kRed = {
    .name = "red",
    .partition = {.supports =
                      [](const Node& node, const TargetContext&) {
                        return only(node, {"aten.relu.default", "aten.add.Tensor", "aten.mul.Tensor"});
                      }},
    .delegate = {.id = kRedId, .lower = lower_text<kRedId>},
};
const Target kBlue = {
    .name = "blue",
    .partition = {.supports = [](const Node& node,
                                 const TargetContext&) { return only(node, {"aten.exp.default", "aten.mul.Tensor"}); }},
    .delegate = {.id = kBlueId, .lower = lower_text<kBlueId>},
};
// Red, but two nodes at least.
Target at_least_two() {
  Target target = kRed;
  target.partition.profitable = [](const std::vector<const Node*>& nodes, const TargetContext&) {
    return nodes.size() < 2 ? Verdict::no("one node costs more than it saves") : Verdict::yes();
  };
  return target;
}

PartitionReport run(Graph& graph, const std::vector<const Target*>& targets) {
  PartitionReport all;
  for (const Target* target : targets) {
    auto report = partition(graph, *target, {}, ask_all(graph, *target, {}));
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : render(report.diag()));
    if (report.ok()) all.add(std::move(*report));
  }
  const Status valid = verify(graph);
  EXPECT_TRUE(valid.ok()) << (valid.ok() ? "" : render(valid.diag())) << to_text(graph, "g");
  return all;
}

std::string payload(const Graph& graph, size_t index) {
  const auto& bytes = graph.delegates.at(index)->payload;
  return {bytes.begin(), bytes.end()};
}

// Names of the operators left, in order.
std::vector<std::string> ops(const Graph& graph) {
  std::vector<std::string> out;
  for (const auto& node : graph.nodes()) out.emplace_back(node->op->name());
  return out;
}
using Names = std::vector<std::string>;

TEST(Partition, AWholeGraphBecomesOneDelegate) {
  const Function f = parse(R"(graph f(%x: f32[2, 3], %y: f32[2, 3]) {
    const %w: f32[2, 3] "w" = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    %a = aten.add.Tensor(%y, %w)
    %b = aten.mul.Tensor(%a, %x)
    return %b, %a
  })");
  const PartitionReport report = run(*f.graph, {&kRed});
  EXPECT_EQ(report.num_delegates, 1u);
  EXPECT_EQ(report.num_outside(), 0u);
  // Inputs in the order of first use, outputs in the order of production.
  EXPECT_EQ(to_text(*f.graph, "f"), R"(graph f(%x: f32[2, 3], %y: f32[2, 3]) {
  delegate "RedBackend" 201
  %a: f32[2, 3], %b: f32[2, 3] = wick.call_delegate([%y, %x], 0)
  return %b, %a
}
)");
  EXPECT_EQ(payload(*f.graph, 0), R"(graph p(%y: f32[2, 3], %x: f32[2, 3]) {
  const %w: f32[2, 3] "w" = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  %a: f32[2, 3] = aten.add.Tensor(%y, %w)
  %b: f32[2, 3] = aten.mul.Tensor(%a, %x)
  return %a, %b
}
)");
}

TEST(Partition, TheTextOfADelegateCanBeReadAgain) {
  const Function f = parse("graph f(%x: f32[2]) { %a = aten.relu(%x) %b = aten.exp(%a) return %b }");
  run(*f.graph, {&kRed});
  const std::string text = to_text(*f.graph, "f");
  const Function again = parse(text);
  EXPECT_EQ(to_text(*again.graph, "f"), text);
  EXPECT_TRUE(verify(*again.graph).ok());
}

TEST(Partition, ADelegateThatTheGraphLacksIsABrokenGraph) {
  const Function f = parse(R"(graph f(%x: f32[2]) { %a: f32[2] = wick.call_delegate([%x], 0) return %a })");
  EXPECT_FALSE(verify(*f.graph).ok());
}

TEST(Partition, ADiamondWithANodeOutsideOnOneSideIsTwoDelegates) {
  const Function f = parse(R"(graph f(%x: f32[2]) {
    %a = aten.relu(%x)
    %l = aten.exp(%a)
    %r = aten.relu(%a)
    %b = aten.add.Tensor(%l, %r)
    return %b
  })");
  const PartitionReport report = run(*f.graph, {&kRed});
  EXPECT_EQ(report.num_delegates, 2u);
  EXPECT_EQ(ops(*f.graph), (Names{kCallDelegate, "aten.exp.default", kCallDelegate}));
  ASSERT_EQ(report.num_outside(), 1u);
  EXPECT_EQ(report.nodes[1].op, "aten.exp.default");
  EXPECT_EQ(report.nodes[1].reason, "an operator without rule");
}

// The output for the next delegate stays on the device.
TEST(Partition, OnADeviceAResultThatBothSidesReadIsAnOutputForEither) {
  constexpr char kText[] = R"(graph f(%x: f32[2]) {
    %a = aten.relu(%x)
    %l = aten.exp(%a)
    %b = aten.add.Tensor(%l, %a)
    return %b, %a
  })";
  Target on_device = kRed;
  on_device.delegate.device = {1, "red:0"};
  const Function with = parse(kText), without = parse(kText);
  run(*with.graph, {&on_device});
  run(*without.graph, {&kRed});
  const auto& nodes = with.graph->nodes();
  const Node *first = nodes.front().get(), *last = nodes.back().get();
  ASSERT_EQ(first->results().size(), 2u);
  EXPECT_EQ(with.graph->delegates[0]->device.name, "red:0");
  EXPECT_EQ(with.graph->delegates[0]->output_origins.size(), 2u);
  EXPECT_EQ(last->tensors("inputs"), (Values{std::next(nodes.begin())->get()->result(), first->result(1)}));
  EXPECT_EQ(with.graph->outputs[1].value, first->result(0));
  EXPECT_EQ(without.graph->nodes().front()->results().size(), 1u);
  EXPECT_TRUE(without.graph->delegates[0]->device.is_host());
}

TEST(Partition, IndependentChainsShareTheirDelegates) {
  const Function f = parse(R"(graph f(%x: f32[2], %y: f32[3]) {
    %a = aten.relu(%x)
    %b = aten.exp(%a)
    %c = aten.relu(%b)
    %d = aten.relu(%y)
    %e = aten.exp(%d)
    %g = aten.relu(%e)
    return %c, %g
  })");
  EXPECT_EQ(run(*f.graph, {&kRed}).num_delegates, 2u);
  EXPECT_EQ(ops(*f.graph), (Names{kCallDelegate, "aten.exp.default", "aten.exp.default", kCallDelegate}));
}

// One chain may start with red, the other with what red does not take.
TEST(Partition, ChainsOutOfStepShareTheirDelegates) {
  const Function f = parse(R"(graph f(%x: f32[2], %y: f32[3]) {
    %a = aten.relu(%x)
    %b = aten.exp(%a)
    %c = aten.relu(%b)
    %d = aten.exp(%y)
    %e = aten.relu(%d)
    %g = aten.exp(%e)
    return %c, %g
  })");
  EXPECT_EQ(run(*f.graph, {&kRed}).num_delegates, 2u);
}

TEST(Partition, APartGoesWhereItsReadersAre) {
  const Function f = parse(R"(graph f(%x: f32[2], %y: f32[2]) {
    %early = aten.relu(%y)
    %a = aten.relu(%x)
    %b = aten.exp(%a)
    %c = aten.add.Tensor(%b, %early)
    return %c
  })");
  run(*f.graph, {&kRed});
  ASSERT_EQ(f.graph->delegates.size(), 2u);
  EXPECT_EQ(payload(*f.graph, 0).find("%early"), std::string::npos) << payload(*f.graph, 0);
  EXPECT_NE(payload(*f.graph, 1).find("%early: f32[2] = aten.relu(%y)"), std::string::npos) << payload(*f.graph, 1);
}

TEST(Partition, WhatIsNotWorthwhileStaysWithItsReason) {
  const Function f = parse(R"(graph f(%x: f32[2], %y: f32[2]) {
    %early = aten.relu(%y)
    %a = aten.relu(%x)
    %b = aten.exp(%a)
    %c = aten.add.Tensor(%b, %early)
    return %c
  })");
  const Target target = at_least_two();
  const PartitionReport report = run(*f.graph, {&target});
  EXPECT_EQ(report.num_delegates, 1u);
  ASSERT_EQ(report.nodes.size(), 4u);
  EXPECT_EQ(report.nodes[0].backend, "red");  // it moved to its reader
  EXPECT_EQ(report.nodes[1].backend, "");
  EXPECT_EQ(report.nodes[1].reason, "one node costs more than it saves");
  EXPECT_EQ(report.nodes[3].backend, "red");
}

// Red, to which a negated constant is a constant.
Target with_negated_constants() {
  Target target = kRed;
  target.partition.supports = [](const Node& node, const TargetContext&) {
    return only(node, {"aten.relu.default", "aten.add.Tensor", "aten.mul.Tensor", "aten.neg.default"});
  };
  target.partition.prepares_constant = [](const Node& node) {
    return node.is("aten.neg.default") && node.operands()[0]->is_constant();
  };
  return target;
}

TEST(Partition, WhatPreparesAConstantGoesIntoEachPartitionThatReadsIt) {
  const Function f = parse(R"(graph f(%x: f32[2]) {
    const %w: f32[2] = ...
    %n = aten.neg(%w)
    %a = aten.mul.Tensor(%x, %n)
    %b = aten.exp(%a)
    %c = aten.mul.Tensor(%b, %n)
    return %c
  })");
  const Target target = with_negated_constants();
  const PartitionReport report = run(*f.graph, {&target});
  ASSERT_EQ(f.graph->delegates.size(), 2u);
  for (const auto& delegate : f.graph->delegates) {
    const std::string text(delegate->payload.begin(), delegate->payload.end());
    EXPECT_NE(text.find("aten.neg"), std::string::npos) << text;
    EXPECT_EQ(delegate->num_nodes, 2u);
  }
  EXPECT_EQ(report.nodes[0].backend, "red");
  EXPECT_EQ(f.graph->num_nodes(), 4u) << "nobody outside reads it; the next pass drops it";
}

TEST(Partition, WhatPreparesAConstantForAnotherReaderStaysToo) {
  const Function f = parse(R"(graph f(%x: f32[2]) {
    const %w: f32[2] = ...
    %n = aten.neg(%w)
    %a = aten.mul.Tensor(%x, %n)
    %b = aten.exp(%n)
    return %a, %b
  })");
  const Target target = with_negated_constants();
  const PartitionReport report = run(*f.graph, {&target});
  EXPECT_EQ(report.num_delegates, 1u);
  EXPECT_EQ(report.nodes[0].backend, "");
  EXPECT_EQ(report.nodes[0].reason, "it is read outside delegates");
}

TEST(Partition, TheSecondBackendTakesWhatTheFirstLeaves) {
  const Function f = parse(R"(graph f(%x: f32[2]) {
    %a = aten.relu(%x)
    %b = aten.exp(%a)
    %c = aten.mul.Tensor(%b, %b)
    %d = aten.neg(%c)
    return %d
  })");
  const PartitionReport report = run(*f.graph, {&kRed, &kBlue});
  ASSERT_EQ(f.graph->delegates.size(), 3u);
  EXPECT_EQ(f.graph->delegates[0]->id, "RedBackend");
  EXPECT_EQ(f.graph->delegates[1]->id, "RedBackend");
  EXPECT_EQ(f.graph->delegates[2]->id, "BlueBackend");
  EXPECT_EQ(report.nodes[3].reason, "an operator without rule");  // both say so
}

TEST(Partition, TheSecondBackendTakesWhatTheFirstFindsTooSmall) {
  const Function f = parse(R"(graph f(%x: f32[2]) {
    %a = aten.neg(%x)
    %b = aten.mul.Tensor(%a, %a)
    return %b
  })");
  const Target red = at_least_two();
  const PartitionReport report = run(*f.graph, {&red, &kBlue});
  EXPECT_EQ(report.nodes[1].backend, "blue");
  EXPECT_EQ(f.graph->delegates.at(0)->id, "BlueBackend");
}

// red -> blue and blue -> red, apart: one group of each colour would form a cycle.
TEST(Partition, TwoBackendsDoNotWaitForEachOther) {
  const Function f = parse(R"(graph f(%x: f32[2], %y: f32[2]) {
    %a = aten.relu(%x)
    %b = aten.exp(%a)
    %c = aten.exp(%y)
    %d = aten.relu(%c)
    return %b, %d
  })");
  const PartitionReport report = run(*f.graph, {&kRed, &kBlue});
  EXPECT_EQ(report.num_outside(), 0u);
  EXPECT_EQ(report.num_delegates, 3u);
}

TEST(Partition, BodiesOfControlFlowArePartitionedByThemselves) {
  const Function f = parse(R"(graph f(%p: bool[], %x: f32[2]) {
    %a = aten.relu(%x)
    %r: f32[2] = higher_order.cond(%p, [%a]) graph (%u: f32[2]) {
      %s: f32[2] = aten.relu(%u)
      %t: f32[2] = aten.relu(%s)
      return %t
    } graph (%v: f32[2]) {
      return %v
    }
    return %r
  })");
  const PartitionReport report = run(*f.graph, {&kRed});
  EXPECT_EQ(report.num_delegates, 2u);
  EXPECT_EQ(f.graph->delegates.size(), 1u);
  const Node& cond = *f.graph->nodes().back();
  ASSERT_EQ(cond.graphs.size(), 2u);
  EXPECT_EQ(cond.graphs[0]->delegates.size(), 1u);
  EXPECT_EQ(ops(*cond.graphs[0]), Names{kCallDelegate});
  EXPECT_EQ(cond.graphs[1]->delegates.size(), 0u);
}

TEST(Partition, BuffersAreOrdinaryInputsAndTheirUpdatesOrdinaryOutputs) {
  const Function f = parse(R"(graph f(%x: f32[2]) {
    state %s: f32[2] "s" = [1.0, 2.0]
    %n = aten.add.Tensor(%s, %x)
    update %s = %n
    return %x
  })");
  run(*f.graph, {&kRed});
  EXPECT_EQ(to_text(*f.graph, "f"), R"(graph f(%x: f32[2]) {
  state %s: f32[2] "s" = [1.0, 2.0]
  delegate "RedBackend" 87
  %n: f32[2] = wick.call_delegate([%s, %x], 0)
  update %s = %n
  return %x
}
)");
}

TEST(Partition, SizesThatAreSymbolsKeepTheirTypesAndRanges) {
  const Function f = parse(R"(graph f(%x: f32[s0, 3]) {
    range s0: 2..8
    %a = aten.relu(%x)
    return %a
  })");
  run(*f.graph, {&kRed});
  EXPECT_EQ(payload(*f.graph, 0), R"(graph p(%x: f32[s0, 3]) {
  range s0: 2..8
  %a: f32[s0, 3] = aten.relu(%x)
  return %a
}
)");
}

TEST(Partition, AssertionsRunInTheProgramAndAreNotOutside) {
  const Function f = parse(R"(graph f(%p: bool[], %x: f32[2]) {
    aten._assert_async.msg(%p, "never")
    %a = aten.relu(%x)
    return %a
  })");
  const PartitionReport report = run(*f.graph, {&kRed});
  EXPECT_EQ(report.num_outside(), 0u);
  EXPECT_EQ(report.nodes.at(0).backend, "executor");
}

// Red, and nodes with graphs, and random numbers.
Target with_everything() {
  Target target = kRed;
  target.partition.draws_random = true;
  target.partition.takes_graphs = true;
  target.partition.supports = [](const Node& node, const TargetContext&) {
    return only(node, {"aten.relu.default", "aten.add.Tensor", "aten.mul.Tensor", "aten.rand.default",
                       "higher_order.cond.default"});
  };
  return target;
}

constexpr char kBranches[] = R"(graph f(%p: bool[], %x: f32[2]) {
    %a = aten.relu(%x)
    %r: f32[2] = higher_order.cond(%p, [%a]) graph (%u: f32[2]) {
      %v = aten.mul.Tensor(%u, %u)
      return %v
    } graph (%u: f32[2]) {
      %v = aten.WHAT(%u)
      return %v
    }
    %y = aten.add.Tensor(%r, %a)
    return %y
  })";

std::string branches(const std::string& what) {
  std::string text = kBranches;
  return text.replace(text.find("WHAT"), 4, what);
}

TEST(Partition, ANodeWithGraphsIsTakenWithAllNodesInside) {
  const Target target = with_everything();
  const Function f = parse(branches("relu"));
  const PartitionReport report = run(*f.graph, {&target});
  EXPECT_EQ(report.num_delegates, 1u);
  EXPECT_EQ(ops(*f.graph), Names{kCallDelegate});
  EXPECT_EQ(payload(*f.graph, 0), R"(graph p(%x: f32[2], %p: bool[]) {
  %a: f32[2] = aten.relu(%x)
  %r: f32[2] = higher_order.cond(%p, [%a]) graph (%v_1: f32[2]) {
      %v_2: f32[2] = aten.mul.Tensor(%v_1, %v_1)
      return %v_2
    } graph (%v_1: f32[2]) {
      %v_2: f32[2] = aten.relu(%v_1)
      return %v_2
    }
  %y: f32[2] = aten.add.Tensor(%r, %a)
  return %y
}
)");
  // The nodes inside have rows of their own, before the others.
  ASSERT_EQ(report.nodes.size(), 5u);
  EXPECT_EQ(report.nodes[0].op, "aten.mul.Tensor");
  EXPECT_EQ(report.nodes[1].op, "aten.relu.default");
  for (const NodePlace& place : report.nodes) EXPECT_EQ(place.backend, "red") << place.op;
}

TEST(Partition, ANodeWithGraphsStaysOutsideWithANodeInsideThatDoes) {
  const Target target = with_everything();
  const Function f = parse(branches("exp"));
  const PartitionReport report = run(*f.graph, {&target});
  EXPECT_EQ(ops(*f.graph), (Names{kCallDelegate, "higher_order.cond.default", kCallDelegate}));
  std::string reason;
  for (const NodePlace& place : report.nodes) {
    if (place.op == "higher_order.cond.default") reason = place.reason;
  }
  EXPECT_EQ(reason, "its graph has aten.exp.default, which stays outside: an operator without rule");
  // The other branch has a delegate of its own.
  for (const auto& node : f.graph->nodes()) {
    if (!node->graphs.empty()) {
      EXPECT_EQ(ops(*node->graphs[0]), Names{kCallDelegate});
    }
  }
}

TEST(Partition, ATargetThatDrawsRandomNumbersDrawsThemInTheirOrder) {
  const Target target = with_everything();
  const Function f = parse(R"(graph f(%x: f32[2]) {
    %a: f32[2] = aten.rand([2], f32)
    %b: f64[2] = aten.rand([2], f64)
    %c: f32[2] = aten.rand([2], f32)
    %y = aten.add.Tensor(%a, %c)
    return %y, %b
  })");
  const PartitionReport report = run(*f.graph, {&target});
  // The draw outside comes between the two.
  EXPECT_EQ(report.num_delegates, 2u);
  EXPECT_EQ(ops(*f.graph), (Names{kCallDelegate, "aten.rand.default", kCallDelegate}));
  for (const auto& delegate : f.graph->delegates) EXPECT_TRUE(delegate->draws_random);
  const Function plain = parse("graph f(%x: f32[2]) { %a = aten.relu(%x) return %a }");
  run(*plain.graph, {&target});
  EXPECT_FALSE(plain.graph->delegates[0]->draws_random);
}

TEST(Partition, OnlyTheNodesThatMakeAGroupUnprofitableStayOutside) {
  Target target = kRed;
  target.partition.profitable = [](const std::vector<const Node*>& nodes, const TargetContext&) {
    Verdict verdict = Verdict::no("products cost too much");
    for (const Node* node : nodes) {
      if (node->is("aten.mul.Tensor")) verdict.because_of.push_back(node);
    }
    return verdict.because_of.empty() ? Verdict::yes() : verdict;
  };
  const Function f = parse(R"(graph f(%x: f32[2]) {
    %a = aten.relu(%x)
    %b = aten.add.Tensor(%a, %x)
    %c = aten.mul.Tensor(%b, %x)
    return %c
  })");
  const PartitionReport report = run(*f.graph, {&target});
  EXPECT_EQ(ops(*f.graph), (Names{kCallDelegate, "aten.mul.Tensor"}));
  EXPECT_EQ(report.nodes.back().reason, "products cost too much");
}

// The size of %z is known only after the item was read, though no operand says so.
TEST(Partition, ANodeStaysBehindTheOneThatMakesItsSizeKnown) {
  const Function f = parse(R"(graph f(%x: f32[8]) {
    range u0: 1..8
    %a: f32[8] = aten.relu(%x)
    %m: i64[] = aten.argmax(%a)
    %k: int(u0) = aten._local_scalar_dense(%m)
    %z: f32[u0] = aten.full([u0], 1.0)
    %b: f32[u0] = aten.relu(%z)
    return %b
  })");
  EXPECT_EQ(run(*f.graph, {&kRed}).num_delegates, 2u);
  EXPECT_EQ(ops(*f.graph), (Names{kCallDelegate, "aten.argmax.default", "aten._local_scalar_dense.default",
                                  "aten.full.default", kCallDelegate}));
}

TEST(Partition, TheCallIsPlacedInTheModuleThatAllItsNodesShare) {
  const Function f = parse(R"(graph f(%x: f32[2]) {
    %a = aten.relu(%x)  @ "net.layer.1.norm" "m.py:1"
    %b = aten.relu(%a)  @ "net.layer.10" "m.py:2"
    return %b
  })");
  run(*f.graph, {&kRed});
  const Node& call = *f.graph->nodes().front();
  ASSERT_NE(call.origin, nullptr);
  EXPECT_EQ(call.origin->module, "net.layer");
  ASSERT_EQ(f.graph->delegates[0]->origins.size(), 2u);
  EXPECT_EQ(f.graph->delegates[0]->origins[1]->source, "m.py:2");
}

TEST(Partition, AnErrorOfLoweringNamesTheTarget) {
  const Function f = parse("graph f(%x: f32[2]) { %a = aten.relu(%x) return %a }");
  Target target = kRed;
  target.delegate.lower = [](const Graph&, const TargetContext&) -> Result<Delegate> {
    return Diag(Code::internal, "cannot write it");
  };
  const auto report = partition(*f.graph, target, {}, ask_all(*f.graph, target, {}));
  ASSERT_FALSE(report.ok());
  EXPECT_NE(render(report.diag()).find("while lowering a partition for red"), std::string::npos);
}

TEST(Partition, ATargetWithoutLowerIsNamed) {
  const Function f = parse("graph f(%x: f32[2]) { %a = aten.relu(%x) return %a }");
  Target target = kRed;
  target.delegate.lower = nullptr;
  const auto report = partition(*f.graph, target, {}, ask_all(*f.graph, target, {}));
  ASSERT_FALSE(report.ok());
  EXPECT_NE(render(report.diag()).find("red has the form delegate, but no lower"), std::string::npos);
}

TEST(Partition, PassesLeaveDelegatesAlone) {
  const Function f = parse(R"(graph f(%x: f32[2]) {
    const %c: f32[2] = [1.0, 2.0]
    %a = aten.relu(%c)
    %b = aten.exp(%a)
    %d = aten.add.Tensor(%b, %x)
    return %d
  })");
  run(*f.graph, {&kRed});
  ASSERT_TRUE(run_pipeline(*f.graph, {}).ok());
  EXPECT_EQ(ops(*f.graph), (Names{kCallDelegate, "aten.exp.default", kCallDelegate}));
}

// --- grouping ---

// Random graphs: groups are one colour, run in the order of their numbers with everything else in between, and are as
// many as the longest chain of changes asks for.
TEST(Group, GroupsOfRandomGraphsAreConvexAndFewest) {
  uint32_t state = 1;
  const auto next = [&](uint32_t below) { return (state = state * 1664525u + 1013904223u) / 65536 % below; };
  for (int round = 0; round < 300; ++round) {
    Dependences graph;
    std::vector<bool> wanted;
    const uint32_t count = 1 + next(40);
    for (uint32_t i = 0; i < count; ++i) {
      auto& before = graph.before.emplace_back();
      for (uint32_t k = next(3); k > 0 && i > 0; --k) before.push_back(next(i));
      wanted.push_back(next(2) == 0);
    }
    const std::vector<uint32_t> alone(count, kNoGroup);
    const std::vector<uint32_t> group = group_by_level(graph, alone, wanted);
    EXPECT_EQ(order_units(graph, group).size(), count);  // throws on a cycle
    std::vector<uint32_t> chain(count, 0);
    uint32_t longest = 0;
    std::set<uint32_t> used;
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(group[i] == kNoGroup, !wanted[i]);
      for (uint32_t b : graph.before[i]) chain[i] = std::max(chain[i], chain[b] + (wanted[b] && !wanted[i] ? 1 : 0));
      if (!wanted[i]) continue;
      longest = std::max(longest, chain[i] + 1);
      used.insert(group[i]);
      EXPECT_GE(group[i], chain[i]);
    }
    EXPECT_EQ(used.size(), longest);
    EXPECT_EQ(used.empty() ? 0 : *used.rbegin() + 1, longest);
  }
}

// Graphs in shapes that make careless algorithms slow.
std::string long_graph(const std::string& shape, int num_nodes) {
  std::string body;
  for (int i = 0; i < num_nodes; ++i) {
    const std::string x = std::to_string(i), y = std::to_string(i + 1);
    if (shape == "alternating") body += "%x" + y + " = aten." + (i % 2 ? "relu" : "neg") + "(%x" + x + ")\n";
    if (shape == "residual")
      body += "%x" + y + " = aten." + (i % 50 ? "add.Tensor(%x" + x + ", %x0)" : "neg(%x" + x + ")") + "\n";
    if (shape == "independent") body += "%x" + y + " = aten." + (i % 2 ? "relu" : "neg") + "(%x0)\n";
  }
  return "graph f(%x0: f32[4]) {\n" + body + "return %x" + std::to_string(num_nodes) + "\n}";
}

// Processor time of this thread, in seconds, for a graph of that shape; the least of three.
double seconds_to_partition(const std::string& shape, int num_nodes) {
  const size_t expected = static_cast<size_t>(shape == "alternating" ? num_nodes / 2
                                              : shape == "residual"  ? num_nodes / 50
                                                                     : 1);
  double least = INFINITY;
  for (int round = 0; round < 3; ++round) {
    const Function f = parse(long_graph(shape, num_nodes));
    EXPECT_EQ(f.graph->num_nodes(), static_cast<size_t>(num_nodes));
    const double start = wick::testing::processor_seconds();
    const auto report = partition(*f.graph, kRed, {}, ask_all(*f.graph, kRed, {}));
    least = std::min(least, wick::testing::processor_seconds() - start);
    EXPECT_TRUE(report.ok() && report->num_delegates == expected);
  }
  return least;
}

// Eight times the nodes: 64 times the time, if each looked at all others.
TEST(Partition, TakesTimeThatGrowsWithTheGraphOnly) {
  for (const char* shape : {"alternating", "residual", "independent"}) {
    SCOPED_TRACE(shape);
    const double few = seconds_to_partition(shape, 2'000), many = seconds_to_partition(shape, 16'000);
    EXPECT_LT(many, 32 * few);
  }
}

}  // namespace
}  // namespace wick::compiler::partition_test
