#include "compiler/import/archive/storage.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ops/tensor/view_writes.h"
#include "compiler/support/failure.h"

namespace wick::compiler {

RefPtr fresh_ref(Value* value) {
  auto storage = std::make_shared<VersionedStorage>(VersionedStorage{value, value, 0, {}});
  return std::make_shared<TensorRef>(TensorRef{std::move(storage), -1, value, 0});
}

namespace {

Value* apply_step(const ViewStep& step, Value* input, Builder& builder) {
  Args args = step.args;
  args[0] = input;
  return builder.call(step.op->name(), std::move(args));
}

std::vector<const ViewStep*> chain_to(const VersionedStorage& storage, int32_t last) {
  std::vector<const ViewStep*> chain;
  for (int32_t at = last; at >= 0; at = chain.back()->before) chain.push_back(&storage.views[static_cast<size_t>(at)]);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

ElementSigns signs_at(const VersionedStorage& storage, int32_t step) {
  return step < 0 ? ElementSigns() : storage.views[static_cast<size_t>(step)].signs;
}

// The signs of elements that are read through `step`, given the signs before it.
ElementSigns signs_after(ElementSigns before, const ViewStep& step) {
  const WriteFn write = step.op->facts.write;
  if (write == writes::view_as_real) return {false, false, before.conjugated};
  const bool imaginary = write == writes::select && step.args[2].is<Sym>() && step.args[2].as<Sym>().is(1);
  return {before.conjugated != (write == writes::conjugate), before.negated || (before.parts_of_conjugate && imaginary),
          false};
}

void check_known(const VersionedStorage& storage) {
  if (storage.doubt.empty()) return;
  fail(Diag(Code::unsupported_model, storage.doubt)
           .with_help("clone() the tensor before writing to it, so that memory is not shared"));
}

// The contents of the storage with which its view `last` equals `value`. Null if a step has no inverse; `stuck` is then
// that step.
Value* updated(const VersionedStorage& storage, int32_t last, Value* value, Builder& builder, const ViewStep*& stuck) {
  std::vector<Value*> levels = {storage.current};
  const std::vector<const ViewStep*> chain = chain_to(storage, last);
  for (size_t i = 0; i + 1 < chain.size(); ++i) levels.push_back(apply_step(*chain[i], levels.back(), builder));
  for (size_t i = chain.size(); i-- > 0;) {
    const WriteFn write = chain[i]->op->facts.write;
    value = write ? write(builder, chain[i]->args, levels[i], value) : nullptr;
    if (value) continue;
    stuck = chain[i];
    return nullptr;
  }
  return value;
}

Value* selected(const Sym& when, Value* yes, Value* no, Builder& builder) {
  if (when.is_const()) return when.is(0) ? no : yes;
  Value* truth = builder.call("aten.scalar_tensor", {Arg(when), DType::boolean});
  return builder.call("aten.where.self", {truth, yes, no});
}

// Copies a write from `from`, one of the two storages of `link`, to the other one, on condition that they are the same
// memory.
void follow(const MaybeShared& link, VersionedStorage& base, VersionedStorage& result, const VersionedStorage& from,
            Builder& builder) {
  VersionedStorage& other = &from == &base ? result : base;
  ++other.version;
  if (!link.when || !link.view || !from.doubt.empty()) {
    other.doubt = from.doubt.empty() ? link.doubt : from.doubt;
    return;
  }
  if (!other.doubt.empty()) return;
  Value* view = apply(chain_to(base, *link.view), base.current, builder);
  const ViewStep* stuck = nullptr;
  Value* value = &other == &result
                     ? selected(*link.when, view, result.current, builder)
                     : updated(base, *link.view, selected(*link.when, result.current, view, builder), builder, stuck);
  if (value)
    other.current = value;
  else
    other.doubt = link.doubt;
}

// Passes a write to `written` on to all storages that may be the same memory. Links form a tree, because each result is
// a new storage. The walk is depth first and not recursive, because a file may hold a link for each of its nodes.
void spread(const std::shared_ptr<VersionedStorage>& written, Builder& builder) {
  struct Visit {
    std::shared_ptr<VersionedStorage> storage;
    const MaybeShared* came;  // the link through which the write arrived; null for `written`
    size_t next = 0;          // the storage's link to follow next
  };
  std::vector<Visit> path = {{written, nullptr}};
  while (!path.empty()) {
    Visit& visit = path.back();
    if (visit.next == visit.storage->links.size()) {
      path.pop_back();
      continue;
    }
    const std::shared_ptr<MaybeShared> link = visit.storage->links[visit.next++];
    const std::shared_ptr<VersionedStorage> base = link->base.lock(), result = link->result.lock();
    if (link.get() == visit.came || !base || !result) continue;
    follow(*link, *base, *result, *visit.storage, builder);
    path.push_back({visit.storage == base ? result : base, link.get()});
  }
}

}  // namespace

ElementSigns signs_of(const TensorRef& ref) { return signs_at(*ref.storage, ref.last); }

std::vector<const ViewStep*> chain_of(const TensorRef& ref) { return chain_to(*ref.storage, ref.last); }

Value* apply(const std::vector<const ViewStep*>& steps, Value* value, Builder& builder) {
  for (const ViewStep* step : steps) value = apply_step(*step, value, builder);
  return value;
}

Value* read(TensorRef& ref, Builder& builder) {
  check_known(*ref.storage);
  if (ref.cached && ref.cached_version == ref.storage->version) return ref.cached;
  ref.cached = apply(chain_of(ref), ref.storage->current, builder);
  ref.cached_version = ref.storage->version;
  return ref.cached;
}

void write(TensorRef& ref, Value* value, Builder& builder) {
  VersionedStorage& storage = *ref.storage;
  check_known(storage);
  const ViewStep* stuck = nullptr;
  Value* current = updated(storage, ref.last, value, builder, stuck);
  if (!current) {
    fail(Diag(Code::unsupported_model,
              fmt::format("an in-place write through {} reaches one element by several ways", stuck->op->name()))
             .with_help("clone() the tensor before writing to it"));
  }
  storage.current = current;
  ++storage.version;
  ref.cached = value;
  ref.cached_version = storage.version;
  spread(ref.storage, builder);
}

RefPtr view_ref(TensorRef& base, Value* base_value, Value* result) {
  std::vector<ViewStep> steps;
  Value* value = result;
  while (value != base_value) {
    Node* node = value->producer;
    const bool is_view = node && (node->op->has(kView) || node->op->facts.write) && node->results().size() == 1;
    if (!is_view) return nullptr;
    steps.push_back({node->op, node->args(), -1});
    steps.back().args[0] = None{};
    value = node->tensor(node->op->parsed->args[0].name);
  }
  std::reverse(steps.begin(), steps.end());
  int32_t last = base.last;
  for (ViewStep& step : steps) {
    step.before = last;
    step.signs = signs_after(signs_at(*base.storage, last), step);
    last = static_cast<int32_t>(base.storage->views.size());
    base.storage->views.push_back(std::move(step));
  }
  return std::make_shared<TensorRef>(TensorRef{base.storage, last, result, base.storage->version});
}

RefPtr maybe_shared_ref(TensorRef& base, Value* base_value, Value* result, std::optional<Sym> when, std::string doubt) {
  const RefPtr view = view_ref(base, base_value, result);
  RefPtr own = fresh_ref(result);
  auto link = std::make_shared<MaybeShared>(MaybeShared{
      base.storage, own->storage, view ? std::optional(view->last) : std::nullopt, std::move(when), std::move(doubt)});
  base.storage->links.push_back(link);
  own->storage->links.push_back(std::move(link));
  return own;
}

}  // namespace wick::compiler
