#include "compiler/partition/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "compiler/ir/builder.h"
#include "compiler/layout/dim_order.h"
#include "compiler/partition/buffers/held_buffers.h"
#include "compiler/partition/dependences.h"
#include "compiler/partition/device_values.h"
#include "compiler/partition/extract.h"
#include "compiler/partition/groups/graph_breaks.h"
#include "compiler/partition/groups/light_nodes.h"
#include "compiler/quantize/quantize_nodes.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

// Why no backend is asked about the node; "" if backends are asked.
std::string not_for_backends(const Node& node, const Target& target) {
  if (!node.graphs.empty() && !target.partition.takes_graphs)
    return "control flow stays in the program; its bodies are partitioned by themselves";
  if (node.results().empty()) return "it has no result";
  if (node.op->has(kRandom) && !target.partition.draws_random) return "it draws random numbers";
  if (node.op->has(kDataDependent)) return "the sizes of its result depend on the values of its operands";
  for (const Value* result : node.results()) {
    if (!result->type.is_tensor()) return "it computes a number, not a tensor";
  }
  for (const Value* operand : node.operands()) {
    if (!operand->type.is_tensor()) return "it reads a number that is known only when the program runs";
  }
  return "";
}

constexpr char kOutsideBackends[] = "compute it before or behind what the backend takes, or outside the model";

// Whether a backend that was asked before has made the node.
bool is_made_by_backend(const Node& node) { return is_delegate_call(node) || node.op->has(kBackendOnly | kScratch); }

bool may_take(const Node& node, const Target& target) {
  return !node.op->has(kEffect) && !is_made_by_backend(node) && not_for_backends(node, target).empty();
}

// Why a target that takes nodes with graphs cannot take this one, from the verdicts on the nodes inside; "": it can.
std::string refuse_inside(const Node& node, const Target& target, const Verdicts& verdicts) {
  for (const auto& graph : node.graphs) {
    for (const auto& inner : graph->nodes()) {
      const auto verdict = verdicts.of.find(inner.get());
      if (verdict != verdicts.of.end() && verdict->second.taken) continue;
      std::string why = verdict != verdicts.of.end() ? verdict->second.reason : not_for_backends(*inner, target);
      if (why.empty()) why = "the program does it itself";
      return fmt::format("its graph has {}, which stays outside: {}", inner->op->name(), why);
    }
  }
  return "";
}

// Bytes of the results, if they are so many that constant folding may refuse to store them; else nothing.
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

