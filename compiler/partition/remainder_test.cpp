#include "compiler/partition/remainder.h"

#include <gtest/gtest.h>

#include <functional>

#include "compiler/ir/builder.h"
#include "compiler/ir/decompose.h"
#include "compiler/ir/text/text.h"
#include "compiler/passes/pipeline.h"

namespace wick::compiler::remainder_test {
namespace {

Function parse(const std::string& text) {
  auto function = parse_graph(text);
  if (function.ok()) return std::move(*function);
  ADD_FAILURE() << render(function.diag()) << text;
  return {"", std::make_unique<Graph>(), "", "", {}};
}

// Takes relu, add, mul and linear; the payload is one byte.
const Target kTarget = {
    .name = "red",
    .partition = {.supports =
                      [](const Node& node, const TargetContext&) {
                        const bool known = node.is("aten.relu.default") || node.is("aten.add.Tensor") ||
                                           node.is("aten.mul.Tensor") || node.is("aten.linear.default");
                        return known ? Verdict::yes() : Verdict::no("an operator without rule");
                      }},
    .delegate = {.id = "RedBackend",
                 .lower = [](const Graph&, const TargetContext&) -> Result<Delegate> {
                   Delegate delegate;
                   delegate.id = "RedBackend";
                   delegate.payload = {1};
                   return delegate;
                 }},
};

using Prepare = std::function<void(Graph& graph)>;

// The graph after the target has prepared a copy of it and taken its part; "" if the copy has to be kept.
std::string put_back(const std::string& text, const Prepare& prepare) {
  const Function f = parse(text);
  OriginMap sources;
  const std::unique_ptr<Graph> copy = clone(*f.graph, sources);
  prepare(*copy);
  const auto report = partition(*copy, kTarget, {}, ask_all(*copy, kTarget, {}));
  EXPECT_TRUE(report.ok()) << render(report.diag());
  if (!report.ok() || !put_back(*f.graph, *copy, sources, report->taken)) return "";
  const Status valid = verify(*f.graph);
  EXPECT_TRUE(valid.ok()) << (valid.ok() ? "" : render(valid.diag())) << to_text(*f.graph, "g");
  EXPECT_TRUE(run_pass("dead_code", *f.graph, {}).ok());  // as the next run of the pipeline does
  return to_text(*f.graph, "f");
}

Node* node_of(Graph& graph, std::string_view op) {
  for (const auto& node : graph.nodes()) {
    if (node->is(op)) return node.get();
  }
  ADD_FAILURE() << "no " << op;
  return nullptr;
}

// Replaces the first node of that operator.
Prepare rewriting(std::string_view op, const std::function<Value*(Builder& b, Node& node)>& rewrite) {
  return [=](Graph& graph) {
    Node* node = node_of(graph, op);
    Builder b(graph, node);
    graph.replace(node->result(), rewrite(b, *node));
    graph.erase(node);
  };
}
Value* operand(const Node& node) { return node.arg(size_t{0}).as<Value*>(); }

TEST(Remainder, OfAGraphThatIsTakenWholeIsACall) {
  EXPECT_EQ(put_back(R"(graph f(%x: f32[2]) {
    %a = aten.relu(%x)
    %b = aten.mul.Tensor(%a, %a)
    return %b
  })",
                     [](Graph&) {}),
            R"(graph f(%x: f32[2]) {
  delegate "RedBackend" 1
  %b: f32[2] = wick.call_delegate([%x], 0)
  return %b
}
)");
}

TEST(Remainder, IsTheOriginalWhereTheCopyWasRewritten) {
  // The copy computes exp as a power; nobody takes that.
  const auto as_power = rewriting("aten.exp.default", [](Builder& b, Node& node) {
    return b.call("aten.pow.Scalar", {2.718281828459045, operand(node)});
  });
  EXPECT_EQ(put_back(R"(graph f(%x: f32[2]) {
    %a = aten.relu(%x)
    %b = aten.exp(%a)
    %c = aten.add.Tensor(%b, %b)
    return %c
  })",
                     as_power),
            R"(graph f(%x: f32[2]) {
  delegate "RedBackend" 1
  delegate "RedBackend" 1
  %a: f32[2] = wick.call_delegate([%x], 0)
  %b: f32[2] = aten.exp(%a)
  %c: f32[2] = wick.call_delegate([%b], 1)
  return %c
}
)");
}

