#include "compiler/plan/linearize.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "compiler/ir/builder.h"
#include "compiler/ir/text/text.h"
#include "compiler/ops/limits/stock_limits.h"
#include "compiler/plan/linearizer.h"
#include "compiler/plan/view_alias.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

constexpr uint64_t kNamedBytes = 1024;  // constants that the compiler made have a name, too, from this size on
constexpr size_t kNever = std::numeric_limits<size_t>::max();

// Whether the node has nothing to compute. It is skipped: some of stock's kernels abort on empty tensors.
bool without_elements(const Node& node) {
  return !node.op->has(kEffect) && !node.op->has(kRandom) && !node.results().empty() &&
         std::all_of(node.results().begin(), node.results().end(), [](const Value* result) {
           return is_static(result->sizes()) &&
                  numel(result->sizes()).is(0);  // other sizes are set when the kernel runs
         });
}

}  // namespace

bool is_view(const Value* value) { return value->producer && value->producer->op->has(kView); }

// --- instructions ---

void Linearizer::touch(int32_t value_index, uint32_t instruction) {
  const PlannedValue& value = plan_.values[static_cast<size_t>(value_index)];
  if (const auto* list = std::get_if<IndexList>(&value)) {
    if (list->kind == IndexList::Kind::ints) return;
    for (int32_t item : list->items) {
      if (item >= 0) touch(item, instruction);
    }
    return;
  }
  const auto* tensor = std::get_if<PlannedTensor>(&value);
  if (!tensor) return;
  Storage& storage = plan_.storages[tensor->storage];
  storage.first = storage.used ? std::min(storage.first, instruction) : instruction;
  storage.last = storage.used ? std::max(storage.last, instruction) : instruction;
  storage.used = true;
}

uint32_t Linearizer::emit_kernel(std::string_view registry_name, std::vector<int32_t> args, bool stock) {
  const auto at = static_cast<uint32_t>(plan_.instructions.size());
  for (int32_t arg : args) touch(arg, at);
  Instruction instruction;
  instruction.op = operator_index(registry_name, stock);
  instruction.args = std::move(args);
  instruction.origin = origin_;
  plan_.instructions.push_back(std::move(instruction));
  return at;
}

size_t Linearizer::emit_jump(int32_t condition) {
  touch(condition, static_cast<uint32_t>(plan_.instructions.size()));
  plan_.instructions.push_back({Instruction::Kind::jump_false, 0, {condition, 0}, origin_, {}});
  return plan_.instructions.size() - 1;
}

// Copies `source` with its shape. `target` takes any shape up to its bounds.
void Linearizer::copy_into(int32_t target, int32_t source, const std::string& reason) {
  const uint32_t at = emit_kernel("aten::clone.out", {source, none_value(), target, target});
  plan_.copies.push_back({at, reason});
}

// --- views without instructions ---

bool Linearizer::alias_view(const Node& node) {
  const Value* input = node.arg(size_t{0}).as<Value*>();
  const Value* result = node.result();
  const int32_t source_index = tensor_index(input);
  const PlannedTensor source = tensor_at(source_index);
  if (!is_static(result->sizes()) || !is_static(input->sizes())) {
    if (!node.is(Movement::view) || !is_contiguous(*input) || !is_contiguous(*result)) return false;
    // The pointer is set when the program runs.
    const int32_t out = define_tensor(result, source.storage, source.offset_bytes);
    std::get<PlannedTensor>(plan_.values[static_cast<size_t>(out)]).storage =
        new_storage(Storage::Kind::none, 0, result->name);
    const int32_t sizes = int_list(result->sizes());
    emit_kernel("executorch_prim::et_view.default", {source_index, sizes, out});
    // The result lives in the source's memory, which must outlive it.
    view_roots_[out] = source_index;
    return true;
  }
  const std::optional<uint64_t> offset = alias_offset(node);
  if (!offset) return false;
  define_tensor(result, source.storage, source.offset_bytes + *offset);
  return true;
}

// --- state ---

// Position of the last node that reads `value` or a view of it; kNever if it leaves the graph.
size_t Linearizer::last_read(const Value* value) const {
  size_t last = 0;
  for (const GraphOutput& output : graph_.outputs) {
    if (output.value == value) return kNever;
  }
  for (const Node* user : value->users()) {
    auto it = position_.find(user);
    if (it == position_.end()) return kNever;
    last = std::max(last, it->second);
    if (user->op->has(kView)) last = std::max(last, last_read(user->result()));
  }
  return last;
}