// The cost of computing the node outside: the elements of its result, or of its operand if it is a reduction, at upper
// bounds. kHeavy if the node is not light.
uint64_t elements_outside(const Node& node) {
  constexpr uint64_t kHeavy = uint64_t{1} << 40;
  const bool reduces = node.op->has(kReduction) && node.operands().size() == 1;
  const bool light = reduces || node.op->has(kPointwise) || node.op->facts.movement != Movement::none ||
                     node.is("wick.convert.default");
  // Stock's runtime could not run a kNoStock operator outside.
  if (!light || node.op->has(kNoStock) || node.results().size() != 1) return kHeavy;
  if (node.is(Movement::view)) return 1;
  const int64_t elements = layout::elements((reduces ? *node.operands()[0] : *node.result()).sizes());
  return std::clamp<uint64_t>(static_cast<uint64_t>(elements), 1, kHeavy);
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

// A graph, and the operator whose body it is: "" = the method's own.
struct GraphAt {
  Graph& graph;
  std::string_view body_of;
};

void partition_all(GraphAt at, const SymRanges& ranges, const Target& target, const TargetContext& context,
                   const Verdicts& verdicts, PartitionReport& report);

class Partitioner {
 public:
  Partitioner(GraphAt at, const SymRanges& ranges, const Target& target, const TargetContext& context,
              const Verdicts& verdicts, PartitionReport& report)
      : graph_(at.graph),
        body_of_(at.body_of),
        ranges_(ranges),
        target_(target),
        verdicts_(verdicts),
        numbers_(*verdicts.ranges.at(&at.graph)),
        context_(context),
        report_(report) {
    context_.ranges = &numbers_;
    context_.graph = &graph_;
    for (const auto& node : graph_.nodes()) {
      index_.emplace(node.get(), static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back(node.get());
    }
  }

  void run() {
    const Dependences dependences = dependences_of(graph_, nodes_, index_);
    unit_.assign(nodes_.size(), kNoGroup);
    places_.resize(nodes_.size());
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      places_[i].op = nodes_[i]->op->name();
      places_[i].origin = nodes_[i]->origin;
      places_[i].quantization = quantization_text(*nodes_[i]);
      const bool effect = nodes_[i]->op->has(kEffect);
      places_[i].backend = effect ? kExecutor : "";
      places_[i].reason = effect ? "the program checks it itself" : not_for_backends(*nodes_[i], target_);
      if (!effect && !places_[i].reason.empty()) places_[i].help = kOutsideBackends;
      asked_.push_back(may_take(*nodes_[i], target_));
      is_made_.push_back(is_made_by_backend(*nodes_[i]));
    }
    note_verdicts();
    if (target_.kernels.rewrite) {
      visit_graphs();
      rewrite_taken();
      return;
    }
    take(dependences);
    visit_graphs();
    explain_unfolded();
    const std::vector<uint32_t> order = order_units(dependences, unit_);
    hold_buffers(order);
    std::vector<BreakBetween> breaks;
    if (context_.for_report) breaks = find_breaks({nodes_, dependences, unit_, num_units_});
    replace_units(order);
    const size_t first_row = report_.nodes.size();
    for (uint32_t i = 0; i < places_.size(); ++i) {
      if (!is_made_[i]) report_.nodes.push_back(std::move(places_[i]));
    }
    report_breaks(breaks, first_row);
  }

 private:
  // Nodes that other backends have made have no row in the report.
  void report_breaks(const std::vector<BreakBetween>& breaks, size_t first_row) {
    std::vector<size_t> row(nodes_.size());
    for (size_t i = 0, next = first_row; i < row.size(); ++i) row[i] = is_made_[i] ? next : next++;
    for (const BreakBetween& found : breaks) {
      GraphBreak& out = report_.breaks.emplace_back();
      out.body_of = body_of_;
      out.before = delegates_.at(found.before);
      out.after = delegates_.at(found.after);
      out.cost = found.cost;
      for (const uint32_t i : found.nodes) {
        if (!is_made_[i]) out.rows.push_back(row[i]);
      }
    }
  }

  // Explains why large nodes outside that depend only on constants are not constants.
  void explain_unfolded() {
    std::vector<bool> is_known(nodes_.size());
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = *nodes_[i];
      const auto operands = node.operands();
      is_known[i] = node.graphs.empty() && !(node.op->has(kRandom | kEffect | kDataDependent)) &&
                    std::all_of(operands.begin(), operands.end(), [&](const Value* operand) {
                      return operand->is_constant() || (operand->producer && is_known[index_.at(operand->producer)]);
                    });
      const auto bytes = is_known[i] && places_[i].backend.empty() ? large_result_bytes(node) : std::nullopt;
      if (!bytes) continue;
      std::string& text = places_[i].reason;
      text += fmt::format(
          "{}it depends only on constants and is computed in each run: its {} bytes are more than constant folding "
          "stores for the time saved",
          text.empty() ? "" : "; ", *bytes);
    }
  }

  void refuse(uint32_t i, const std::string& reason, const std::string& help = "") {
    std::string& text = places_[i].reason;
    text += (text.empty() ? "" : "; ") + reason;
    if (!help.empty()) places_[i].help = help;
  }

  void note_verdicts() {
    wanted_.assign(nodes_.size(), false);
    notes_.resize(nodes_.size());
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      const auto verdict = verdicts_.of.find(nodes_[i]);
      if (!asked_[i] || verdict == verdicts_.of.end()) continue;
      wanted_[i] = verdict->second.taken;
      if (wanted_[i]) {
        notes_[i] = verdict->second.reason;
        places_[i].asked_for = verdict->second.asked_for;
      } else {
        refuse(i, verdict->second.reason, verdict->second.help);
        places_[i].follows = verdict->second.follows;
      }
    }
  }

  // --- form kernels ---

  void rewrite_taken() {
    note_beyond();
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!wanted_[i]) continue;
      places_[i].backend = target_.name;
      places_[i].reason = notes_[i];
      note_origins(*nodes_[i]);
      if (target_.reporting.macs) places_[i].cost.macs = target_.reporting.macs(*nodes_[i]);
    }
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (wanted_[i]) rewrite(*nodes_[i], places_[i].cost);
      if (!is_made_[i]) report_.nodes.push_back(std::move(places_[i]));
    }
  }

  // Notes the nodes that no quantized value leads to, and those that lead to none.
  void note_beyond() {
    const auto computed = [](const Value* value) { return value->is_quantized() && !value->is_constant(); };
    std::vector<bool> after(nodes_.size()), before(nodes_.size());
    bool any = false;
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      for (const Value* operand : nodes_[i]->operands())
        after[i] = after[i] || computed(operand) || (operand->producer && after[index_.at(operand->producer)]);
    }
    for (uint32_t i = static_cast<uint32_t>(nodes_.size()); i-- > 0;) {
      for (const Value* result : nodes_[i]->results()) {
        const auto leads_on = [&](const Node* user) { return before[index_.at(user)]; };
        before[i] =
            before[i] || computed(result) || std::any_of(result->users().begin(), result->users().end(), leads_on);
      }
      any = any || before[i] || after[i];
    }
    for (uint32_t i = 0; i < nodes_.size(); ++i) places_[i].beyond_quantized = any && !(after[i] && before[i]);
  }

  // Adds the constants and scratch memory of the operators that a node became.
  static void add_bytes(const std::vector<Node*>& made, NodeCost& cost) {
    std::set<const Value*> counted;
    for (const Node* node : made) {
      if (node->op->has(kScratch) && is_static(node->result()->sizes()))
        cost.scratch_bytes +=
            static_cast<uint64_t>(numel(node->result()->sizes()).value()) * dtype_size_bytes(node->result()->dtype());
      for (const Value* operand : node->operands()) {
        if (operand->is_constant() && counted.insert(operand).second) cost.constant_bytes += operand->data.size_bytes();
      }
    }
  }

  void rewrite(Node& node, NodeCost& cost) {
    Builder builder(graph_, &node);
    builder.work_on_elements();
    const std::vector<Value*> values = target_.kernels.rewrite(builder, node, context_);
    if (values.size() != node.results().size())
      fail(Code::internal, fmt::format("{} took {} but wrote no operators for it", target_.name, node.op->name()));
    add_bytes(builder.made(), cost);
    for (Node* made : builder.made()) {
      report_.taken.nodes.insert(made);
      made->more_origins = node.more_origins;
    }
    for (size_t i = 0; i < values.size(); ++i) graph_.replace(node.result(i), values[i]);
    graph_.erase(&node);
  }

  void note_origins(const Node& node) {
    report_.taken.origins.insert(node.origin);
    report_.taken.origins.insert(node.more_origins.begin(), node.more_origins.end());
    for (const auto& graph : node.graphs) {
      for (const auto& inner : graph->nodes()) note_origins(*inner);
    }
  }

  // Graphs inside taken nodes have a row for each of their nodes. Graphs inside other nodes are partitioned separately.
  void visit_graphs() {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      const bool taken = unit_[i] != kNoGroup;
      for (const auto& inner : nodes_[i]->graphs) {
        if (taken)
          report_inside(*inner);
        else
          partition_all({*inner, nodes_[i]->op->name()}, ranges_, target_, context_, verdicts_, report_);
      }
    }
  }

  void report_inside(const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      for (const auto& inner : node->graphs) report_inside(*inner);
      NodePlace place;
      place.op = node->op->name();
      place.backend = target_.name;
      place.reason = verdicts_.of.at(node.get()).reason;
      place.asked_for = verdicts_.of.at(node.get()).asked_for;
      place.origin = node->origin;
      place.quantization = quantization_text(*node);
      report_.nodes.push_back(std::move(place));
    }
  }

  // --- form delegate ---

  void leave_out_light(const Dependences& dependences) {
    std::vector<uint64_t> cost;
    for (const Node* node : nodes_) cost.push_back(elements_outside(*node));
    const LightNodes light = light_nodes(dependences, unit_, wanted_, cost, target_.partition.light_elements);
    for (const uint32_t i : light.before) {
      wanted_[i] = false;
      refuse(i, "a node outside needs it, and in a delegate it would be one of its own before that node");
    }
    for (const uint32_t i : light.behind) {
      wanted_[i] = false;
      refuse(i, "it needs a node outside, and in a delegate it would be one of its own behind that node");
    }
  }

  // Forms the groups again without the unprofitable ones, until all are profitable.
  void take(const Dependences& dependences) {
    std::vector<std::vector<uint32_t>> groups;
    if (target_.partition.light_elements > 0) leave_out_light(dependences);
    for (bool again = true; again;) {
      again = false;
      groups.clear();
      const std::vector<uint32_t> group = group_by_level(dependences, unit_, wanted_);
      for (uint32_t i = 0; i < nodes_.size(); ++i) {
        if (group[i] == kNoGroup) continue;
        if (group[i] >= groups.size()) groups.resize(group[i] + 1);
        groups[group[i]].push_back(i);
      }
      for (const std::vector<uint32_t>& members : groups) {
        const Verdict verdict = members.empty() ? Verdict::yes() : worth(members);
        if (verdict.taken) continue;
        again = true;
        leave_out(members, verdict);
      }
    }
    for (const std::vector<uint32_t>& members : groups) {
      if (members.empty()) continue;
      for (uint32_t i : members) {
        unit_[i] = num_units_;
        places_[i].backend = target_.name;
        places_[i].reason = notes_[i];
      }
      ++num_units_;
    }
    if (target_.partition.prepares_constant) place_constants();
  }

  void leave_out(const std::vector<uint32_t>& members, const Verdict& verdict) {
    const auto is_named = [&](uint32_t i) {
      return std::find(verdict.because_of.begin(), verdict.because_of.end(), nodes_[i]) != verdict.because_of.end();
    };
    const bool any = std::any_of(members.begin(), members.end(), is_named);
    for (uint32_t i : members) {
      if (any && !is_named(i)) continue;
      wanted_[i] = false;
      refuse(i, verdict.reason, verdict.help);
    }
  }

  // A node that prepares a constant is inside delegates if all its readers are.
  void place_constants() {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!asked_[i] || unit_[i] != kNoGroup || !target_.partition.prepares_constant(*nodes_[i])) continue;
      const Value* result = nodes_[i]->result();
      const auto inside = [&](const Node* user) { return unit_[index_.at(user)] != kNoGroup; };
      const bool all = result->num_uses() == result->users().size() &&
                       std::all_of(result->users().begin(), result->users().end(), inside);
      if (all)
        places_[i].backend = target_.name;
      else
        refuse(i, "it is read outside delegates");
    }
  }

  Verdict worth(const std::vector<uint32_t>& members) const {
    std::vector<const Node*> nodes;
    bool is_read = false;
    for (uint32_t i : members) {
      nodes.push_back(nodes_[i]);
      for (const Value* value : nodes_[i]->results()) is_read = is_read || value->num_uses() > 0;
    }
    if (!is_read) return Verdict::no("nobody reads what it computes");
    return target_.partition.profitable ? target_.partition.profitable(nodes, context_) : Verdict::yes();
  }

  void hold_buffers(const std::vector<uint32_t>& order) {
    buffers_ = find_held_buffers(graph_, target_, context_, {index_, unit_, order}, num_units_, report_.buffers);
    for (const HeldBuffer& buffer : buffers_) held_.emplace(buffer.state, buffer.name);
  }

  // The held buffers as a unit uses them. In the graph, the buffers that it changes become held.
  BuffersOfPart buffers_of(uint32_t unit) {
    BuffersOfPart out{held_, {}, {}};
    for (const HeldBuffer& buffer : buffers_) {
      if (buffer.unit != unit) continue;
      for (const StateUpdate& update : graph_.updates) {
        if (update.target == buffer.state && update.value != buffer.state) out.updates.push_back(update);
      }
      graph_.hold(buffer.state);
      if (buffer.state->num_uses() != buffer.state->users().size()) out.outputs.push_back(buffer.state);
    }
    return out;
  }

  void replace_units(const std::vector<uint32_t>& order) {
    for (size_t at = 0; at < order.size();) {
      const uint32_t unit = unit_[order[at]];
      if (unit == kNoGroup) {
        graph_.move(nodes_[order[at++]], nullptr);
        continue;
      }
      std::vector<Node*> members;
      for (; at < order.size() && unit_[order[at]] == unit; ++at) members.push_back(nodes_[order[at]]);
      replace(members, unit);
    }
    const auto without_nodes = [&](const HeldBuffer& buffer) { return buffer.unit == num_units_; };
    if (std::any_of(buffers_.begin(), buffers_.end(), without_nodes)) replace({}, num_units_);
  }

  void replace(const std::vector<Node*>& members, uint32_t unit) {
    Extracted part;
    part.graph.ranges = ranges_;
    const DeviceReaders readers{unit_, index_};
    const Values twice = target_.delegate.device.is_host() ? Values() : read_on_both_sides(members, unit, readers);
    extract(members, buffers_of(unit), twice, target_, part);
    if (target_.delegate.reads_sizes_of)
      add_inputs(target_.delegate.reads_sizes_of({members.begin(), members.end()}, context_), part);
    if (part.outputs.empty() && part.graph.updates.empty()) fail(Code::internal, "a partition without outputs");
    Node* call = graph_.add_node(op(part.graph.states().empty() ? kCallDelegate : kCallStatefulDelegate),
                                 {part.inputs, Sym(static_cast<int64_t>(graph_.delegates.size()))}, 0);
    call->origin = common_origin(members);
    report_.taken.nodes.insert(call);
    for (const Node* node : members) note_origins(*node);
    Delegate delegate = lower(part);
    delegate.draws_random =
        std::any_of(members.begin(), members.end(), [](const Node* node) { return node->op->has(kRandom); });
    delegate.device = target_.delegate.device;
    std::map<const Value*, Value*> first;
    for (Value* output : part.outputs) {
      delegate.output_origins.push_back(output->producer ? output->producer->origin : nullptr);
      Value* result = graph_.add_result(call, output->type, output->name);
      if (const auto [known, fresh] = first.try_emplace(output, result); !fresh) {
        redirect_delegate_readers(graph_, known->second, result, readers);
      } else if (output->producer) {
        std::swap(result->name, output->name);
        graph_.replace(output, result);
      } else {
        return_instead(output, result);
      }
    }
    graph_.delegates.push_back(std::make_shared<const Delegate>(std::move(delegate)));
    delegates_.emplace(unit, graph_.delegates.back());
    for (auto it = members.rbegin(); it != members.rend(); ++it) graph_.erase(*it);
    ++report_.num_delegates;
  }

  static void add_inputs(const Values& values, Extracted& part) {
    for (Value* value : values) {
      if (std::find(part.inputs.begin(), part.inputs.end(), value) != part.inputs.end()) continue;
      part.graph.add_input(value->type, value->name);
      part.inputs.push_back(value);
    }
  }

  void return_instead(const Value* from, Value* to) {
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (graph_.outputs[i].value == from) graph_.set_output(i, to);
    }
  }

  Delegate lower(const Extracted& part) const {
    std::unordered_map<const Value*, ValueRange> known;
    std::unordered_set<const Value*> overflowing;
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      const Value *input = part.graph.inputs[i].value, *outside = part.inputs[i];
      known.emplace(input, numbers_.of(outside));
      const bool half = outside->type.is_tensor() && outside->dtype() == DType::f16 && outside->producer;
      if (half || numbers_.overflows_half(outside)) overflowing.insert(input);
    }
    const ValueRanges numbers(part.graph, std::move(known), std::move(overflowing));
    TargetContext context = context_;
    context.ranges = &numbers;
    context.partition = report_.num_delegates;
    if (!target_.delegate.lower)
      fail(Code::internal, fmt::format("{} has the form delegate, but no lower", target_.name));
    Result<Delegate> delegate = target_.delegate.lower(part.graph, context);
    if (!delegate.ok()) {
      delegate.diag().notes.push_back(fmt::format("while lowering a partition for {}", target_.name));
      fail(std::move(delegate.diag()));
    }
    if (delegate->id.empty() || delegate->payload.empty())
      fail(Code::internal, fmt::format("{} made a delegate without id or payload", target_.name));
    return std::move(*delegate);
  }

  Graph& graph_;
  std::string_view body_of_;
  const SymRanges& ranges_;
  const Target& target_;
  const Verdicts& verdicts_;
  const ValueRanges& numbers_;
  TargetContext context_;
  PartitionReport& report_;
  std::vector<Node*> nodes_;  // in the order that the graph had before
  NodeIndex index_;
  std::vector<NodePlace> places_;
  std::vector<bool> asked_, wanted_, is_made_;
  std::vector<std::string> notes_;  // of those that are taken
  std::vector<uint32_t> unit_;      // delegate that a node goes to
  uint32_t num_units_ = 0;
  std::unordered_map<uint32_t, std::shared_ptr<const Delegate>> delegates_;  // by unit
  std::vector<HeldBuffer> buffers_;
  std::unordered_map<const Value*, std::string> held_;  // names of buffers_ in delegates
};

