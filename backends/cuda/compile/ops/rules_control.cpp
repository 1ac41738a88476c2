// Conditions and loops: nodes that contain graphs, whose nodes have rules of their own.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/compile/ops/op_rule.h"
#include "backends/cuda/payload/plan.h"

namespace wick::cuda {
namespace {

using compiler::Graph;
using compiler::Values;
using compiler::Verdict;

void lower_cond(Lowering& l, const Node& node) { l.lower_cond(node); }
void lower_while(Lowering& l, const Node& node) { l.lower_while(node); }
void lower_scan(Lowering& l, const Node& node) { l.lower_scan(node, node.tensors("init").size()); }
void lower_map(Lowering& l, const Node& node) { l.lower_scan(node, 0); }

bool same_type(const Value& a, const Value& b) { return a.dtype() == b.dtype() && a.sizes() == b.sizes(); }

// The depth to which conditions and loops are nested, including the node itself.
size_t depth_of(const Node& node) {
  size_t deepest = 0;
  for (const auto& graph : node.graphs) {
    for (const auto& inner : graph->nodes()) {
      if (!inner->graphs.empty()) deepest = std::max(deepest, depth_of(*inner));
    }
  }
  return deepest + 1;
}

// Why the backend cannot take a graph inside a node, with these operands as its inputs; "": it can.
std::string refuse_graph(const Node& node, const Graph& graph, const Values& operands) {
  if (depth_of(node) > kMaxNesting) return "conditions and loops lie inside each other more than 16 deep";
  if (!graph.updates.empty() || !graph.states().empty()) return "a graph inside it changes a state";
  if (graph.inputs.size() != operands.size()) return "a graph inside it has another number of inputs";
  for (size_t i = 0; i < operands.size(); ++i) {
    const compiler::GraphInput& input = graph.inputs[i];
    if (input.kind != compiler::GraphInput::Kind::value || !input.value || !input.value->type.is_tensor())
      return "an input of a graph inside it is no tensor";
    if (operands[i] && !same_type(*input.value, *operands[i])) return kOnlyAtRunTime;
  }
  for (const compiler::GraphOutput& output : graph.outputs) {
    if (output.kind != compiler::GraphOutput::Kind::value || !output.value->type.is_tensor())
      return "a graph inside it gives a number";
  }
  for (const auto& inner : graph.nodes()) {
    if (inner->op->has(compiler::kRandom)) return "how many random numbers it draws depends on data";
  }
  return "";
}

bool is_condition(const Value& value) {
  return value.type.is_tensor() && value.dtype() == DType::boolean && numel(value.sizes()).is(1);
}

Verdict supports_cond(const Node& node, const compiler::TargetContext&) {
  const Value* condition = node.tensor_or_null(0);
  if (!condition || !is_condition(*condition)) return Verdict::no("its condition is no tensor of one bool");
  for (const auto& graph : node.graphs) {
    if (std::string reason = refuse_graph(node, *graph, node.tensors("operands")); !reason.empty())
      return Verdict::no(std::move(reason));
    for (size_t i = 0; i < node.results().size(); ++i) {
      if (!same_type(*graph->outputs[i].value, *node.result(i))) return Verdict::no(kOnlyAtRunTime);
    }
  }
  return Verdict::yes();
}

// The first outputs of a body become its first inputs, so they must have the same types.
std::string refuse_carried(const Graph& body, const Node& node, const Values& initial) {
  for (size_t i = 0; i < initial.size(); ++i) {
    if (!same_type(*initial[i], *node.result(i)) || !same_type(*body.outputs[i].value, *node.result(i)))
      return kOnlyAtRunTime;
  }
  return "";
}

Verdict supports_while(const Node& node, const compiler::TargetContext&) {
  const Values initial = node.tensors("carried_inputs"), more = node.tensors("additional_inputs");
  Values all = initial;
  all.insert(all.end(), more.begin(), more.end());
  for (const auto& graph : node.graphs) {
    if (std::string reason = refuse_graph(node, *graph, all); !reason.empty()) return Verdict::no(std::move(reason));
  }
  const Graph& condition = *node.graphs[0];
  if (condition.outputs.size() != 1 || !is_condition(*condition.outputs[0].value))
    return Verdict::no("its condition is no tensor of one bool");
  std::string reason = refuse_carried(*node.graphs[1], node, initial);
  return reason.empty() ? Verdict::yes() : Verdict::no(std::move(reason));
}

Verdict supports_rounds(const Node& node, const Values& initial) {
  const Values xs = node.tensors("xs"), more = node.tensors("additional_inputs");
  const Graph& body = *node.graphs[0];
  Values all = initial;
  all.insert(all.end(), xs.size(), nullptr);
  all.insert(all.end(), more.begin(), more.end());
  std::string reason = refuse_graph(node, body, all);
  if (reason.empty()) reason = refuse_carried(body, node, initial);
  if (!reason.empty()) return Verdict::no(std::move(reason));
  const Sym rounds = xs[0]->sizes()[0];
  // Whether `part` can be an element of `whole` along dimension 0.
  const auto is_part = [&](const Value& part, const Value& whole) {
    Sizes sizes = part.sizes();
    sizes.insert(sizes.begin(), rounds);
    return part.dtype() == whole.dtype() && sizes == whole.sizes();
  };
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!is_part(*body.inputs[initial.size() + i].value, *xs[i])) return Verdict::no(kOnlyAtRunTime);
  }
  for (size_t i = initial.size(); i < node.results().size(); ++i) {
    if (!is_part(*body.outputs[i].value, *node.result(i))) return Verdict::no(kOnlyAtRunTime);
  }
  return Verdict::yes();
}
Verdict supports_scan(const Node& node, const compiler::TargetContext&) {
  return supports_rounds(node, node.tensors("init"));
}
Verdict supports_map(const Node& node, const compiler::TargetContext&) { return supports_rounds(node, {}); }

constexpr OpRule kControlRows[] = {
    {"higher_order.cond.default", lower_cond, supports_cond},
    {"higher_order.while_loop.default", lower_while, supports_while},
    {"higher_order.scan.default", lower_scan, supports_scan},
    {"higher_order.map_impl.default", lower_map, supports_map},
};

}  // namespace

const Span<const OpRule> kControlRules{kControlRows};

}  // namespace wick::cuda
