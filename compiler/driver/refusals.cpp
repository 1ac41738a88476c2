#include "compiler/driver/refusals.h"

#include <fmt/format.h>

#include "compiler/support/diag.h"

namespace wick::compiler {
namespace {

// "aten.layer_norm.default (model.py:7 in encoder.norm)"
std::string name_of(const Node& node) {
  const std::string source = node.origin ? node.origin->source : "", module = node.origin ? node.origin->module : "";
  std::string place = printable(source);
  if (!module.empty()) place += (place.empty() ? "in " : " in ") + printable(module);
  return place.empty() ? std::string(node.op->name()) : fmt::format("{} ({})", node.op->name(), place);
}

}  // namespace

std::function<void(const Node&, const std::string&, const std::string&, const Node*)> StayingNodes::listener() {
  return [this](const Node& node, const std::string& why, const std::string& help, const Node* cause) {
    if (node.results().empty()) return;
    if (!cause && node.origin) causes_.insert(node.origin);
    std::string text = cause ? "it computes on floats because of " + name_of(*cause) : why;
    reasons_.insert_or_assign(node.result(), Reason{std::move(text), help, cause != nullptr});
  };
}

void StayingNodes::explain(Verdicts& verdicts) const {
  for (auto& [node, verdict] : verdicts.of) {
    if (verdict.taken || node->results().empty()) continue;
    const auto reason = reasons_.find(node->result());
    if (reason == reasons_.end()) continue;
    verdict.reason = reason->second.text;
    verdict.help = reason->second.help;
    verdict.follows = reason->second.follows;
  }
}

void StayingNodes::clear() {
  reasons_.clear();
  causes_.clear();
}

bool StayingNodes::has(const Node& node) const { return !node.results().empty() && reasons_.count(node.result()) > 0; }

void RefusedComposites::add_split(const Node& node, const Verdict& verdict) {
  if (!verdict.reason.empty() && node.origin)
    reasons_.try_emplace(node.origin, Whole{std::string(node.op->name()), verdict.reason, verdict.help, false, true});
}

size_t RefusedComposites::add(const Graph& graph, const Verdicts& verdicts, const KeepFn& portable,
                              const StayingNodes& staying) {
  size_t count = 0;
  for (const auto& node : graph.nodes()) {
    for (const auto& inner : node->graphs) count += add(*inner, verdicts, portable, staying);
    if (!node->op->decompose || !node->op->infer || portable(*node)) continue;
    const auto verdict = verdicts.of.find(node.get());
    if (verdict != verdicts.of.end() && verdict->second.taken) {
      taken.insert(node->results().begin(), node->results().end());
      continue;
    }
    results.insert(node->results().begin(), node->results().end());
    if (verdict != verdicts.of.end() && node->origin)
      reasons_.try_emplace(node->origin, Whole{std::string(node->op->name()), verdict->second.reason,
                                               verdict->second.help, staying.has(*node)});
    ++count;
  }
  return count;
}

void RefusedComposites::explain(std::vector<NodePlace>& nodes, const StayingNodes& staying) {
  std::erase_if(reasons_, [&](const auto& each) { return each.second.is_staying && staying.has_cause_at(each.first); });
  // An operator that was not decomposed is itself outside, and its own row gives the reason.
  const auto find = [&](const NodePlace& place) {
    const auto whole = reasons_.find(place.origin);
    return whole != reasons_.end() && !place.backend.empty() && !whole->second.is_split ? reasons_.end() : whole;
  };
  for (const NodePlace& place : nodes) {
    const auto whole = find(place);
    if (whole != reasons_.end() && whole->second.op == place.op) reasons_.erase(whole);
  }
  for (NodePlace& place : nodes) {
    const auto whole = find(place);
    if (whole == reasons_.end()) continue;
    const std::string& reason = whole->second.reason;
    if (reason != place.reason) {
      place.reason += fmt::format("{}{} as a whole: {}", place.reason.empty() ? "" : "; ", whole->second.op, reason);
      place.help = whole->second.help;  // the user can change the composite, not its parts
    }
    reasons_.erase(whole);
  }
}

}  // namespace wick::compiler
