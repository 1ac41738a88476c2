#include <algorithm>
#include <unordered_set>

#include "backends/cortex_m/compile/all_elements.h"
#include "backends/cortex_m/compile/line_tables.h"
#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/passes/passes.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/passes/rewrite.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::PipelineOptions;
using compiler::Result;
using compiler::Value;

namespace {

constexpr size_t kMaxNodes = 64;  // in one function

// Whether the node has one result, whose element i depends only on elements i of the operands.
bool is_pointwise(const Node& node) {
  if (node.results().size() != 1 || !is_known_but_batch(*node.result()) || !has_known_scalars(node)) return false;
  if (node.is("wick.convert.default"))
    return node.result()->is_quantized() ? has_elements(*node.result()) : node.result()->dtype() == DType::f32;
  return node.op->has(compiler::kPointwise) && !node.op->has(compiler::kElements);
}

// A function of one value, the root: the nodes that together compute the result of the last one, from the last node
// back to the root.
struct Function {
  Value* root = nullptr;
  std::vector<Node*> nodes;              // last one first
  std::unordered_set<const Node*> gone;  // nodes that become dead code: the last one, and those without other readers
  bool in_floats = false;                // whether some operand inside is not quantized
};

// Collects the nodes between `last` and `root`. Returns false if they read anything but single numbers and the root, or
// a node is not pointwise. A root of int16 allows no quantization in between: interpolation between the entries of a
// table would have to follow its steps.
bool collect(Node& last, Value* root, Function& function) {
  function = {root, {&last}, {&last}, false};
  const bool has_each_element = root && is_int8(*root);
  std::unordered_set<const Node*> seen = {&last};
  for (size_t i = 0; i < function.nodes.size(); ++i) {
    for (const Value* operand : function.nodes[i]->operands()) {
      if (operand == root || (operand->type.is_tensor() && is_number(*operand))) continue;
      Node* producer = operand->producer;
      const bool goes_on = producer && is_pointwise(*producer) && operand->sizes() == last.result()->sizes() &&
                           (!operand->is_quantized() || (has_each_element && has_elements(*operand)));
      if (!goes_on) return false;
      function.in_floats |= !operand->is_quantized();
      if (seen.insert(producer).second) function.nodes.push_back(producer);
      if (function.nodes.size() > kMaxNodes) return false;
    }
  }
  return true;
}

// Finds the nodes that become dead code: all their readers do.
void find_gone(Function& function) {
  const auto is_gone = [&](const Node* user) { return function.gone.count(user) > 0; };
  for (bool again = true; again;) {
    again = false;
    for (const Node* node : function.nodes) {
      const std::vector<Node*>& users = node->result()->users();
      const bool read_inside =
          users.size() == node->result()->num_uses() && std::all_of(users.begin(), users.end(), is_gone);
      if (read_inside && function.gone.insert(node).second) again = true;
    }
  }
}

// The values that pointwise nodes lead back to and that a table can read: int8, or int16 for an int16 result; nearest
// first.
std::vector<Value*> possible_roots(const Node& last) {
  std::vector<Value*> roots, open = {last.result()};
  std::unordered_set<const Value*> seen = {last.result()};
  for (size_t i = 0; i < open.size() && i < kMaxNodes; ++i) {
    const Node* producer = open[i]->producer;
    if (!producer || !is_pointwise(*producer)) continue;
    for (Value* operand : producer->operands()) {
      if (!operand->type.is_tensor() || operand->is_constant() || !seen.insert(operand).second) continue;
      const bool has_table = is_int8(*operand) || (is_int16(*operand) && is_int16(*last.result()));
      if (has_table && operand->sizes() == last.result()->sizes()) roots.push_back(operand);
      open.push_back(operand);
    }
  }
  return roots;
}

// The function that leaves the fewest nodes; if there are several, the one with the nearest root.
std::optional<Function> function_of(Node& last) {
  std::optional<Function> best;
  for (Value* root : possible_roots(last)) {
    Function function;
    if (!collect(last, root, function)) continue;
    find_gone(function);
    if (!best || function.gone.size() > best->gone.size()) best = std::move(function);
  }
  const bool is_profitable = best && best->nodes.size() > 1 && (best->gone.size() > 1 || best->in_floats);
  return is_profitable ? best : std::nullopt;
}

// The nodes in the order in which they run.
std::vector<const Node*> in_order(const Function& function) {
  std::vector<const Node*> order;
  std::unordered_set<const Node*> added;
  while (order.size() < function.nodes.size()) {
    for (const Node* node : function.nodes) {
      const std::vector<Value*> operands = node->operands();
      const bool ready = std::all_of(operands.begin(), operands.end(), [&](const Value* operand) {
        const bool inside = operand != function.root && std::find(function.nodes.begin(), function.nodes.end(),
                                                                  operand->producer) != function.nodes.end();
        return !inside || added.count(operand->producer) > 0;
      });
      if (ready && added.insert(node).second) order.push_back(node);
    }
  }
  return order;
}

std::vector<double> numbers_of(const Function& function) {
  OnAllElements all(*function.root);
  for (const Node* node : in_order(function)) all.add(*node);
  return all.results();
}

Value* as_int16_steps(Graph& graph, Value* x, Node& before) {
  Node* node = graph.add_node(compiler::op("wick.convert.default"), {x}, 1, &before, x->name);
  node->origin = before.origin;
  node->result()->type = compiler::Type::of(DType::i16, x->sizes());
  node->result()->type.tensor = as_int16(x->tensor(), spread(affine(*x), kStepsOfInt8));
  return node->result();
}

// Builds the function's table lookup before `last`; null: no table is accurate enough.
Value* looked_up(Graph& graph, const Function& function, Node& last) {
  Builder b(graph, &last);
  const std::vector<double> all = numbers_of(function);
  const Affine q = affine(*last.result());
  const bool narrow = is_int8(*function.root);
  if (is_int16(*last.result()) && narrow && all.size() == kInt8Elements)
    return lookup_int8(b, as_int16_steps(graph, function.root, last), affine(*function.root).zero, all, q);
  if (is_int16(*last.result())) return narrow ? nullptr : lookup_int16(b, function.root, all, q);
  if (all.size() != kInt8Elements) return nullptr;
  std::vector<int8_t> table;
  for (const double number : all) table.push_back(static_cast<int8_t>(quantize(number, q)));
  return b.call("wick.lookup", {function.root, constant(b, {int64_t{kInt8Elements}}, std::move(table), "lut")});
}

// Replaces the function that ends with `last` by a table. Returns the nodes that become dead code.
std::unordered_set<const Node*> merge(Graph& graph, Node& last, const PipelineOptions& options) {
  if (!is_pointwise(last) || !has_elements(*last.result())) return {};
  auto function = function_of(last);
  if (!function) return {};
  Value* y = looked_up(graph, *function, last);
  if (!y) return {};
  if (!is_int8(*last.result()) && !(options.takes && options.takes(*y->producer))) {
    compiler::erase_unread(graph, {y->producer});
    return {};
  }
  for (auto node = function->nodes.rbegin(); node != function->nodes.rend(); ++node) {
    if (function->gone.count(*node)) compiler::add_origins(*y->producer, **node);
  }
  graph.replace(last.result(), y);
  compiler::erase_unread(graph, function->nodes);
  return std::move(function->gone);
}

}  // namespace