void partition_all(GraphAt at, const SymRanges& ranges, const Target& target, const TargetContext& context,
                   const Verdicts& verdicts, PartitionReport& report) {
  SymRanges all = ranges;
  all.insert(at.graph.ranges.begin(), at.graph.ranges.end());
  Partitioner(at, all, target, context, verdicts, report).run();
}

KnownRanges constants_of(const Verdicts* verdicts, const Graph& graph) {
  if (!verdicts) return {};
  const auto ranges = verdicts->ranges.find(&graph);
  return ranges == verdicts->ranges.end() ? KnownRanges() : ranges->second->constants();
}

void ask_each(const Graph& graph, const Target& target, TargetContext context, const Verdicts* before,
              Verdicts& verdicts) {
  const auto numbers = std::make_shared<const ValueRanges>(graph, constants_of(before, graph));
  verdicts.ranges.emplace(&graph, numbers);
  context.ranges = numbers.get();
  for (const auto& node : graph.nodes()) {
    for (const auto& inner : node->graphs) ask_each(*inner, target, context, before, verdicts);
    const bool prepares = target.partition.prepares_constant && target.partition.prepares_constant(*node);
    if (prepares || !may_take(*node, target)) continue;
    std::string inside = refuse_inside(*node, target, verdicts);
    verdicts.of.emplace(node.get(), inside.empty() ? ask(target, *node, context) : Verdict::no(std::move(inside)));
  }
}

}  // namespace

