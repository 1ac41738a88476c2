#include "backends/cuda/compile/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cuda/compile/control/plan_control.h"
#include "backends/cuda/compile/layout/channels_last.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "compiler/support/failure.h"

namespace wick::cuda {

using compiler::Graph;
using compiler::SymScope;

namespace {

// An element that costs at most this many operations and loads is computed again for each reader.
constexpr size_t kCheapCalls = 1, kCheapLoads = 1;
// Functions that cost more are stored in buffers, so that kernels stay small.
constexpr size_t kMostCalls = 160, kMostLoads = 24;

// A matmul computes a norm again in each tile only for rows of these lengths, and only if both sides have enough lines
// for tiles. Matrix instructions need fewer rows.
constexpr int64_t kFewestNormedColumns = 32, kMostNormedColumns = 2048, kFewestNormedRows = 16,
                  kFewestNormedRowsOfMatrices = 2;
// With matrix instructions, computing more normed elements than this, over all tiles, takes longer than a kernel that
// stores them. kLinesOfTile: the assumed lines of the other factor in a tile.
constexpr int64_t kMostNormedElements = 6'000'000, kLinesOfTile = 64;

bool is_norm(const LoopKernel& kernel) {
  return !kernel.attention && !kernel.in_order && !kernel.line && kernel.columns.size() == 1 &&
         kernel.row_stores.empty() && kernel.column_stores.empty() && !kernel.reductions.empty() &&
         std::all_of(kernel.reductions.begin(), kernel.reductions.end(), [](const Reduction& reduction) {
           return reduction.kind == ReductionKind::sum && reduction.type == ScalarType::f32 && !reduction.guard;
         });
}

Sizes contiguous_strides(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

}  // namespace

Lowering::Lowering(const Graph& graph, LoweredGraph& out, LoweringOptions options)
    : graph_(graph), out_(out), options_(options), joined_(find_joined_linears(graph)), lowered_(&graph) {}

void Lowering::run() {
  for (size_t i = 0; i < graph_.outputs.size(); ++i)
    outputs_[graph_.outputs[i].value].push_back(static_cast<uint32_t>(i));
  writes_ = find_state_writes(graph_, graph_.updates, !options_.materializes_views);
  channels_last_ = find_channels_last(graph_);
  for (const compiler::StateUpdate& update : updates_left()) ++new_values_[update.value];
  add_inputs();
  add_states();
  for (const Node* node : writes_.order) lower_node(*node);
  node_ = nullptr;
  store_outputs();
  store_updates();
}

void Lowering::add_inputs() {
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    const Value* value = graph_.inputs[i].value;
    KernelBuffer buffer;
    buffer.kind = KernelBuffer::Kind::input;
    buffer.index = static_cast<uint32_t>(i);
    buffer.dtype = value->dtype();
    buffer.elements = numel(value->sizes());
    out_.buffers.push_back(std::move(buffer));
    set_stored(value, static_cast<uint32_t>(out_.buffers.size() - 1));
  }
}

void Lowering::lower_node(const Node& node) {
  node_ = &node;
  // defined together with an earlier node of its group
  if (!node.results().empty() && tensors_.count(node.results()[0]) > 0) {
    done_.insert(&node);
    return;
  }
  for (const Value* operand : node.operands()) {
    if (operand->is_constant() && !tensors_.count(operand)) add_constant(operand);
  }
  for (SizeRequirement& each : left_to_check(node))
    out_.requirements.push_back({each, refusal(each.otherwise), open_part(out_.marks)});
  find_rule(node)->lower(*this, node);
  // An unfinished kernel waits for one reader only, the next node that reads it.
  store_unfinished_operands("reads it in a kernel of its own");
  done_.insert(&node);
}

void Lowering::store_unfinished_operands(const char* why) {
  for (const Value* operand : node_->operands()) {
    const auto found = tensors_.find(operand);
    if (found != tensors_.end() && found->second.stage == Stage::unfinished) store_because(operand, of_node(why));
  }
}

void Lowering::store_outputs() {
  for (const compiler::GraphOutput& output : graph_.outputs) {
    const Value* value = output.value;
    if (value->is_constant() && !tensors_.count(value)) add_constant(value);
    if (tensor(value).stage != Stage::stored) store_because(value, who_reads(value));
  }
  // An output may be a buffer of its own besides the value, whose readers read the value.
  std::set<uint32_t> written;
  for (const KernelBuffer& buffer : out_.buffers) {
    if (buffer.kind == KernelBuffer::Kind::output) written.insert(buffer.index);
  }
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    if (written.count(static_cast<uint32_t>(i)) > 0) continue;
    const Value* value = graph_.outputs[i].value;
    KernelBuffer buffer;
    buffer.kind = KernelBuffer::Kind::output;
    buffer.index = static_cast<uint32_t>(i);
    buffer.dtype = value->dtype();
    buffer.elements = numel(value->sizes());
    out_.buffers.push_back(std::move(buffer));
    Draft copy = loops_over(value->sizes(), {});
    copy.kernel.row_stores.push_back({static_cast<uint32_t>(out_.buffers.size() - 1), value->dtype(),
                                      join(copy.rows, value->sizes()), element(value, copy.rows), nullptr});
    copy.kernel.why = "an output that is a view, an input, a constant or another output";
    emit(std::move(copy.kernel));
  }
  outputs_.clear();
}