// Pointwise operators from one int8 value to another become one table of 256 elements, however many they are. For int16
// results the table is interpolated; if the root is int8, it has an entry for each element.
//   before: a = mul(x: i8 q, 0.5); b = tanh(a); c = sigmoid(x); y: i8 q(s, p) = mul(b, c)
//   after:  y: i8 q(s, p) = lookup(x: i8 q, [256 elements])
// Requires: quantization is in types. Ensures: no pointwise node with an int8 result reads a value in floats that
// pointwise nodes compute from a single int8 value; the same for int16 where a table is accurate enough. Keeps: every
// int8 element, as the table holds what the operators compute for all 256 elements, with each quantization in between;
// every int16 element to within one step. Nodes that have other readers stay.
Result<Changed> merge_tables(Graph& graph, const PipelineOptions& options) {
  const compiler::SymScope scope(graph.ranges);  // for sizes that rules leave open
  return compiler::for_each_graph(graph, [&](Graph& g) {
    std::unordered_set<const Node*> gone;
    std::vector<Node*> nodes = g.node_list();
    std::reverse(nodes.begin(), nodes.end());
    for (Node* node : nodes) {
      if (!gone.count(node)) gone.merge(merge(g, *node, options));
    }
    return Changed(!gone.empty());
  });
}

}  // namespace wick::cortex_m