std::string_view TargetOptions::setting(const TargetOption& option) const {
  if (settings) {
    for (auto setting = settings->rbegin(); setting != settings->rend(); ++setting) {
      if (setting->first == option.name) return setting->second;
    }
  }
  const std::string_view choices = option.choices;
  return choices.substr(0, choices.find('|'));
}

Verdict ask(const Target& target, const Node& node, const TargetContext& context) {
  Verdict verdict;
  const Status status = catch_failure([&] { verdict = target.partition.supports(node, context); });
  return status.ok() ? verdict : Verdict::no(status.diag().message);
}

Verdicts ask_all(const Graph& graph, const Target& target, const TargetContext& context, const Verdicts* before) {
  const SymScope scope(graph.ranges);
  Verdicts verdicts;
  ask_each(graph, target, context, before, verdicts);
  return verdicts;
}

Result<PartitionReport> partition(Graph& graph, const Target& target, const TargetContext& context,
                                  const Verdicts& verdicts) {
  const SymScope scope(graph.ranges);
  PartitionReport report;
  report.target = target.name;
  RETURN_IF_ERROR(catch_failure([&] { partition_all({graph, ""}, {}, target, context, verdicts, report); }));
  if (target.kernels.prepared_for && !report.taken.nodes.empty())
    report.prepared_for = target.kernels.prepared_for(context.options);
  return report;
}

}  // namespace wick::compiler