TEST(Remainder, NothingTakenIsNothingChanged) {
  const auto as_power = rewriting("aten.exp.default", [](Builder& b, Node& node) {
    return b.call("aten.pow.Scalar", {2.718281828459045, operand(node)});
  });
  const std::string text = R"(graph f(%x: f32[2]) {
  %b: f32[2] = aten.exp(%x)
  %c: f32[2] = aten.neg(%b)
  return %c
}
)";
  EXPECT_EQ(put_back(text, as_power), text);
}

TEST(Remainder, BringsWhatOnlyTheCopyComputes) {
  // relu(exp(x)) + 1 taken as relu(y) + 1, y a power of x: the target's part reads the power.
  const auto as_power = rewriting("aten.exp.default", [](Builder& b, Node& node) {
    Value* power = b.call("aten.pow.Scalar", {2.718281828459045, operand(node)});
    node.result()->forget();
    return power;
  });
  EXPECT_EQ(put_back(R"(graph f(%x: f32[2]) {
    %b = aten.exp(%x)
    %c = aten.relu(%b)
    return %c
  })",
                     as_power),
            R"(graph f(%x: f32[2]) {
  delegate "RedBackend" 1
  %pow: f32[2] = aten.pow.Scalar(2.718281828459045, %x)
  %c: f32[2] = wick.call_delegate([%pow], 0)
  return %c
}
)");
}

TEST(Remainder, ComputesNothingTwiceThatTheTargetKeepsToItself) {
  // In the copy, the node outside reads the doubled value; in the original, one that now lies inside the delegate.
  const auto doubled = rewriting("aten.exp.default", [](Builder& b, Node& node) {
    Value* sum = b.call("aten.add.Tensor", {operand(node), operand(node)});
    return b.call("aten.exp", {b.call("aten.mul.Scalar", {sum, 0.5})});
  });
  EXPECT_EQ(put_back(R"(graph f(%x: f32[2]) {
    %a = aten.relu(%x)
    %b = aten.exp(%a)
    return %b
  })",
                     doubled),
            R"(graph f(%x: f32[2]) {
  delegate "RedBackend" 1
  %add: f32[2] = wick.call_delegate([%x], 0)
  %mul: f32[2] = aten.mul.Scalar(%add, 0.5)
  %exp: f32[2] = aten.exp(%mul)
  return %exp
}
)");
}

TEST(Remainder, HasNoCycleWhereTheCopyMovedNodes) {
  // In the graph the slice reads the sum, in the copy the sum's part reads a slice.
  const auto move_slice = [](Graph& graph) {
    Node* slice = node_of(graph, "aten.slice.Tensor");
    Builder b(graph, slice);
    Node* neg = operand(*slice)->producer;
    Value* early = b.call("aten.neg", {b.slice(operand(*neg), 0, 0, 1)});
    graph.replace(slice->result(), early);
    graph.erase(slice);
  };
  EXPECT_EQ(put_back(R"(graph f(%x: f32[2]) {
    %a = aten.neg(%x)
    %s = aten.slice.Tensor(%a, 0, 0, 1)
    %b = aten.add.Tensor(%a, %s)
    return %b
  })",
                     move_slice),
            R"(graph f(%x: f32[2]) {
  delegate "RedBackend" 1
  %a: f32[2] = aten.neg(%x)
  %s: f32[1] = aten.slice.Tensor(%a, 0, 0, 1)
  %b: f32[2] = wick.call_delegate([%a, %s], 0)
  return %b
}
)");
}