// The operand whose memory the producer of `result` can reuse for it, or null.
const Value* Linearizer::overwritten(const Value* result) {
  const Node& node = *result->producer;
  size_t index = 0;
  if (node.op->has(kMutates)) {
    const size_t own = node.op->parsed->own_returns();
    if (result->result_index < own) return nullptr;
    index = node.op->parsed->mutated[result->result_index - own];
  } else if (!node.op->has(kOverwrites)) {
    return nullptr;
  }
  return node.arg(index).is<Value*>() ? node.arg(index).as<Value*>() : nullptr;
}

// Whether `writer`, a top-level node, reads `value` once, and no later node reads it or a view of it. `outside_uses`:
// the uses of `value` by outputs and state updates that are allowed.
bool Linearizer::dies_in(const Value* value, const Node& writer, size_t outside_uses) const {
  const size_t at = position_.at(&writer);
  size_t reads_by_writer = 0;
  for (const Node* user : value->users()) {
    reads_by_writer += user == &writer;
    if (user == &writer) continue;
    if (!position_.count(user) || position_.at(user) >= at) return false;
    if (user->op->has(kView) && last_read(user->result()) >= at) return false;
  }
  return reads_by_writer == 1 && value->num_uses() - value->users().size() == outside_uses;
}

// Finds, for each update, the chain state -> version 1 -> .. -> new value of nodes that can all write in place.
void Linearizer::plan_state_writes() {
  for (const StateUpdate& update : graph_.updates) {
    if (update.target->kind != ValueKind::state) continue;
    std::vector<const Value*> versions;
    const Value* value = update.value;
    bool in_place = true;
    while (value != update.target) {
      const Node* node = value->producer;
      const Value* before = node && position_.count(node) ? overwritten(value) : nullptr;
      if (!before || !(value->type == update.target->type) || writes_state_.count(value)) {
        in_place = false;
        break;
      }
      versions.push_back(value);
      value = before;
    }
    // When a version is written, only its writer may still read the version before it.
    for (size_t i = 0; in_place && i < versions.size(); ++i) {
      const Value* before = i + 1 < versions.size() ? versions[i + 1] : update.target;
      in_place = dies_in(before, *versions[i]->producer, before == update.target ? 1 : 0);
    }
    const size_t uses = in_place ? std::count_if(graph_.updates.begin(), graph_.updates.end(),
                                                 [&](const StateUpdate& u) { return u.value == update.value; })
                                 : 0;
    if (!in_place || uses != 1) continue;
    for (const Value* version : versions) writes_state_[version] = update.target;
  }
}

void Linearizer::updates() {
  struct Copy {
    int32_t target, source;
  };
  std::vector<Copy> copies;
  for (const StateUpdate& update : graph_.updates) {
    if (update.target->kind != ValueKind::state || writes_state_.count(update.value)) continue;
    const int32_t target = tensor_index(update.target);
    int32_t source = tensor_index(update.value);
    if (target == source) continue;
    if (plan_.storages[tensor_at(source).storage].kind == Storage::Kind::state) {
      const int32_t saved = scratch_like(tensor_at(source), update.value->name);
      copy_into(saved, source, "one buffer takes the old value of another");
      source = saved;
    }
    copies.push_back({target, source});
  }
  // An output that is the old content of a buffer is saved before the buffer changes.
  for (const GraphOutput& output : graph_.outputs) {
    if (output.kind != GraphOutput::Kind::value || !output.value->type.is_tensor()) continue;
    const int32_t index = tensor_index(output.value);
    const uint32_t storage = tensor_at(index).storage;
    const bool overwritten = std::any_of(copies.begin(), copies.end(),
                                         [&](const Copy& copy) { return tensor_at(copy.target).storage == storage; });
    if (!overwritten) continue;
    const int32_t saved = scratch_like(tensor_at(index), output.value->name);
    copy_into(saved, index, "the program returns the old contents of a buffer it changes");
    index_[output.value] = saved;
  }
  for (const Copy& copy : copies) {
    const uint32_t at = emit_kernel("aten::copy_", {copy.target, copy.source, literal(false), copy.target});
    plan_.copies.push_back({at, "a buffer takes its new value"});
  }
}

