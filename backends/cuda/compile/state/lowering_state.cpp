// Lowers mutable buffers that the delegate holds: results that are written over them, and copies of what is still read.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/compile/lowering.h"
#include "compiler/ir/zero_bytes.h"
#include "compiler/support/failure.h"

namespace wick::cuda {

using compiler::StateUpdate;
using compiler::SymRange;
using compiler::SymScope;

namespace {

// One kernel stores the new values of at most this many buffers.
constexpr size_t kMostStoresOfState = 8;

}  // namespace

void Lowering::add_states() {
  for (const Value* value : graph_.states()) {
    KernelBuffer buffer;
    buffer.kind = KernelBuffer::Kind::state;
    buffer.state = value->fqn;
    buffer.dtype = value->dtype();
    buffer.elements = numel(value->sizes());
    if (!is_zero(value->data)) buffer.constant = value->data;
    const auto number = static_cast<uint32_t>(out_.buffers.size());
    out_.buffers.push_back(std::move(buffer));
    states_[number] = value;
    set_stored(value, number);
  }
}

// --- writes of regions, in place ---

const Lowering::Home& Lowering::home_of(const Value* value) {
  const auto moved = homes_.find(value);
  if (moved != homes_.end()) return moved->second;
  const Tensor& held = tensor(value);
  if (held.stage != Stage::stored) compiler::fail(compiler::Code::internal, "cuda: a buffer's version has no place");
  return held;
}

uint32_t Lowering::place_over(const Value* result) {
  const Home home = home_of(writes_.over.at(result));
  Tensor& made = tensors_[result];
  static_cast<Home&>(made) = home;
  made.stage = Stage::stored;
  return home.buffer;
}

// Whether a node other than `but` will still read the elements that the value has now. A write over the value does not
// read it.
bool Lowering::has_readers_left(const Value* value, const Node* but) const {
  if (outputs_.count(value) || new_values_.count(value) || inner_outputs_.count(value)) return true;
  return std::any_of(value->users().begin(), value->users().end(), [&](const Node* user) {
    if (done_.count(user) || user == but) return false;
    const bool writes = std::any_of(user->results().begin(), user->results().end(), [&](const Value* result) {
      const auto written = writes_.over.find(result);
      return written != writes_.over.end() && written->second == value;
    });
    if (!writes) return true;
    const std::vector<Value*> operands = user->operands();
    return std::count(operands.begin(), operands.end(), value) > 1;
  });
}

// Compares offsets in a buffer dimension by dimension.
bool Lowering::may_overlap(uint32_t state, ExpressionPtr a, ExpressionPtr b) const {
  if (a->kind != ExpressionKind::index || b->kind != ExpressionKind::index) return true;
  const Sizes& sizes = states_.at(state)->sizes();
  Sym stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    const auto range = [&](ExpressionPtr offset) {
      return SymScope::range(sym_mod(floor_div(offset->index, stride), sizes[i]));
    };
    const SymRange first = range(a), second = range(b);
    if (first.max < second.min || second.max < first.min) return false;
    stride = stride * sizes[i];
  }
  return true;
}

// Whether the expressions read elements of the buffer that are, or may be, among those at `written`.
bool Lowering::reads_state(const std::vector<ExpressionPtr>& expressions, uint32_t state, ExpressionPtr written) const {
  bool reads = false;
  for_each(expressions, [&](ExpressionPtr e) {
    reads = reads || (e->kind == ExpressionKind::load && e->buffer == state && may_overlap(state, e->args[0], written));
  });
  return reads;
}

