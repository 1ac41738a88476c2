#include "compiler/passes/rewrite.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <unordered_set>

#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

bool is_unread(const Node& node) {
  return std::all_of(node.results().begin(), node.results().end(),
                     [](const Value* value) { return value->num_uses() == 0; });
}

// A rewrite keeps dtype, sizes and dim order; anything else is left alone.
bool may_stand_for(const Value& from, const Value& to) { return &from != &to && from.type == to.type; }

Changed walk(Graph& graph, const std::function<Changed(Graph&)>& fn) {
  Changed changed = Changed::no;
  for (const auto& node : graph.nodes()) {
    for (const auto& inner : node->graphs) changed = changed | walk(*inner, fn);
  }
  return changed | fn(graph);
}

// A rule may try arguments that the operator does not take. Then it does not match.
Value* try_rule(const RuleFn& rule, Builder& builder, Node& node) {
  try {
    return rule(builder, node);
  } catch (const Failure& failure) {
    if (failure.diag.code == Code::internal) throw;
    return nullptr;
  }
}

Value* first_fit(Graph& graph, Node& node, const std::vector<RuleFn>& rules, std::vector<Node*>& unread) {
  for (const RuleFn& rule : rules) {
    Builder builder(graph, &node);
    Value* value = try_rule(rule, builder, node);
    if (value && may_stand_for(*node.result(), *value)) {
      for (Node* made : builder.made()) add_origins(*made, node);
      return value;
    }
    unread.insert(unread.end(), builder.made().begin(), builder.made().end());
  }
  return nullptr;
}

}  // namespace

bool is_one_of(const Node& node, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return node.is(name); });
}

void add_origins(Node& node, const Node& from) {
  auto add = [&](const OriginPtr& origin) {
    if (!origin || origin == node.origin) return;
    if (!node.origin) {
      node.origin = origin;
    } else if (std::find(node.more_origins.begin(), node.more_origins.end(), origin) == node.more_origins.end()) {
      node.more_origins.push_back(origin);
    }
  };
  add(from.origin);
  for (const OriginPtr& origin : from.more_origins) add(origin);
}

Result<Changed> for_each_graph(Graph& graph, const std::function<Changed(Graph&)>& fn) {
  Changed changed = Changed::no;
  RETURN_IF_ERROR(catch_failure([&] { changed = walk(graph, fn); }));
  return changed;
}

namespace {

// An assertion that is known to hold.
bool is_proven(const Node& node) {
  if (node.is("aten._assert_tensor_metadata.default")) return true;  // its types were compared when it was made
  if (!node.is("aten._assert_scalar.default")) return false;
  const Arg& self = node.arg(size_t{0});
  return (self.is<bool>() && self.as<bool>()) || (self.is<Sym>() && self.as<Sym>().is_const() && !self.as<Sym>().is(0));
}

}  // namespace

bool has_effect(const Node& node) {
  if (is_proven(node)) return false;
  if (node.op->has(kEffect) || node.op->has(kInPlace) || node.results().empty()) return true;
  for (const auto& graph : node.graphs) {
    for (const auto& inner : graph->nodes()) {
      if (has_effect(*inner)) return true;
    }
  }
  return false;
}

namespace {

using Symbols = std::set<std::string, std::less<>>;

void collect_types(const Node& node, Symbols& symbols) {
  for (const Value* value : node.results()) {
    if (value->type.is_tensor()) {
      for (const Sym& size : value->sizes()) collect_symbols(size, symbols);
    } else {
      collect_symbols(value->type.expr, symbols);
    }
  }
}

// Symbols that nodes and outputs mention in arguments, sub-graphs included.
void collect_used(const Graph& graph, Symbols& symbols) {
  for (const auto& node : graph.nodes()) {
    for (const Arg& arg : node->args()) {
      if (arg.is<Sym>()) collect_symbols(arg.as<Sym>(), symbols);
      if (!arg.is<Ints>()) continue;
      for (const Sym& item : arg.as<Ints>()) collect_symbols(item, symbols);
    }
    for (const auto& inner : node->graphs) collect_used(*inner, symbols);
  }
  for (const GraphOutput& output : graph.outputs) collect_symbols(output.integer, symbols);
}

// Numbers and sizes read from data are known by symbols. Their node counts as read if an expression names one.
class SymbolUses {
 public:
  explicit SymbolUses(const Graph& graph) : graph_(graph) {}
  bool needs(const Node& node) {
    const bool number = !node.results().empty() && !node.result()->type.is_tensor();
    if (!number && !node.op->has(kDataDependent)) return false;
    if (!collected_) {
      collect_used(graph_, used_);
      collected_ = true;
    }
    Symbols defined;
    collect_types(node, defined);
    return std::any_of(defined.begin(), defined.end(),
                       [&](const std::string& symbol) { return used_.count(symbol) != 0; });
  }