Lowering::Tensor& Lowering::tensor(const Value* value) {
  const auto found = tensors_.find(value);
  if (found == tensors_.end()) compiler::fail(compiler::Code::internal, "cuda: no rule defined '" + value->name + "'");
  return found->second;
}

size_t Lowering::readers(const Value* value) const {
  std::vector<const Node*> nodes;
  for (const Node* user : value->users()) {
    const auto found = joined_.find(user);
    nodes.push_back(found == joined_.end() ? user : found->second->members[0]);
  }
  std::sort(nodes.begin(), nodes.end());
  const auto distinct = static_cast<size_t>(std::unique(nodes.begin(), nodes.end()) - nodes.begin());
  const auto output = outputs_.find(value);
  const auto inner = inner_outputs_.find(value);
  const auto buffers = new_values_.find(value);
  return distinct + (output == outputs_.end() ? 0 : output->second.size()) +
         (inner == inner_outputs_.end() ? 0 : inner->second) + (buffers == new_values_.end() ? 0 : buffers->second);
}

// --- elements ---

ExpressionPtr Lowering::element(const Value* value, const Indices& at) {
  Tensor& found = tensor(value);
  if (found.stage == Stage::unfinished) {
    if (found.unfinished->at != at) throw NotKnown();
    return found.unfinished->element;
  }
  if (found.stage == Stage::stored) return pool().load(found.buffer, value->dtype(), offset_of(found, at));
  std::vector<uint32_t> ids;
  ids.reserve(at.size());
  for (const ExpressionPtr index : at) ids.push_back(index->id);
  const auto key = std::tuple(value, std::move(ids), pool().guard() ? pool().guard()->id + 1 : 0);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const ExpressionPtr made = found.element(at);
  return known_[key] = made;
}

ExpressionPtr Lowering::offset_of(const Home& home, const Indices& at) {
  ExpressionPtr offset = pool().index(home.offset);
  for (size_t i = 0; i < at.size(); ++i)
    offset = pool().add(offset, pool().multiply(at[i], pool().index(home.strides[i])));
  return offset;
}

Element Lowering::elements_of(const Value* value) {
  return [this, value](const Indices& at) { return element(value, at); };
}

ExpressionPtr Lowering::scalar(const compiler::Arg& arg, ScalarType type) {
  if (arg.is<Value*>()) {
    const Value* value = arg.as<Value*>();
    if (value->type.is_tensor()) return pool().cast(element(value, Indices(value->rank(), pool().index(0))), type);
    return pool().cast(pool().index(value->type.expr), type);
  }
  if (arg.is<Sym>()) return pool().cast(pool().index(arg.as<Sym>()), type);
  if (arg.is<bool>()) return pool().constant(arg.as<bool>(), arg.as<bool>(), type);
  const double number = arg.as<double>();
  if (type == ScalarType::boolean) return pool().constant(number != 0, number != 0, type);
  if (is_real(type))
    return pool().constant(type == ScalarType::f32 ? static_cast<double>(static_cast<float>(number)) : number, 0, type);
  constexpr double kEdge = 0x1p63;
  if (!(number >= -kEdge && number < kEdge))
    compiler::fail(compiler::Code::unsupported_model, fmt::format("the number {} for a tensor of integers", number));
  return pool().constant(number, static_cast<int64_t>(number), type);
}