// --- nodes ---

// The tensor that a kernel changes in place for mutated argument number `index`: the argument's own tensor if nobody
// reads the old value later, else a copy.
int32_t Linearizer::changed_argument(const Node& node, size_t index) {
  const Schema& schema = *node.op->parsed;
  const Value* value = node.arg(schema.mutated[index]).as<Value*>();
  const Value* result = node.result(schema.own_returns() + index);
  const int32_t source = tensor_index(value);
  const auto is_ours = [&](const PlannedTensor& tensor) {
    const Storage::Kind kind = plan_.storages[tensor.storage].kind;
    return kind == Storage::Kind::arena || kind == Storage::Kind::unbounded;
  };
  const bool ours = value->kind == ValueKind::result && value->producer && !is_view(value) && !placed_.count(value) &&
                    position_.count(value->producer) && position_.count(&node) && is_ours(tensor_at(source));
  int32_t target = source;
  if (!writes_state_.count(result) && !(ours && dies_in(value, node, 0))) {
    target = scratch_like(tensor_at(source), result->name);
    copy_into(target, source, fmt::format("{} writes what is still read later", node.op->name()));
  }
  index_[result] = target;
  return target;
}

void Linearizer::kernel_node(const Node& node) {
  const Schema& schema = *node.op->parsed;
  const std::vector<ArgSpec>& specs = schema.args;
  if (!node.op->kernel) {
    fail(Diag(Code::internal, fmt::format("{} has no kernel and was not decomposed", node.op->name()))
             .in(where_of(node)));
  }
  // Out variants lack the dtype, layout, device and pin_memory of factories, and generators.
  const bool factory = node.op->parsed->find("layout") >= 0;
  std::vector<int32_t> args;
  for (size_t i = 0; i < specs.size(); ++i) {
    const ArgSpec& spec = specs[i];
    if (spec.type == ArgType::generator) continue;
    if (factory &&
        (spec.name == "dtype" || spec.name == "layout" || spec.name == "device" || spec.name == "pin_memory"))
      continue;
    const auto changed = std::find(schema.mutated.begin(), schema.mutated.end(), i);
    args.push_back(changed == schema.mutated.end()
                       ? argument(spec, node.arg(i))
                       : changed_argument(node, static_cast<size_t>(changed - schema.mutated.begin())));
  }
  IndexList outs{IndexList::Kind::tensors, {}};
  for (size_t i = 0; i < node.results().size() - schema.mutated.size(); ++i) {
    const Value* result = node.result(i);
    if (!result->type.is_tensor()) fail(Code::internal, fmt::format("{} does not return tensors", node.op->name()));
    auto written = writes_state_.find(result);
    const int32_t out = written == writes_state_.end()
                            ? allocate(result)
                            : define_tensor(result, tensor_at(tensor_index(written->second)).storage, 0);
    args.push_back(out);
    outs.items.push_back(out);
  }
  if (outs.items.size() == 1)
    args.push_back(outs.items[0]);
  else
    args.push_back(add_value(std::move(outs)));
  if (without_elements(node)) return;
  if (node.op->has(kLlmLibrary))
    note_not_stock(fmt::format("{} (but stock's library of operators for language models has it)", node.op->kernel));
  if (const std::string_view limit = stock_limit(node); !limit.empty())
    note_not_stock(fmt::format("{} ({})", node.op->kernel, limit));
  emit_kernel(node.op->kernel, std::move(args), !node.op->has(kNoStock));
  if (node.op->has(kView)) {
    plan_.copies.push_back({static_cast<uint32_t>(plan_.instructions.size() - 1),
                            fmt::format("the result of {} is not a contiguous range of its operand", node.op->name())});
  } else if (node.is("aten.cat.default")) {
    plan_.copies.push_back({static_cast<uint32_t>(plan_.instructions.size() - 1), why_copied(node)});
  }
}

