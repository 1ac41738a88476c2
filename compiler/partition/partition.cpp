#include "compiler/partition/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "compiler/analysis/value_ranges.h"
#include "compiler/partition/group.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

constexpr char kExecutor[] = "executor";  // where assertions run

// What no backend is asked about, and why.
std::string not_for_backends(const Node& node) {
  if (!node.graphs.empty()) return "control flow stays in the program; its bodies are partitioned by themselves";
  if (node.results().empty()) return "it has no result";
  if (node.op->has(kRandom)) return "it draws random numbers";
  if (node.op->has(kDataDependent)) return "the sizes of its result depend on the values of its operands";
  for (const Value* result : node.results()) {
    if (!result->type.is_tensor()) return "it computes a number, not a tensor";
  }
  for (const Value* operand : node.operands()) {
    if (!operand->type.is_tensor()) return "it reads a number that is known only when the program runs";
  }
  return "";
}

void collect(const Arg& arg, std::set<std::string, std::less<>>& symbols) {
  if (arg.is<Sym>()) collect_symbols(arg.as<Sym>(), symbols);
  if (!arg.is<Ints>()) return;
  for (const Sym& item : arg.as<Ints>()) collect_symbols(item, symbols);
}

// Bytes of the results, if these are many enough for constant folding to think about.
std::optional<uint64_t> large_result_bytes(const Node& node) {
  constexpr uint64_t kFewBytes = uint64_t{64} << 10;
  uint64_t bytes = 0;
  for (const Value* result : node.results()) {
    if (!result->type.is_tensor() || !is_static(result->sizes())) return std::nullopt;
    const Sym count = numel(result->sizes());
    bytes += static_cast<uint64_t>(count.value()) * dtype_size_bytes(result->dtype());
  }
  return bytes > kFewBytes ? std::optional(bytes) : std::nullopt;
}

std::set<std::string, std::less<>> result_symbols(const Node& node) {
  std::set<std::string, std::less<>> symbols;
  for (const Value* result : node.results()) {
    collect_symbols(result->type.expr, symbols);
    for (const Sym& size : result->sizes()) collect_symbols(size, symbols);
  }
  return symbols;
}