Loop Lowering::new_loop(const Sym& extent) {
  const std::string name = fmt::format("k{}", loops_++);
  const compiler::SymRange range = compiler::SymScope::range(extent);
  out_.ranges[name] = {0, range.max == compiler::kUnbounded ? range.max : std::max<int64_t>(range.max, 1) - 1};
  return {Sym::symbol(name), extent};
}

Indices Lowering::indices_of(const Sizes& sizes) {
  Indices at;
  for (const Sym& size : sizes) at.push_back(size.is(1) ? pool().index(0) : pool().index(new_loop(size).variable));
  return at;
}

Indices Lowering::broadcast(const Value& operand, const Indices& at, const Sizes& wide) {
  Indices own(at.end() - static_cast<std::ptrdiff_t>(operand.rank()), at.end());
  for (size_t i = 0; i < own.size(); ++i) {
    const Sym& size = operand.sizes()[i];
    if (size.is(1)) {
      own[i] = pool().index(0);
    } else if (!same(size, wide[wide.size() - own.size() + i])) {
      own[i] = pool().multiply(own[i], pool().index(compiler::make_sym(compiler::SymOp::ne, {size, 1})));
    }
  }
  return own;
}

ExpressionPtr Lowering::join(const Indices& at, const Sizes& sizes) {
  const Sizes strides = contiguous_strides(sizes);
  ExpressionPtr linear = pool().index(0);
  for (size_t i = 0; i < at.size(); ++i) linear = pool().add(linear, pool().multiply(at[i], pool().index(strides[i])));
  return linear;
}

Indices Lowering::split(ExpressionPtr linear, const Sizes& sizes) {
  const Sizes strides = contiguous_strides(sizes);
  Indices at;
  bool outermost = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].is(1)) {
      at.push_back(pool().index(0));
      continue;
    }
    const ExpressionPtr quotient = pool().floor_divide(linear, pool().index(strides[i]));
    at.push_back(outermost ? quotient : pool().modulo(quotient, pool().index(sizes[i])));
    outermost = false;
  }
  return at;
}

std::string Lowering::refusal(std::string_view what) const {
  std::string place = node_->origin ? node_->origin->module : "";
  if (node_->origin && !node_->origin->source.empty()) place += " (" + node_->origin->source + ")";
  return fmt::format("{}: {}{}{}", node_->op->name(), what, place.empty() ? "" : " at ", place);
}

uint32_t Lowering::add_check(std::string_view what) {
  out_.checks.push_back(refusal(what));
  return static_cast<uint32_t>(out_.checks.size() - 1);
}

ExpressionPtr Lowering::checked_index(ExpressionPtr position, const Sym& size, bool wraps, uint32_t check) {
  const ExpressionPtr count = pool().cast(pool().index(size), ScalarType::i64);
  const std::string text = fmt::format("checked_index({{0}}, {{1}}, {}, {{check}}, {})", wraps, check);
  return pool().cast(pool().call(ScalarType::i64, text, {pool().cast(position, ScalarType::i64), count}),
                     ScalarType::index);
}

// --- results ---

// Equal indices for equal sizes, so that functions which others read are already known at them. New ones once a
// function has become a buffer.
const Indices& Lowering::indices_to_measure(const Sizes& sizes) {
  std::vector<int64_t> bounds;
  for (const Sym& size : sizes) bounds.push_back(size.is(1) ? -1 : SymScope::range(size).max);
  return measured_at_.try_emplace(std::move(bounds), indices_of(sizes)).first->second;
}

void Lowering::measure(const Value* value, Tensor& measured) {
  for_each({element(value, indices_to_measure(value->sizes()))}, [&](ExpressionPtr e) {
    measured.loads += e->kind == ExpressionKind::load;
    // Indices and conversions of constants cost next to nothing.
    const bool constant = std::all_of(e->args.begin(), e->args.end(), [](ExpressionPtr arg) {
      return arg->kind == ExpressionKind::index && arg->index.is_const();
    });
    measured.calls += e->kind == ExpressionKind::call && e->type != ScalarType::index && !constant;
  });
}