// Copies or stores what later nodes read of the elements that are about to be written. The current node's own reading
// of `source` is not considered.
void Lowering::keep_what_is_read(const Value* over, const Indices& written, const Value* source) {
  const Home home = home_of(over);
  const ExpressionPtr offset = offset_of(home, written);
  const char* const why = "the buffer that it is read from is about to change";
  bool moved = false;
  for (const auto& owned : lowered_->values()) {
    const Value* value = owned.get();
    const auto found = tensors_.find(value);
    if (found == tensors_.end() || !value->type.is_tensor()) continue;
    if (!has_readers_left(value, value == source ? node_ : nullptr)) continue;
    const Tensor& held = found->second;
    if (held.stage == Stage::stored) {
      if (held.buffer != home.buffer || !may_overlap(home.buffer, offset_of(held, indices_of(value->sizes())), offset))
        continue;
      save(value);
    } else {
      const std::vector<ExpressionPtr> expressions =
          held.stage == Stage::unfinished ? expressions_of(held.unfinished->kernel) : std::vector<ExpressionPtr>();
      const ExpressionPtr element =
          held.stage == Stage::unfinished ? held.unfinished->element : this->element(value, indices_of(value->sizes()));
      if (!reads_state(expressions, home.buffer, offset) && !reads_state({element}, home.buffer, offset)) continue;
      store_because(value, why);
    }
    moved = true;
  }
  if (moved) known_.clear();
}

// Copies the elements of a stored value to a new buffer, from which later nodes read them.
void Lowering::save(const Value* value) {
  homes_.try_emplace(value, tensor(value));
  Draft copy = loops_over(value->sizes(), {});
  const ExpressionPtr read = element(value, copy.rows);
  const uint32_t buffer = buffer_for(value);
  copy.kernel.row_stores.push_back({buffer, value->dtype(), join(copy.rows, value->sizes()), read, nullptr});
  copy.kernel.why = "it is still read when its buffer has changed";
  set_stored(value, buffer);
  emit(std::move(copy.kernel));
}

uint32_t Lowering::place_copy(const Value* result, const Value* source, const Indices& written) {
  store_unfinished_operands("begins a kernel of its own");
  if (is_in_place(result)) {
    keep_what_is_read(source, written.empty() ? indices_of(source->sizes()) : written, nullptr);
    return place_over(result);
  }
  Draft copy = loops_over(result->sizes(), {});
  const ExpressionPtr element = pool().cast(this->element(source, copy.rows), scalar_type(result->dtype()));
  const uint32_t buffer = place(result);
  store_at(copy, buffer, result, copy.rows, element);
  copy.kernel.nodes.push_back(node_);
  add_inlined(source, copy.kernel);
  copy.kernel.why = of_node("writes to a copy of it");
  emit(std::move(copy.kernel));
  return buffer;
}

void Lowering::replace_elements(const Value* result, const Value* source, const IndexMap& to_result,
                                const Indices& written) {
  const Value* over = writes_.over.at(result);
  if (writes_.through_view.count(result)) {
    place_over(result);
    out_.views.push_back(node_);
    return;
  }
  keep_what_is_read(over, written, source);
  const Home home = home_of(over);
  const DType dtype = result->dtype();
  const auto store_of = [&](const Indices& at, ExpressionPtr value) {
    value = pool().rounded(pool().cast(value, scalar_type(dtype)), dtype);
    return Store{home.buffer, dtype, offset_of(home, to_result(at)), value, nullptr};
  };
  // The kernel of the source stores the elements in place, unless it reads elements that it would overwrite.
  Tensor& from = tensor(source);
  if (from.stage == Stage::unfinished) {
    std::vector<ExpressionPtr> read = expressions_of(from.unfinished->kernel);
    read.push_back(from.unfinished->element);
    const Store store = store_of(from.unfinished->at, from.unfinished->element);
    if (readers(source) == 1 && !reads_state(read, home.buffer, store.offset)) {
      Unfinished open = std::move(*from.unfinished);
      tensors_.erase(source);
      (open.per_column ? open.kernel.column_stores : open.kernel.row_stores).push_back(store);
      open.kernel.nodes.push_back(node_);
      add_inlined(*node_, open.kernel);
      open.kernel.why = of_node("writes it to a buffer");
      place_over(result);
      emit(std::move(open.kernel));
      return;
    }
    store_because(source, of_node("reads it in a kernel of its own"));
  }
  Draft draft = loops_over(source->sizes(), {});
  Store store = store_of(draft.rows, element(source, draft.rows));
  // An element may depend on the element that it replaces, but on no other one.
  bool reads_others = false;
  for_each({store.value}, [&](ExpressionPtr e) {
    const bool reads = e->kind == ExpressionKind::load && e->buffer == home.buffer && e->args[0] != store.offset;
    reads_others = reads_others || (reads && may_overlap(home.buffer, e->args[0], store.offset));
  });
  if (reads_others) {
    if (tensor(source).stage == Stage::stored)
      save(source);
    else
      store_because(source, "it reads elements of the buffer that it is written to");
    store.value = pool().cast(element(source, draft.rows), scalar_type(dtype));
  }
  place_over(result);
  draft.kernel.row_stores.push_back(store);
  draft.kernel.nodes.push_back(node_);
  add_inlined(*node_, draft.kernel);
  draft.kernel.why = of_node("writes it to a buffer");
  emit(std::move(draft.kernel));
}

