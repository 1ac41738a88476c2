#include "compiler/import/archive/storage.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/support/failure.h"

namespace wick::compiler {

RefPtr fresh_ref(Value* value) {
  auto storage = std::make_shared<VersionedStorage>(VersionedStorage{value, value, 0, {}});
  return std::make_shared<TensorRef>(TensorRef{std::move(storage), -1, value, 0});
}

namespace {

Value* apply(const ViewStep& step, Value* input, Builder& builder) {
  Args args = step.args;
  args[0] = input;
  return builder.call(step.op->name(), std::move(args));
}

// The chain of views from the storage to `ref`.
std::vector<const ViewStep*> chain_of(const TensorRef& ref) {
  std::vector<const ViewStep*> chain;
  for (int32_t at = ref.last; at >= 0; at = chain.back()->before)
    chain.push_back(&ref.storage->views[static_cast<size_t>(at)]);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

// The version of `before` whose view through `step` is `after`.
Value* invert(const ViewStep& step, Value* before, Value* after, Builder& builder) {
  const WriteFn write = step.op->facts.write;
  if (Value* updated = write ? write(builder, step.args, before, after) : nullptr) return updated;
  fail(Diag(Code::unsupported_model,
            fmt::format("an in-place write through {} reaches one element by several ways", step.op->name()))
           .with_help("clone() the tensor before writing to it"));
}

}  // namespace

Value* read(TensorRef& ref, Builder& builder) {
  if (ref.cached && ref.cached_version == ref.storage->version) return ref.cached;
  Value* value = ref.storage->current;
  for (const ViewStep* step : chain_of(ref)) value = apply(*step, value, builder);
  ref.cached = value;
  ref.cached_version = ref.storage->version;
  return value;
}

void write(TensorRef& ref, Value* value, Builder& builder) {
  std::vector<Value*> levels = {ref.storage->current};
  const std::vector<const ViewStep*> chain = chain_of(ref);
  for (size_t i = 0; i + 1 < chain.size(); ++i) levels.push_back(apply(*chain[i], levels.back(), builder));
  Value* updated = value;
  for (size_t i = chain.size(); i-- > 0;) updated = invert(*chain[i], levels[i], updated, builder);
  ref.storage->current = updated;
  ++ref.storage->version;
  ref.cached = value;
  ref.cached_version = ref.storage->version;
}

RefPtr view_ref(TensorRef& base, Value* base_value, Value* result) {
  std::vector<ViewStep> steps;
  Value* value = result;
  while (value != base_value) {
    Node* node = value->producer;
    if (!node || !node->op->has(kView) || node->results().size() != 1) return fresh_ref(result);
    steps.push_back({node->op, node->args(), -1});
    steps.back().args[0] = None{};
    value = node->tensor(node->op->parsed->args[0].name);
  }
  std::reverse(steps.begin(), steps.end());
  int32_t last = base.last;
  for (ViewStep& step : steps) {
    step.before = last;
    last = static_cast<int32_t>(base.storage->views.size());
    base.storage->views.push_back(std::move(step));
  }
  return std::make_shared<TensorRef>(TensorRef{base.storage, last, result, base.storage->version});
}

}  // namespace wick::compiler