void Lowering::define(const Value* result, Element element, IndexMap to_result) {
  tensors_[result].element = std::move(element);
  const std::vector<Value*> operands = node_->operands();
  const Value* last = nullptr;
  for (const Value* operand : operands) {
    if (!operand->type.is_tensor() || tensor(operand).stage != Stage::unfinished) continue;
    if (last && operand != last) store_because(last, of_node("can become part of one of its operands' kernels only"));
    last = operand;
  }
  if (last && absorb(result, last, tensors_[result].element, to_result)) {
    if (readers(result) != 1) store_because(result, who_reads(result));
    return;
  }
  if (last) store_because(last, of_node("reads other elements than a thread of the kernel holds"));
  // A function with more readers of its elements than elements is computed once.
  for (const Value* operand : operands) {
    if (!operand->type.is_tensor() || tensor(operand).stage != Stage::function) continue;
    if (!(numel(operand->sizes()) == numel(result->sizes())) && !operand->is_constant()) store_if_expensive(operand, 2);
  }
  Tensor& made = tensor(result);
  measure(result, made);
  made.narrow = reads_narrow();
  const bool cheap = made.narrow || (made.calls <= kCheapCalls && made.loads <= kCheapLoads);
  if (made.calls > kMostCalls || made.loads > kMostLoads) {
    store_because(result, cost_of(made) + ", the most for one kernel");
  } else if (readers(result) > 1 && !cheap) {
    store_because(result, who_reads(result) + ", and " + cost_of(made));
  }
}

// Whether the current node only converts or moves integers that are in memory.
bool Lowering::reads_narrow() const {
  const std::vector<Value*> operands = node_->operands();
  const auto from = operands.empty() ? tensors_.end() : tensors_.find(operands[0]);
  if (from == tensors_.end()) return false;
  const Tensor& elements = from->second;
  const bool bytes = is_integral(operands[0]->dtype()) && dtype_size_bytes(operands[0]->dtype()) == 1;
  const bool in_memory = elements.narrow || (elements.stage == Stage::stored && bytes);
  const bool converts = node_->op->has(compiler::kDequantizes) ||
                        (node_->is("aten._to_copy.default") && bytes && is_floating(node_->result()->dtype()));
  return (converts && in_memory) || (elements.narrow && node_->op->has(compiler::kView | compiler::kMoves));
}

bool Lowering::absorb(const Value* result, const Value* operand, const Element& element, const IndexMap& to_result) {
  Unfinished& open = *tensor(operand).unfinished;
  Indices at;
  if (to_result) {
    // The number of elements may differ at run time; that is checked before the call.
    if (!(numel(result->sizes()) == numel(operand->sizes()))) return false;
    at = to_result(open.at);
  } else if (result->sizes() == operand->sizes()) {
    at = open.at;
  } else if (numel(result->sizes()) == numel(operand->sizes()) && node_->op->has(compiler::kView)) {
    at = split(join(open.at, operand->sizes()), result->sizes());
  } else {
    return false;
  }
  try {
    if (!to_result) open.element = element(at);  // otherwise it stays the same element, at other indices
  } catch (const NotKnown&) {
    return false;
  }
  open.at = std::move(at);
  open.kernel.nodes.push_back(node_);
  add_inlined(*node_, open.kernel);
  Tensor& made = tensors_[result];
  made.stage = Stage::unfinished;
  made.unfinished = std::move(tensor(operand).unfinished);
  tensors_.erase(operand);
  return true;
}

Draft Lowering::draft(const Sizes& rows, const Sizes& columns) {
  store_unfinished_operands("begins a kernel of its own");
  return loops_over(rows, columns);
}

// Whether matrix instructions can multiply elements of the two.
bool Lowering::are_matrices(const Value* operand, const Value* factor) {
  const DType dtype = operand->dtype();
  if (dtype != DType::f16 && dtype != DType::bf16) return false;
  return !factor || (factor->dtype() == dtype && tensor(factor).stage == Stage::stored);
}