TEST(Remainder, KeepsStateAndEffects) {
  const auto as_power = rewriting("aten.exp.default", [](Builder& b, Node& node) {
    return b.call("aten.pow.Scalar", {2.718281828459045, operand(node)});
  });
  EXPECT_EQ(put_back(R"(graph f(%p: bool[], %x: f32[2]) {
    state %s: f32[2] "s" = [1.0, 2.0]
    aten._assert_async.msg(%p, "never")
    %n = aten.add.Tensor(%s, %x)
    %e = aten.exp(%n)
    update %s = %e
    return %n
  })",
                     as_power),
            R"(graph f(%p: bool[], %x: f32[2]) {
  state %s: f32[2] "s" = [1.0, 2.0]
  delegate "RedBackend" 1
  aten._assert_async.msg(%p, "never")
  %n: f32[2] = wick.call_delegate([%s, %x], 0)
  %e: f32[2] = aten.exp(%n)
  update %s = %e
  return %n
}
)");
}

TEST(Remainder, KeepsEffectsThatTheCopyDecomposes) {
  const auto decomposed = [](Graph& graph) { EXPECT_TRUE(decompose(graph, nullptr).ok()); };
  EXPECT_EQ(put_back(R"(graph f(%x: f32[2, 2], %i: i32[]) {
    %y: f32[2, 2], %n: i32[] = aten.linalg_inv_ex(%x)
    aten._linalg_check_errors(%n, "inv", false)
    aten._linalg_check_errors(%i, "given", false)
    %r: f32[2, 2] = aten.relu(%y)
    return %r
  })",
                     decomposed),
            R"(graph f(%x: f32[2, 2], %i: i32[]) {
  delegate "RedBackend" 1
  %y: f32[2, 2], %n: i32[] = aten.linalg_inv_ex(%x)
  aten._linalg_check_errors(%n, "inv", false)
  aten._linalg_check_errors(%i, "given", false)
  %r: f32[2, 2] = wick.call_delegate([%y], 0)
  return %r
}
)");
}

TEST(Remainder, OfControlFlowIsThatOfItsGraphs) {
  const auto as_power = [](Graph& graph) {
    rewriting("aten.exp.default", [](Builder& b, Node& node) {
      return b.call("aten.pow.Scalar", {2.718281828459045, operand(node)});
    })(*node_of(graph, "higher_order.cond.default")->graphs[0]);
  };
  EXPECT_EQ(put_back(R"(graph f(%p: bool[], %x: f32[2]) {
    %a = aten.relu(%x)
    %r: f32[2] = higher_order.cond(%p, [%a]) graph (%u: f32[2]) {
      %s: f32[2] = aten.relu(%u)
      %t: f32[2] = aten.exp(%s)
      return %t
    } graph (%v: f32[2]) {
      return %v
    }
    %n = aten.neg(%r)
    return %n
  })",
                     as_power),
            R"(graph f(%p: bool[], %x: f32[2]) {
  delegate "RedBackend" 1
  %a: f32[2] = wick.call_delegate([%x], 0)
  %r: f32[2] = higher_order.cond(%p, [%a]) graph (%u: f32[2]) {
      delegate "RedBackend" 1
      %s: f32[2] = wick.call_delegate([%u], 0)
      %t: f32[2] = aten.exp(%s)
      return %t
    } graph (%v: f32[2]) {
      return %v
    }
  %n: f32[2] = aten.neg(%r)
  return %n
}
)");
}

TEST(Remainder, OfRandomDrawsIsNeverDrawnTwice) {
  const std::string text = R"(graph f(%x: f32[2]) {
    %r = aten.rand_like(%x)
    %a = aten.relu(%r)
    %b = aten.exp(%a)
    return %b
  })";
  EXPECT_EQ(put_back(text, [](Graph&) {}), R"(graph f(%x: f32[2]) {
  delegate "RedBackend" 1
  %r: f32[2] = aten.rand_like(%x)
  %a: f32[2] = wick.call_delegate([%r], 0)
  %b: f32[2] = aten.exp(%a)
  return %b
}
)");
  // The copy draws otherwise: its draw cannot come along, so the copy is kept.
  const auto otherwise = rewriting("aten.rand_like.default", [](Builder& b, Node& node) {
    node.result()->forget();
    return b.call("aten.rand", {Ints{2}, DType::f32});
  });
  EXPECT_EQ(put_back(text, otherwise), "");
}

}  // namespace
}  // namespace wick::compiler::remainder_test