// Operands, the node that makes a symbol known, and the order of random draws.
Dependences dependences_of(const std::vector<Node*>& nodes, const std::unordered_map<const Node*, uint32_t>& index) {
  Dependences out;
  std::map<std::string, uint32_t, std::less<>> defined;
  uint32_t last_random = kNoGroup;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    std::vector<uint32_t>& before = out.before.emplace_back();
    for (const Value* operand : node.operands()) {
      if (operand->producer) before.push_back(index.at(operand->producer));
    }
    if (node.op->has(kRandom)) {
      if (last_random != kNoGroup) before.push_back(last_random);
      last_random = i;
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

// "encoder.layer.0" and "encoder.layer.1" have "encoder.layer" in common.
OriginPtr common_origin(const std::vector<Node*>& nodes) {
  std::string_view common;
  bool first = true;
  for (const Node* node : nodes) {
    if (!node->origin) continue;
    const std::string_view module = node->origin->module;
    if (first) common = module;
    first = false;
    size_t same = 0;
    while (same < common.size() && same < module.size() && common[same] == module[same]) ++same;
    const auto ends = [&](std::string_view text) { return same == text.size() || text[same] == '.'; };
    if (!ends(common) || !ends(module)) {
      const size_t dot = common.substr(0, same).rfind('.');
      same = dot == std::string_view::npos ? 0 : dot;
    }
    common = common.substr(0, same);
  }
  if (common.empty()) return nullptr;
  auto origin = std::make_shared<Origin>();
  origin->module = common;
  return origin;
}

// A copy of some nodes as a graph of their own.
struct Extracted {
  Graph graph;
  Values inputs, outputs;  // in the graph they come from
};

class Extractor {
 public:
  Extractor(const std::vector<Node*>& nodes, const Target& target, Extracted& out)
      : nodes_(nodes), target_(target), out_(out) {
    inside_.insert(nodes.begin(), nodes.end());
  }

  void run() {
    for (const Node* node : nodes_) copy(*node);
    for (const Node* node : nodes_) {
      for (Value* value : node->results()) {
        if (is_read_outside(*value)) {
          out_.outputs.push_back(value);
          GraphOutput output;
          output.value = copies_.at(value);
          output.leaf = static_cast<int>(out_.outputs.size()) - 1;
          out_.graph.add_output(output);
        }
      }
    }
  }

 private:
  bool is_read_outside(const Value& value) const {
    return value.num_uses() != value.users().size() ||
           std::any_of(value.users().begin(), value.users().end(), [&](const Node* n) { return !inside_.count(n); });
  }

  Value* copy_of(Value* value) {
    if (!value) return nullptr;
    const Node* producer = copies_.count(value) ? nullptr : value->producer;
    if (producer && !inside_.count(producer) && target_.prepares_constant && target_.prepares_constant(*producer)) {
      copy(*producer);
      return copies_.at(value);
    }
    Value*& copy = copies_[value];
    if (copy) return copy;
    if (value->is_constant()) {
      copy = out_.graph.add_constant(value->tensor(), value->data, value->name, value->fqn);
    } else {
      copy = out_.graph.add_input(value->type, value->name);
      out_.inputs.push_back(value);
    }
    return copy;
  }

  Arg copy_of(const Arg& arg) {
    if (arg.is<Value*>()) return copy_of(arg.as<Value*>());
    if (!arg.is<Values>()) return arg;
    Values values;
    for (Value* value : arg.as<Values>()) values.push_back(copy_of(value));
    return values;
  }

  void copy(const Node& node) {
    std::vector<Arg> args;
    for (const Arg& arg : node.args()) args.push_back(copy_of(arg));
    Node* made = out_.graph.add_node(*node.op, std::move(args), 0);
    made->origin = node.origin;
    made->more_origins = node.more_origins;
    for (Value* result : node.results()) copies_[result] = out_.graph.add_result(made, result->type, result->name);
  }

  const std::vector<Node*>& nodes_;
  const Target& target_;
  Extracted& out_;
  std::unordered_set<const Node*> inside_;
  std::unordered_map<const Value*, Value*> copies_;
};

class Partitioner {
 public:
  Partitioner(Graph& graph, const SymRanges& ranges, const std::vector<const Target*>& targets,
              const TargetOptions& options, PartitionReport& report)
      : graph_(graph), ranges_(ranges), targets_(targets), numbers_(graph), options_(options), report_(report) {
    options_.ranges = &numbers_;
    for (const auto& node : graph.nodes()) {
      index_.emplace(node.get(), static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back(node.get());
    }
  }

  void run() {
    const Dependences dependences = dependences_of(nodes_, index_);
    unit_.assign(nodes_.size(), kNoGroup);
    places_.resize(nodes_.size());
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      places_[i].op = nodes_[i]->op->name();
      places_[i].origin = nodes_[i]->origin;
      const bool effect = nodes_[i]->op->has(kEffect);
      places_[i].backend = effect ? kExecutor : "";
      places_[i].reason = effect ? "the program checks it itself" : not_for_backends(*nodes_[i]);
      asked_.push_back(places_[i].reason.empty() && !nodes_[i]->is(kCallDelegate));
    }
    for (const Target* target : targets_) take(*target, dependences);
    explain_unfolded();
    replace_units(order_units(dependences, unit_));
    for (uint32_t i = 0; i < places_.size(); ++i) {
      if (!is_call_[i]) report_.nodes.push_back(std::move(places_[i]));
    }
  }

 private:
  // What depends on constants alone could be one.
  void explain_unfolded() {
    std::vector<bool> is_known(nodes_.size());
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = *nodes_[i];
      const auto operands = node.operands();
      is_known[i] = node.graphs.empty() && !(node.op->flags & (kRandom | kEffect | kDataDependent)) &&
                    std::all_of(operands.begin(), operands.end(), [&](const Value* operand) {
                      return operand->is_constant() || (operand->producer && is_known[index_.at(operand->producer)]);
                    });
      const auto bytes = is_known[i] && places_[i].backend.empty() ? large_result_bytes(node) : std::nullopt;
      if (!bytes) continue;
      std::string& text = places_[i].reason;
      text += fmt::format(
          "{}it depends on constants alone and is computed in each run: its {} bytes are more than "
          "constant folding stores for that",
          text.empty() ? "" : "; ", *bytes);
    }
  }

  void refuse(uint32_t i, const Target& target, const std::string& reason) {
    std::string& text = places_[i].reason;
    if (!text.empty()) text += "; ";
    text += targets_.size() > 1 ? fmt::format("{}: {}", target.name, reason) : reason;
  }

  // Groups are made anew without those that are not worthwhile, until all are.
  void take(const Target& target, const Dependences& dependences) {
    std::vector<bool> wanted(nodes_.size());
    std::vector<std::string> notes(nodes_.size());
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!asked_[i] || unit_[i] != kNoGroup) continue;
      if (target.prepares_constant && target.prepares_constant(*nodes_[i])) continue;
      Verdict verdict = ask(target, *nodes_[i], options_);
      wanted[i] = verdict.taken;
      if (verdict.taken)
        notes[i] = std::move(verdict.reason);
      else
        refuse(i, target, verdict.reason);
    }
    std::vector<std::vector<uint32_t>> groups;
    for (bool again = true; again;) {
      again = false;
      groups.clear();
      const std::vector<uint32_t> group = group_by_level(dependences, unit_, wanted);
      for (uint32_t i = 0; i < nodes_.size(); ++i) {
        if (group[i] == kNoGroup) continue;
        if (group[i] >= groups.size()) groups.resize(group[i] + 1);
        groups[group[i]].push_back(i);
      }
      for (const std::vector<uint32_t>& members : groups) {
        const Verdict verdict = members.empty() ? Verdict::yes() : worth(target, members);
        if (verdict.taken) continue;
        again = true;
        for (uint32_t i : members) {
          wanted[i] = false;
          refuse(i, target, verdict.reason);
        }
      }
    }
    for (const std::vector<uint32_t>& members : groups) {
      if (members.empty()) continue;
      for (uint32_t i : members) {
        unit_[i] = static_cast<uint32_t>(target_of_unit_.size());
        places_[i].backend = target.name;
        places_[i].reason = notes[i];
      }
      target_of_unit_.push_back(&target);
    }
    if (target.prepares_constant) place_constants(target);
  }

  // What prepares constants goes with its readers.
  void place_constants(const Target& target) {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!asked_[i] || unit_[i] != kNoGroup || !target.prepares_constant(*nodes_[i])) continue;
      const Value* result = nodes_[i]->result();
      const auto inside = [&](const Node* user) {
        const uint32_t unit = unit_[index_.at(user)];
        return unit != kNoGroup && target_of_unit_[unit] == &target;
      };
      const bool all = result->num_uses() == result->users().size() &&
                       std::all_of(result->users().begin(), result->users().end(), inside);
      if (all)
        places_[i].backend = target.name;
      else
        refuse(i, target, "it is read outside delegates");
    }
  }

  Verdict worth(const Target& target, const std::vector<uint32_t>& members) const {
    std::vector<const Node*> nodes;
    bool is_read = false;
    for (uint32_t i : members) {
      nodes.push_back(nodes_[i]);
      for (const Value* value : nodes_[i]->results()) is_read = is_read || value->num_uses() > 0;
    }
    if (!is_read) return Verdict::no("nobody reads what it computes");
    return target.worthwhile ? target.worthwhile(nodes, options_) : Verdict::yes();
  }

  void replace_units(const std::vector<uint32_t>& order) {
    for (const Node* node : nodes_) is_call_.push_back(node->is(kCallDelegate));
    for (size_t at = 0; at < order.size();) {
      const uint32_t unit = unit_[order[at]];
      if (unit == kNoGroup) {
        graph_.move(nodes_[order[at++]], nullptr);
        continue;
      }
      std::vector<Node*> members;
      for (; at < order.size() && unit_[order[at]] == unit; ++at) members.push_back(nodes_[order[at]]);
      replace(members, *target_of_unit_[unit]);
    }
  }

  void replace(const std::vector<Node*>& members, const Target& target) {
    Extracted part;
    part.graph.ranges = ranges_;
    Extractor(members, target, part).run();
    if (part.outputs.empty()) fail(Code::internal, "a partition without outputs");
    Node* call =
        graph_.add_node(op(kCallDelegate), {part.inputs, Sym(static_cast<int64_t>(graph_.delegates.size()))}, 0);
    call->origin = common_origin(members);
    Delegate delegate = lower(target, part);
    for (Value* output : part.outputs) {
      delegate.output_origins.push_back(output->producer->origin);
      Value* result = graph_.add_result(call, output->type, output->name);
      std::swap(result->name, output->name);
      graph_.replace(output, result);
    }
    graph_.delegates.push_back(std::make_shared<const Delegate>(std::move(delegate)));
    for (auto it = members.rbegin(); it != members.rend(); ++it) graph_.erase(*it);
    ++report_.num_delegates;
  }

  Delegate lower(const Target& target, const Extracted& part) const {
    std::unordered_map<const Value*, ValueRange> known;
    for (size_t i = 0; i < part.inputs.size(); ++i)
      known.emplace(part.graph.inputs[i].value, numbers_.of(part.inputs[i]));
    const ValueRanges numbers(part.graph, std::move(known));
    TargetOptions options = options_;
    options.ranges = &numbers;
    Result<Delegate> delegate = target.lower(part.graph, options);
    if (!delegate.ok()) {
      delegate.diag().notes.push_back(fmt::format("while lowering a partition for {}", target.name));
      fail(std::move(delegate.diag()));
    }
    if (delegate->id.empty() || delegate->payload.empty())
      fail(Code::internal, fmt::format("{} made a delegate without id or payload", target.name));
    return std::move(*delegate);
  }

  Graph& graph_;
  const SymRanges& ranges_;
  const std::vector<const Target*>& targets_;
  const ValueRanges numbers_;
  TargetOptions options_;
  PartitionReport& report_;
  std::vector<Node*> nodes_;  // as the graph had them
  std::unordered_map<const Node*, uint32_t> index_;
  std::vector<NodePlace> places_;
  std::vector<bool> asked_, is_call_;
  std::vector<uint32_t> unit_;  // delegate that a node goes to
  std::vector<const Target*> target_of_unit_;
};