 private:
  const Graph& graph_;
  Symbols used_;
  bool collected_ = false;
};

}  // namespace

namespace {

// Whether the node reads a number or size that has a range. The program checks it there, because conditions known from
// the range were dropped.
bool checks_a_range(const Node& node, const SymRanges& ranges) {
  const auto has_range = [&](const Sym& sym, int64_t least) {
    const auto it = ranges.find(sym.symbol_name());
    return it != ranges.end() && (it->second.min > least || it->second.max != kUnbounded);
  };
  for (const Value* result : node.results()) {
    if (result->type.kind == TypeKind::integer && has_range(result->type.expr, std::numeric_limits<int64_t>::min()))
      return true;
    if (!result->type.is_tensor() || !node.op->has(kDataDependent)) continue;
    for (const Sym& size : result->sizes()) {
      if (has_range(size, 0)) return true;
    }
  }
  return false;
}

}  // namespace

Changed respell_nodes(Graph& graph, Span<const Respelling> respellings) {
  std::vector<Node*> left;
  for (Node* node : graph.node_list()) {
    for (const Respelling respelling : respellings) {
      Builder b(graph, node);
      const std::vector<Value*> results = respelling(b, *node);
      if (results.empty()) continue;
      for (size_t i = 0; i < results.size(); ++i) {
        if (results[i]) graph.replace(node->result(i), results[i]);
      }
      left.push_back(node);
      break;
    }
  }
  erase_unread(graph, left);
  return left.empty() ? Changed::no : Changed::yes;
}

Changed erase_unread(Graph& graph, const std::vector<Node*>& candidates) {
  if (candidates.empty()) return Changed::no;
  std::unordered_set<const Node*> set(candidates.begin(), candidates.end());
  Changed changed = Changed::no;
  SymbolUses symbols(graph);
  auto& nodes = graph.nodes();
  for (auto it = nodes.end(); it != nodes.begin();) {
    Node* node = std::prev(it)->get();
    if (!set.count(node) || !is_unread(*node) || has_effect(*node) || symbols.needs(*node) ||
        checks_a_range(*node, graph.ranges)) {
      --it;
      continue;
    }
    for (const Value* operand : node->operands()) {
      if (operand->producer) set.insert(operand->producer);
    }
    graph.erase(node);  // `it` points behind it and stays valid
    changed = Changed::yes;
  }
  return changed;
}

Changed rewrite_nodes(Graph& graph, Span<const Rule> rules) {
  return rewrite_nodes(graph, std::vector<RuleFn>(rules.begin(), rules.end()));
}

Changed rewrite_nodes(Graph& graph, const std::vector<RuleFn>& rules) {
  Changed changed = Changed::no;
  std::vector<Node*> unread;
  auto& nodes = graph.nodes();
  for (auto it = nodes.begin(); it != nodes.end();) {
    Node& node = **it;
    if (node.results().size() != 1 || !node.graphs.empty() || node.result()->num_uses() == 0) {
      ++it;
      continue;
    }
    const bool first = it == nodes.begin();
    const auto before = first ? it : std::prev(it);
    Value* value = first_fit(graph, node, rules, unread);
    if (!value) {
      ++it;
      continue;
    }
    for (const Value* operand : node.operands()) {
      if (operand->producer) unread.push_back(operand->producer);
    }
    graph.replace(node.result(), value);
    graph.erase(&node);
    // The nodes that the rule made come next.
    it = first ? nodes.begin() : std::next(before);
    changed = Changed::yes;
  }
  if (unread.empty()) return changed;
  // A candidate may have been replaced itself since.
  std::unordered_set<const Node*> present;
  for (const auto& node : nodes) present.insert(node.get());
  std::erase_if(unread, [&](const Node* node) { return !present.count(node); });
  erase_unread(graph, unread);
  return changed;
}

}  // namespace wick::compiler