// Outputs get storage of their own: a delegate may write them before it has read all its inputs.
void Linearizer::delegate_node(const Node& node) {
  const int64_t number = node.static_integer("delegate");
  const auto [it, fresh] = delegates_.try_emplace({current_, number}, static_cast<uint32_t>(plan_.delegates.size()));
  if (fresh) plan_.delegates.push_back(current_->delegates.at(static_cast<size_t>(number)));
  Instruction instruction;
  instruction.kind = Instruction::Kind::delegate;
  instruction.op = it->second;
  instruction.origin = origin_;
  for (const Value* input : node.tensors("inputs")) instruction.args.push_back(tensor_index(input));
  for (const Value* result : node.results()) instruction.args.push_back(allocate(result));
  const auto at = static_cast<uint32_t>(plan_.instructions.size());
  for (int32_t arg : instruction.args) touch(arg, at);
  plan_.instructions.push_back(std::move(instruction));
  for (const Value* result : node.results()) define_symbols(result);
}

// Operators that compute numbers write their result value themselves and take no out argument.
void Linearizer::scalar_node(const Node& node) {
  std::vector<int32_t> args;
  for (size_t i = 0; i < node.args().size(); ++i) args.push_back(argument(node.op->parsed->args[i], node.arg(i)));
  const Type& type = node.result()->type;
  PlannedValue initial = int64_t{0};
  if (type.kind == TypeKind::real) initial = 0.0;
  if (type.kind == TypeKind::boolean) initial = false;
  const int32_t out = add_value(std::move(initial));
  args.push_back(out);
  emit_kernel(node.op->kernel, std::move(args));
  index_[node.result()] = out;
  if (type.kind == TypeKind::real || type.expr.is_const()) return;
  expressions_.back()[type.expr.text()] = out;
  if (type.kind == TypeKind::integer && !type.expr.symbol_name().empty())
    check_range(type.expr, number_subject(node), std::numeric_limits<int64_t>::min());
}

void Linearizer::node(const Node& node) {
  origin_ = node.origin;
  const std::string_view name = node.op->name();
  if (name == "higher_order.cond.default") return cond(node);
  if (name == "higher_order.while_loop.default") return while_loop(node);
  if (name == "higher_order.scan.default") return scan(node, true);
  if (name == "higher_order.map_impl.default") return scan(node, false);
  if (is_delegate_call(node)) return delegate_node(node);
  if (node.op->has(kEffect)) return assertion(node);
  if (node.op->has(kScratch)) {
    allocate(node.result());
    return;
  }
  if (!node.results().empty() && !node.result()->type.is_tensor()) return scalar_node(node);
  if (node.op->has(kView) && !placed_.count(node.result()) && alias_view(node)) return;
  if (joined_.count(&node)) {
    allocate(node.result());
    return;
  }
  kernel_node(node);
  for (const Value* result : node.results()) {
    for (const std::string& symbol : define_symbols(result))
      check_range(Sym::symbol(symbol), fmt::format("{}, a size of the result of {},", symbol, name), 0);
  }
}

void Linearizer::nodes(const Graph& graph) {
  const Graph* outer = std::exchange(current_, &graph);
  plan_concatenations(graph);
  for (const auto& item : graph.nodes()) node(*item);
  origin_ = nullptr;
  current_ = outer;
}

// --- borders ---

void Linearizer::inputs() {
  for (const GraphInput& input : graph_.inputs) {
    int32_t index = 0;
    switch (input.kind) {
      case GraphInput::Kind::value:
        index = allocate(input.value);
        // An unbounded input stays in the caller's memory.
        if (tensor_at(index).unbounded) plan_.storages[tensor_at(index).storage].kind = Storage::Kind::none;
        break;
      case GraphInput::Kind::integer: index = add_value(input.integer); break;
      case GraphInput::Kind::real: index = add_value(input.real); break;
      case GraphInput::Kind::boolean: index = add_value(input.integer != 0); break;
      case GraphInput::Kind::string: index = add_value(input.string); break;
      case GraphInput::Kind::none: index = add_value(std::monostate{}); break;
    }
    if (input.kind == GraphInput::Kind::value) touch(index, 0);
    plan_.inputs.push_back(index);
    plan_.input_names.push_back(input.name);
    plan_.input_types.push_back(input.kind == GraphInput::Kind::value ? to_text(input.value->type) : "");
    plan_.input_numbers.push_back(input.kind == GraphInput::Kind::value ? numbers_in(*input.value) : InputNumbers());
  }
  for (const GraphInput& input : graph_.inputs) {
    if (input.kind == GraphInput::Kind::value) define_symbols(input.value);
  }
  check_input_sizes();
}