std::optional<Lowering::AfterNorm> Lowering::draft_after_norm(const Value* operand, const Value* factor,
                                                              const Sym& depth, const Sym& more_rows) {
  const Tensor& found = tensor(operand);
  if (found.stage != Stage::unfinished || !found.unfinished->per_column) return std::nullopt;
  const Unfinished& open = *found.unfinished;
  if (!is_norm(open.kernel) || !(open.kernel.columns[0].extent == depth)) return std::nullopt;
  const Sym& column = open.kernel.columns[0].variable;
  const bool elsewhere = std::any_of(open.at.begin(), open.at.end() - 1, [&](ExpressionPtr index) {
    return symbols_of(index).count(column.symbol_name()) > 0;
  });
  const int64_t columns = SymScope::range(depth).max, elements = SymScope::range(numel(operand->sizes())).max;
  const bool by_matrices = are_matrices(operand, factor);
  const int64_t fewest = by_matrices ? kFewestNormedRowsOfMatrices : kFewestNormedRows;
  const int64_t tiles = (SymScope::range(more_rows).max + kLinesOfTile - 1) / kLinesOfTile;
  const bool pays = (!by_matrices || elements <= kMostNormedElements / tiles) && columns >= kFewestNormedColumns &&
                    columns <= kMostNormedColumns && elements / columns >= fewest &&
                    SymScope::range(more_rows).max >= kFewestNormedRows;
  const std::vector<Value*> operands = node_->operands();
  if (elsewhere || !pays || open.at.back() != pool().index(column) ||
      std::count(operands.begin(), operands.end(), operand) != 1)
    return std::nullopt;
  AfterNorm out;
  out.element = open.element;
  out.draft.kernel = open.kernel;
  out.draft.rows.assign(open.at.begin(), open.at.end() - 1);
  out.draft.columns = {open.at.back()};
  out.draft.kernel.rows.push_back(new_loop(more_rows));
  out.draft.rows.push_back(pool().index(out.draft.kernel.rows.back().variable));
  tensors_.erase(operand);
  store_unfinished_operands("begins a kernel of its own");
  return out;
}

Draft Lowering::loops_over(const Sizes& rows, const Sizes& columns) {
  Draft made;
  const auto add = [&](const Sizes& sizes, std::vector<Loop>& loops, Indices& at) {
    for (const Sym& size : sizes) {
      if (size.is(1)) {
        at.push_back(pool().index(0));
        continue;
      }
      loops.push_back(new_loop(size));
      at.push_back(pool().index(loops.back().variable));
    }
  };
  add(rows, made.kernel.rows, made.rows);
  add(columns, made.kernel.columns, made.columns);
  return made;
}

ExpressionPtr Lowering::reduce(Draft& draft, ReductionKind kind, ExpressionPtr element, ExpressionPtr guard) {
  draft.kernel.reductions.push_back({kind, element->type, element, guard && is_true(guard) ? nullptr : guard});
  return pool().reduced(static_cast<uint32_t>(draft.kernel.reductions.size() - 1), element->type);
}

ExpressionPtr Lowering::position(const Draft&, ExpressionPtr reduced) {
  return pool().reduced(reduced->buffer, ScalarType::i64, true);
}

void Lowering::finish(Draft draft, std::vector<DraftResult> results) {
  if (node_ && (draft.kernel.nodes.empty() || draft.kernel.nodes.back() != node_)) draft.kernel.nodes.push_back(node_);
  if (node_) add_inlined(*node_, draft.kernel);
  const auto per_column = [&](const DraftResult& result) {
    std::set<std::string, std::less<>> symbols;
    for (const ExpressionPtr index : result.at) collect_symbols(index->index, symbols);
    return std::any_of(draft.kernel.columns.begin(), draft.kernel.columns.end(),
                       [&](const Loop& loop) { return symbols.count(loop.variable.symbol_name()) > 0; });
  };
  if (results.size() == 1 && readers(results[0].result) == 1) {
    Tensor& made = tensors_[results[0].result];
    made.stage = Stage::unfinished;
    const bool columns = per_column(results[0]);
    made.unfinished =
        std::make_unique<Unfinished>(Unfinished{std::move(draft.kernel), results[0].at, results[0].element, columns});
    return;
  }
  for (const DraftResult& result : results) {
    const uint32_t buffer = buffer_for(result.result);
    auto& stores = per_column(result) ? draft.kernel.column_stores : draft.kernel.row_stores;
    set_stored_by_layout(result.result, buffer);
    stores.push_back({buffer, result.result->dtype(), place_of(result.result, result.at), result.element, nullptr});
    note_stored(result.result, buffer, result.at);
  }
  draft.kernel.why = results.size() == 1 ? who_reads(results[0].result) : of_node("has several results");
  emit(std::move(draft.kernel));
}