// --- new values as a whole ---

std::vector<StateUpdate> Lowering::updates_left() const {
  std::vector<StateUpdate> out;
  for (const StateUpdate& update : graph_.updates) {
    if (update.value != update.target && !writes_.states.count(update.target)) out.push_back(update);
  }
  return out;
}

// Whether the kernel that computes the new value can store it over the old one: it reads no buffer that gets a new
// value, except for the element that it replaces.
bool Lowering::can_replace(const StateUpdate& update, const std::vector<StateUpdate>& all) {
  std::set<uint32_t> written;
  for (const StateUpdate& each : all) written.insert(home_of(each.target).buffer);
  const uint32_t own = home_of(update.target).buffer;
  const Tensor& value = tensor(update.value);
  std::vector<ExpressionPtr> read;
  ExpressionPtr replaced = nullptr;
  if (value.stage == Stage::unfinished) {
    read = expressions_of(value.unfinished->kernel);
    read.push_back(value.unfinished->element);
  } else {
    const Indices at = indices_of(update.value->sizes());
    read.push_back(element(update.value, at));
    replaced = join(at, update.value->sizes());
  }
  bool can = true;
  for_each(read, [&](ExpressionPtr e) {
    if (e->kind != ExpressionKind::load || !written.count(e->buffer)) return;
    can = can && e->buffer == own && e->args[0] == replaced;
  });
  return can;
}

// Runs after all other nodes, which have read the old values by then.
void Lowering::store_updates() {
  const std::vector<StateUpdate> all = updates_left();
  for (const StateUpdate& update : all) {
    if (update.value->is_constant() && !tensors_.count(update.value)) add_constant(update.value);
  }
  for (const StateUpdate& update : all) {
    if (can_replace(update, all)) continue;
    if (tensor(update.value).stage == Stage::stored)
      save(update.value);
    else
      store_because(update.value, "it reads a buffer that is about to change");
    known_.clear();
  }
  std::vector<StateUpdate> maps;
  for (const StateUpdate& update : all) {
    Tensor& value = tensor(update.value);
    if (value.stage != Stage::unfinished) {
      maps.push_back(update);
      continue;
    }
    Unfinished open = std::move(*value.unfinished);
    const uint32_t buffer = home_of(update.target).buffer;
    auto& stores = open.per_column ? open.kernel.column_stores : open.kernel.row_stores;
    stores.push_back({buffer, update.value->dtype(), join(open.at, update.value->sizes()), open.element, nullptr});
    set_stored(update.value, buffer);
    open.kernel.why = "the new value of a buffer";
    emit(std::move(open.kernel));
  }
  store_together(std::move(maps));
}

// One kernel for all buffers of the same sizes.
void Lowering::store_together(std::vector<StateUpdate> updates) {
  while (!updates.empty()) {
    const Sizes sizes = updates[0].target->sizes();
    Draft map = loops_over(sizes, {});
    std::vector<StateUpdate> others;
    for (const StateUpdate& update : updates) {
      if (!(update.target->sizes() == sizes) || map.kernel.row_stores.size() == kMostStoresOfState) {
        others.push_back(update);
        continue;
      }
      map.kernel.row_stores.push_back({home_of(update.target).buffer, update.value->dtype(), join(map.rows, sizes),
                                       element(update.value, map.rows), nullptr});
      if (update.value->producer && tensor(update.value).stage == Stage::function) {
        map.kernel.nodes.push_back(update.value->producer);
        add_inlined(*update.value->producer, map.kernel);
      }
    }
    map.kernel.why = map.kernel.row_stores.size() == 1 ? "the new value of a buffer" : "new values of buffers";
    emit(std::move(map.kernel));
    updates = std::move(others);
  }
}

}  // namespace wick::cuda
