#include "cli/explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "backends/compile_table.h"
#include "cli/explain/call_costs.h"
#include "cli/program/operator_facts.h"
#include "cli/program/program_metadata.h"
#include "cli/program/program_report.h"
#include "cli/program/program_session.h"

namespace wick::cli {
namespace {

using compiler::CallCost;
using compiler::Code;
using compiler::Diag;
using compiler::TargetRequest;

std::string kernel_reason(const std::string& key) {
  if (!has_kernel(key)) return "Wick has no kernel of this name";
  if (is_of_backend(key)) return "an operator of this backend";
  return stock_has_kernel(key) ? "stock has this operator too" : "only Wick has this operator";
}

// "portable", or the name space of a backend's kernels.
std::string place_of(const std::string& key) { return is_of_backend(key) ? key.substr(0, key.find("::")) : "portable"; }

// The call that stops the program. It always fails; the jump of a check that does not hold leads to it.
std::string check_reason(std::string_view message) { return fmt::format("stops the program: {}", message); }

// "650 MACs, 650 bytes of constants, 64 of scratch"
std::string cost_text(const compiler::NodeCost& cost) {
  std::vector<std::string> parts;
  if (cost.macs > 0) parts.push_back(fmt::format("{} MACs", cost.macs));
  if (cost.constant_bytes > 0) parts.push_back(fmt::format("{} bytes of constants", cost.constant_bytes));
  if (cost.scratch_bytes > 0) parts.push_back(fmt::format("{} bytes of scratch", cost.scratch_bytes));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The reason, the cost, and the quantization of operands and results.
std::string with_details(const compiler::NodeVerdict& node) {
  std::string text;
  for (const std::string& part : {node.reason, node.help, cost_text(node.cost), node.quantization})
    text += part.empty() ? "" : (text.empty() ? "" : "; ") + part;
  return text;
}

// Whether it is a kernel of clone or copy, in place or not.
bool is_copy(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find('.'));
  if (kernel.ends_with('_')) kernel.remove_suffix(1);
  return kernel == "aten::clone" || kernel == "aten::copy";
}

InstructionRow instruction_row(const compiler::MethodPlan& plan, const compiler::Instruction& instruction) {
  InstructionRow row;
  if (instruction.kind == compiler::Instruction::Kind::kernel) {
    const compiler::Operator& op = plan.operators[instruction.op];
    row.what = op.overload.empty() ? op.name : op.name + "." + op.overload;
    row.where = place_of(row.what);
    row.why = instruction.check.empty() ? kernel_reason(row.what) : check_reason(instruction.check);
  } else if (instruction.kind == compiler::Instruction::Kind::delegate) {
    const compiler::Delegate& delegate = *plan.delegates[instruction.op];
    row.what =
        fmt::format("delegate {}: {} node{}", instruction.op, delegate.num_nodes, delegate.num_nodes == 1 ? "" : "s");
    row.where = delegate.id;
    row.why = "the nodes that the backend takes, together";
  } else {
    const bool frees = instruction.kind == compiler::Instruction::Kind::free;
    row.what = frees ? "free" : instruction.kind == compiler::Instruction::Kind::move ? "move" : "jump";
    row.where = "executor";
    row.why = frees ? "a value without an upper bound is not read any more" : "control flow";
  }
  if (instruction.origin) {
    row.source = instruction.origin->source;
    row.module = instruction.origin->module;
  }
  return row;
}

MethodExplained explain_plan(const compiler::MethodPlan& plan) {
  MethodExplained explained;
  explained.name = plan.name;
  for (const compiler::Instruction& instruction : plan.instructions)
    explained.rows.push_back(instruction_row(plan, instruction));
  std::set<uint32_t> copies;
  for (const compiler::CopyReason& copy : plan.copies) {
    explained.rows[copy.instruction].why += "; a copy: " + copy.reason;
    copies.insert(copy.instruction);
  }
  explained.copies = copies.size();
  explained.delegates = plan.delegates.size();
  explained.arena = arena_picture(plan);
  explained.unbounded = compiler::unbounded_values(plan);
  return explained;
}

InstructionRow instruction_row(const MethodMeta& method, size_t chain, size_t index) {
  const InstructionMeta instruction = method.instruction(chain, index);
  InstructionRow row;
  row.where = "executor";
  row.why = instruction.kind == InstructionKind::free ? "a value without an upper bound is not read any more"
                                                      : "control flow";
  row.what = instruction_text(method, instruction);
  if (instruction.kind == InstructionKind::kernel) {
    row.what = operator_text(method.op(instruction.target));
    row.where = place_of(row.what);
    const char* check = method.check_message(chain, index);
    row.why = check ? check_reason(check) : kernel_reason(row.what);
    if (is_copy(row.what)) row.why += "; a copy";
  } else if (instruction.kind == InstructionKind::delegate) {
    row.what = fmt::format("delegate {}", instruction.target);
    row.where = method.delegate(instruction.target).id;
    row.why = "the program requires it";
  }
  const compiler::Where where = instruction_source(method, chain, index);
  row.source = where.source;
  row.module = where.module;
  return row;
}

MethodExplained explain_method(const MethodMeta& method) {
  MethodExplained explained;
  explained.name = method.name();
  for (size_t chain = 0; chain < method.num_chains(); ++chain) {
    for (size_t i = 0; i < method.num_instructions(chain); ++i) {
      explained.rows.push_back(instruction_row(method, chain, i));
      explained.copies += is_copy(explained.rows.back().what);
    }
  }
  explained.delegates = method.num_delegates();
  explained.arena = arena_picture(method);
  return explained;
}

// --- costs ---

// The facts that the program was prepared for, or else those of the first target that predicts costs.
std::vector<std::string> facts_of_program(const Program& program, const std::vector<TargetRequest>& targets) {
  std::vector<std::string> facts;
  std::istringstream words(prepared_for(program));
  for (std::string word; words >> word;) facts.push_back(word);
  for (const TargetRequest& request : targets) {
    if (!facts.empty()) break;
    if (!request.target->reporting.call_cost || !request.target->kernels.prepared_for) continue;
    compiler::TargetOptions options;
    options.settings = &request.settings;
    facts = request.target->kernels.prepared_for(options);
  }
  return facts;
}

void add_costs(const std::vector<CallCost>& costs, MethodExplained& explained) {
  const std::vector<uint64_t> live = live_bytes(explained.arena);
  for (size_t i = 0; i < explained.rows.size() && i < live.size(); ++i) explained.rows[i].live_bytes = live[i];
  CostTotals& totals = explained.totals;
  for (size_t i = 0; i < explained.rows.size() && i < costs.size(); ++i) {
    const CallCost& cost = costs[i];
    if (cost.variant.empty()) continue;
    totals.macs += cost.macs;
    totals.largest_scratch_bytes = std::max(totals.largest_scratch_bytes, cost.scratch_bytes);
    totals.instructions += cost.instructions();
    totals.not_known += cost.is_known ? 0 : 1;
    explained.rows[i].cost = cost;
  }
}

std::vector<CallCost> costs_of(const Program& program, const MethodMeta& method,
                               const std::vector<TargetRequest>& targets, MethodExplained& explained) {
  const compiler::Target* model = cost_model_of(program, targets);
  if (!model) return {};
  const std::vector<std::string> facts = facts_of_program(program, targets);
  explained.cost_model = facts.empty() ? model->name : fmt::format("{}", fmt::join(facts, " "));
  std::vector<CallCost> costs = call_costs(method, *model, facts);
  add_costs(costs, explained);
  explained.totals.constant_bytes = constant_bytes(method);
  explained.totals.executor = executor_cost(method, *model, facts);
  explained.totals.instructions += explained.totals.executor.instructions();
  return costs;
}

// --- delegates ---

// Adds the report of the delegate's target, made with the settings in `targets` if the target is among them.
compiler::Status add_report(const compiler::Delegate& delegate, size_t index, const std::vector<TargetRequest>& targets,
                            MethodExplained& explained) {
  for (const compiler::Target* target : compiler::known_targets()) {
    if (!target->delegate.id || delegate.id != target->delegate.id || !target->reporting.delegate) continue;
    compiler::TargetContext context;
    for (const TargetRequest& request : targets) {
      if (request.target == target) context.options.settings = &request.settings;
    }
    ASSIGN_OR_RETURN(compiler::DelegateReport report, target->reporting.delegate(delegate, context));
    explained.delegate_reports.emplace_back(index, std::move(report));
  }
  return {};
}

// The delegates of a method, with what the file holds: payloads and source places of nodes.
std::vector<compiler::Delegate> delegates_of_method(const MethodMeta& method, const MethodFacts& facts) {
  std::vector<compiler::Delegate> delegates(method.num_delegates());
  for (size_t i = 0; i < delegates.size(); ++i) {
    const DelegateMeta meta = method.delegate(i);
    delegates[i].id = meta.id;
    delegates[i].payload.assign(meta.payload.begin(), meta.payload.end());
    if (i >= facts.delegates.size()) continue;
    for (const PlaceFacts& place : facts.delegates[i].nodes) {
      compiler::Origin origin;
      origin.module = place.module;
      origin.source = place.source;
      delegates[i].origins.push_back(std::make_shared<const compiler::Origin>(std::move(origin)));
    }
  }
  return delegates;
}

// Each cost is shown at the first node of its origin.
void explain_nodes(const compiler::MethodReport& report, FloatCosts costs, MethodExplained& explained) {
  for (const compiler::NodeVerdict& node : report.nodes) {
    NodeRow row = {node.op, node.where_it_runs, with_details(node), node.source, node.module, node.cost, {}};
    const auto found = costs.of.find(node.origin.get());
    if (node.where_it_runs == "portable" && found != costs.of.end()) {
      row.outside = found->second;
      costs.of.erase(found);
    }
    explained.nodes.push_back(std::move(row));
  }
  explained.conversions = costs.conversions;
}

}  // namespace

compiler::Result<std::vector<MethodExplained>> explain(const compiler::CompileResult& result,
                                                       const std::vector<TargetRequest>& targets) {
  const std::vector<uint8_t> bytes = result.program.pte.join();
  const wick::Result<Program> program = Program::load({bytes.data(), bytes.size()});
  if (!program.ok()) return Diag(Code::internal, "the compiled program does not load");
  std::vector<MethodExplained> methods;
  for (size_t i = 0; i < result.method_plans.size(); ++i) {
    const compiler::MethodPlan& plan = result.method_plans[i];
    MethodExplained& explained = methods.emplace_back(explain_plan(plan));
    const wick::Result<MethodMeta> meta = program->find_method(plan.name.c_str());
    if (!meta.ok()) return Diag(Code::internal, "the compiled program lacks a method");
    const std::vector<CallCost> costs = costs_of(*program, *meta, targets, explained);
    explain_nodes(result.methods[i], costs.empty() ? FloatCosts() : float_costs(plan, costs), explained);
    explained.breaks = result.methods[i].breaks;
    explained.buffers = result.methods[i].buffers;
    explained.shared_states = plan.shared_states;
    for (size_t d = 0; d < plan.delegates.size(); ++d)
      RETURN_IF_ERROR(add_report(*plan.delegates[d], d, targets, explained));
  }
  return methods;
}

compiler::Result<std::vector<MethodExplained>> explain(const Program& program,
                                                       const std::vector<TargetRequest>& targets) {
  ASSIGN_OR_RETURN(const std::vector<MethodFacts> facts, read_facts(program));
  std::vector<MethodExplained> methods;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    MethodExplained& explained = methods.emplace_back(explain_method(program.method(i)));
    explained.shared_states = facts[i].shared_states;
    costs_of(program, program.method(i), targets, explained);
    const std::vector<compiler::Delegate> delegates = delegates_of_method(program.method(i), facts[i]);
    for (size_t d = 0; d < delegates.size(); ++d) RETURN_IF_ERROR(add_report(delegates[d], d, targets, explained));
  }
  return methods;
}

}  // namespace wick::cli