uint32_t Lowering::place(const Value* result) {
  const uint32_t buffer = buffer_for(result);
  set_stored(result, buffer);
  return buffer;
}

void Lowering::store_at(Draft& draft, uint32_t buffer, const Value* result, const Indices& at, ExpressionPtr element,
                        ExpressionPtr guard) {
  auto& stores = draft.kernel.columns.empty() ? draft.kernel.row_stores : draft.kernel.column_stores;
  stores.push_back({buffer, result->dtype(), offset_of(tensor(result), at), element, guard});
}

void Lowering::finish_stores(Draft draft) {
  draft.kernel.nodes.push_back(node_);
  add_inlined(*node_, draft.kernel);
  draft.kernel.why = of_node("stores elements itself");
  emit(std::move(draft.kernel));
}

uint32_t Lowering::buffer_for(const Value* value) {
  KernelBuffer buffer;
  if (const auto output = outputs_.find(value); output != outputs_.end()) {
    buffer.kind = KernelBuffer::Kind::output;
    buffer.index = output->second[0];
  }
  buffer.dtype = value->dtype();
  buffer.elements = numel(value->sizes());
  out_.buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(out_.buffers.size() - 1);
}

uint32_t Lowering::scratch(DType dtype, const Sym& elements) {
  KernelBuffer buffer;
  buffer.dtype = dtype;
  buffer.elements = elements;
  out_.buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(out_.buffers.size() - 1);
}

void Lowering::set_stored(const Value* value, uint32_t buffer) {
  Tensor& made = tensors_[value];
  if (made.element) measured_at_.clear();
  made.stage = Stage::stored;
  made.element = nullptr;
  made.unfinished = nullptr;
  made.buffer = buffer;
  made.offset = 0;
  made.strides = contiguous_strides(value->sizes());
}

void Lowering::store(const Value* value) { store_because(value, of_node("reads its elements several times")); }

void Lowering::store_because(const Value* value, std::string why) {
  Tensor& found = tensor(value);
  if (found.stage == Stage::stored) return;
  if (found.stage == Stage::unfinished) {
    const uint32_t buffer = buffer_for(value);
    Unfinished open = std::move(*found.unfinished);
    auto& stores = open.per_column ? open.kernel.column_stores : open.kernel.row_stores;
    set_stored_by_layout(value, buffer);
    stores.push_back({buffer, value->dtype(), place_of(value, open.at), open.element, nullptr});
    note_stored(value, buffer, open.at);
    open.kernel.why = std::move(why);
    emit(std::move(open.kernel));
    return;
  }
  Draft map = loops_over(value->sizes(), {});
  const ExpressionPtr computed = element(value, map.rows);
  const uint32_t buffer = buffer_for(value);
  set_stored_by_layout(value, buffer);
  map.kernel.row_stores.push_back({buffer, value->dtype(), place_of(value, map.rows), computed, nullptr});
  if (value->producer) {
    map.kernel.nodes.push_back(value->producer);
    add_inlined(*value->producer, map.kernel);
  }
  map.kernel.why = std::move(why);
  note_stored(value, buffer, map.rows);
  emit(std::move(map.kernel));
  note_join(value);
}

void Lowering::store_if_expensive(const Value* value, size_t operations) {
  Tensor& found = tensor(value);
  if (found.stage == Stage::unfinished || (found.stage == Stage::function && !found.narrow && found.calls > operations))
    store(value);
}

void Lowering::emit(LoopKernel kernel) {
  order_loops(kernel);
  out_.kernels.push_back(std::move(kernel));
}

}  // namespace wick::cuda
