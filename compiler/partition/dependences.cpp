#include "compiler/partition/dependences.h"

#include <map>
#include <set>
#include <string>

#include "compiler/ir/delegate.h"

namespace wick::compiler {
namespace {

void collect(const Arg& arg, std::set<std::string, std::less<>>& symbols) {
  if (arg.is<Sym>()) collect_symbols(arg.as<Sym>(), symbols);
  if (!arg.is<Ints>()) return;
  for (const Sym& item : arg.as<Ints>()) collect_symbols(item, symbols);
}

std::set<std::string, std::less<>> result_symbols(const Node& node) {
  std::set<std::string, std::less<>> symbols;
  for (const Value* result : node.results()) {
    collect_symbols(result->type.expr, symbols);
    for (const Sym& size : result->sizes()) collect_symbols(size, symbols);
  }
  return symbols;
}

bool draws(const Graph& graph, const Node& node) {
  if (!is_delegate_call(node)) return node.op->has(kRandom);
  return graph.delegates[static_cast<size_t>(node.static_integer("delegate"))]->draws_random;
}

}  // namespace

Dependences dependences_of(const Graph& graph, const std::vector<Node*>& nodes, const NodeIndex& index) {
  Dependences out;
  std::map<std::string, uint32_t, std::less<>> defined;
  uint32_t last_random = kNoGroup, last_stateful = kNoGroup;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    std::vector<uint32_t>& before = out.before.emplace_back();
    for (const Value* operand : node.operands()) {
      if (operand->producer) before.push_back(index.at(operand->producer));
    }
    if (draws(graph, node)) {
      if (last_random != kNoGroup) before.push_back(last_random);
      last_random = i;
    }
    if (node.is(kCallStatefulDelegate)) {
      if (last_stateful != kNoGroup) before.push_back(last_stateful);
      last_stateful = i;
    }
    const bool defines = node.op->has(kDataDependent) || (!node.results().empty() && !node.result()->type.is_tensor());
    if (!defines && defined.empty()) continue;
    std::set<std::string, std::less<>> symbols = result_symbols(node);
    for (const Arg& arg : node.args()) collect(arg, symbols);
    for (const std::string& symbol : symbols) {
      const auto known = defined.find(symbol);
      if (known != defined.end()) before.push_back(known->second);
    }
    if (!defines) continue;
    for (const std::string& symbol : result_symbols(node)) defined.try_emplace(symbol, i);
  }
  return out;
}

}  // namespace wick::compiler