void Linearizer::stored_values() {
  auto define = [&](const Value* value, Storage::Kind kind) {
    const uint32_t storage = new_storage(kind, bound_bytes(describe(value)), value->buffer_name());
    plan_.storages[storage].data = value->data;
    const int32_t index = define_tensor(value, storage, 0);
    auto& tensor = std::get<PlannedTensor>(plan_.values[static_cast<size_t>(index)]);
    tensor.name = value->fqn;
    if (tensor.name.empty() && kind == Storage::Kind::constant && plan_.storages[storage].size_bytes >= kNamedBytes)
      tensor.name = "wick." + value->name;
  };
  auto walk = [&](auto&& self, const Graph& graph) -> void {
    for (const Value* value : graph.constants()) {
      if (is_needed(value)) define(value, Storage::Kind::constant);
    }
    for (const auto& item : graph.nodes()) {
      for (const auto& inner : item->graphs) self(self, *inner);
    }
  };
  walk(walk, graph_);
  for (const Value* value : graph_.states()) define(value, Storage::Kind::state);
}

void Linearizer::outputs() {
  for (const StateUpdate& update : graph_.updates) {
    if (update.target->kind == ValueKind::state) continue;
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (graph_.inputs[i].value == update.target) plan_.mutated_inputs.push_back(static_cast<int32_t>(i));
    }
    plan_.outputs.push_back(tensor_index(update.value));
  }
  for (const GraphOutput& output : graph_.outputs) {
    int32_t index = 0;
    switch (output.kind) {
      case GraphOutput::Kind::value:
        index = output.value->type.is_tensor() ? tensor_index(output.value) : scalar_index(output.value);
        break;
      case GraphOutput::Kind::integer: index = int_value(output.integer); break;
      case GraphOutput::Kind::boolean:
        index = output.integer.is_const() ? literal(output.integer.value() != 0) : int_value(output.integer);
        break;
      case GraphOutput::Kind::real: index = literal(output.real); break;
      case GraphOutput::Kind::string: index = literal(output.string); break;
      case GraphOutput::Kind::none: index = none_value(); break;
    }
    plan_.outputs.push_back(index);
    plan_.output_leaves.push_back(output.leaf);
  }
  outputs_at_ = static_cast<uint32_t>(plan_.instructions.size());
  for (int32_t index : plan_.outputs) touch(index, outputs_at_);
}

// A view whose pointer is set at run time keeps its source's memory alive.
void Linearizer::extend_views() {
  for (auto it = view_roots_.rbegin(); it != view_roots_.rend(); ++it) {
    const Storage& view = plan_.storages[tensor_at(it->first).storage];
    if (view.used) touch(it->second, view.last);
  }
}

MethodPlan Linearizer::run() {
  plan_.name = function_.name;
  plan_.in_spec = function_.in_spec;
  plan_.out_spec = function_.out_spec;
  plan_.ranges = graph_.ranges;
  for (const auto& node : graph_.nodes()) {
    const bool is_rule = node->is("aten._assert_scalar.default") && node->arg(0).is<Sym>();
    if (is_rule && !node->arg(0).as<Sym>().is_const()) plan_.rules.push_back(node->arg(0).as<Sym>());
  }
  plan_.notes = function_.notes;
  size_t position = 0;
  for (const auto& item : graph_.nodes()) position_[item.get()] = ++position;
  inputs();
  stored_values();
  plan_state_writes();
  nodes(graph_);
  updates();
  outputs();
  failures();
  extend_views();
  extend_loops();
  free_unbounded();
  if (options_.stock_only && !plan_.not_stock.empty()) {
    Diag diag(Code::unsupported_op, "stock ExecuTorch has no kernel for what this model needs");
    diag.notes = plan_.not_stock;
    fail(std::move(diag).with_help("compile with --profile auto and run the program on Wick's runtime"));
  }
  return std::move(plan_);
}

Result<MethodPlan> linearize(const Function& function, const LinearizeOptions& options) {
  std::optional<MethodPlan> plan;
  RETURN_IF_ERROR(catch_failure([&] { plan = Linearizer(function, options).run(); }));
  return std::move(*plan);
}

}  // namespace wick::compiler
