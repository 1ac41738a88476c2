#include "compiler/ir/decompose.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/ir/text/text.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

constexpr int kMaxDepth = 64;

bool wants_decomposition(const Node& node, const KeepFn& keep) {
  return node.op->decompose && !(node.op->infer && keep && keep(node));
}

// A dynamic size may be spelt differently after decomposition; dtype, rank and constant sizes must stay.
bool compatible(const Type& before, const Type& after) {
  if (before.kind != after.kind) return false;
  if (!before.is_tensor()) return true;
  if (before.tensor.dtype != after.tensor.dtype || before.tensor.rank() != after.tensor.rank()) return false;
  for (size_t i = 0; i < before.tensor.rank(); ++i) {
    const Sym &a = before.tensor.sizes[i], &b = after.tensor.sizes[i];
    if (a.is_const() && b.is_const() && !(a == b)) return false;
  }
  return true;
}

void check_count(const Node& node, const std::vector<Value*>& values) {
  if (values.size() == node.results().size()) return;
  const auto& returns = node.op->parsed->returns;
  if (std::find(returns.begin(), returns.end(), ReturnType::tensor_list) != returns.end()) {
    fail(Diag(Code::unsupported_model, fmt::format("{} gives {} results, the file records {}", node.op->name(),
                                                   values.size(), node.results().size()))
             .in(where_of(node)));
  }
  fail(Code::internal, fmt::format("the decomposition of {} has {} results, not {}", node.op->name(), values.size(),
                                   node.results().size()));
}

void check_types(const Node& node, const std::vector<Value*>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const bool unused = values[i] == nullptr && node.result(i)->num_uses() == 0;
    if (unused) continue;
    if (values[i] && compatible(node.result(i)->type, values[i]->type)) continue;
    fail(Diag(Code::unsupported_model,
              fmt::format("result {} of {} has a different type than the file records", i, node.op->name()))
             .in(where_of(node))
             .expected(to_text(node.result(i)->type), values[i] ? to_text(values[i]->type) : "nothing"));
  }
}

// Keeps each size that the file names by a symbol of its own: later nodes compute with that symbol.
void keep_size_names(const Type& before, Value* after, const std::vector<Node*>& made) {
  if (!before.is_tensor() || std::find(made.begin(), made.end(), after->producer) == made.end()) return;
  for (size_t i = 0; i < before.tensor.rank(); ++i) {
    Sym& size = after->type.tensor.sizes[i];
    if (!before.tensor.sizes[i].symbol_name().empty() && !size.is_const()) size = before.tensor.sizes[i];
  }
}

std::vector<Value*> expand(Graph& graph, Node* node, const KeepFn& keep, int depth, bool typed = true) {
  if (depth > kMaxDepth) fail(Code::internal, fmt::format("the decomposition of {} does not end", node->op->name()));
  Builder builder(graph, node);
  std::vector<Value*> values;
  try {
    values = node->op->decompose(builder, *node);
  } catch (Failure& failure) {
    if (failure.diag.where.module.empty() && failure.diag.where.source.empty()) failure.diag.where = where_of(*node);
    if (failure.diag.where.node.empty()) failure.diag.where.node = std::string(node->op->name());
    throw;
  }
  if (values.empty() && !node->results().empty()) {
    if (!node->op->infer)  // a composite has no other form
      fail(
          Diag(Code::unsupported_model, fmt::format("{} gives no values here, and the file has some", node->op->name()))
              .in(where_of(*node)));
    return node->results();
  }
  check_count(*node, values);
  if (typed) check_types(*node, values);
  for (size_t i = 0; i < values.size(); ++i) {
    if (typed && values[i]) keep_size_names(node->result(i)->type, values[i], builder.made());
    if (values[i]) graph.replace_unchecked(node->result(i), values[i]);
  }
  graph.erase(node);
  for (Node* made : std::vector<Node*>(builder.made())) {
    if (!wants_decomposition(*made, keep)) continue;
    const std::vector<Value*> before = made->results();
    const std::vector<Value*> after = expand(graph, made, keep, depth + 1);
    for (Value*& value : values) {
      for (size_t i = 0; i < before.size(); ++i) {
        if (value == before[i]) value = after[i];
      }
    }
  }
  return values;
}

// Returns true if a node was replaced. A rule with nothing to do keeps its node.
bool decompose_graph(Graph& graph, const KeepFn& keep) {
  bool changed = false;
  for (Node* node : graph.node_list()) {
    for (const auto& inner : node->graphs) changed = decompose_graph(*inner, keep) || changed;
    if (!wants_decomposition(*node, keep)) continue;
    const std::vector<Value*> before = node->results();
    changed = expand(graph, node, keep, 0) != before || before.empty() || changed;
  }
  return changed;
}

}  // namespace

std::vector<Value*> decompose_node(Graph& graph, Node* node, const KeepFn& keep) {
  return expand(graph, node, keep, 0);
}

Value* decompose_untyped(Graph& graph, Node* node) {
  const std::vector<Value*> values = expand(graph, node, nullptr, 0, false);
  if (values.empty() || !values[0]) fail(Code::internal, "a decomposition without a result");
  return values[0];
}

Status decompose(Graph& graph, const KeepFn& keep, bool* changed) {
  const SymScope scope(graph.ranges);
  return catch_failure([&] {
    const bool replaced = decompose_graph(graph, keep);
    if (changed) *changed = *changed || replaced;
  });
}

}  // namespace wick::compiler