void partition_all(Graph& graph, const SymRanges& ranges, const std::vector<const Target*>& targets,
                   const TargetOptions& options, PartitionReport& report) {
  SymRanges all = ranges;
  all.insert(graph.ranges.begin(), graph.ranges.end());
  for (const auto& node : graph.nodes()) {
    for (const auto& inner : node->graphs) partition_all(*inner, all, targets, options, report);
  }
  Partitioner(graph, all, targets, options, report).run();
}

}  // namespace

Verdict ask(const Target& target, const Node& node, const TargetOptions& options) {
  Verdict verdict;
  const Status status = catch_failure([&] { verdict = target.supports(node, options); });
  return status.ok() ? verdict : Verdict::no(status.diag().message);
}

size_t PartitionReport::num_outside() const {
  return static_cast<size_t>(
      std::count_if(nodes.begin(), nodes.end(), [](const NodePlace& place) { return place.backend.empty(); }));
}

Result<PartitionReport> partition(Graph& graph, const std::vector<const Target*>& targets,
                                  const TargetOptions& options) {
  const SymScope scope(graph.ranges);
  PartitionReport report;
  RETURN_IF_ERROR(catch_failure([&] { partition_all(graph, {}, targets, options, report); }));
  return report;
}

}  // namespace wick::compiler
