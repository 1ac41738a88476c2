// Notes how results could be stored in their places in larger values (a cat, a tensor with a replaced region).
#include <algorithm>

#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

void Lowering::note_stored(const Value* value, uint32_t buffer, Indices at) {
  stored_results_[value] = {out_.kernels.size(), buffer, std::move(at)};
}

// If a view keeps all elements, it is stored, and joined, where the viewed value is.
void Lowering::note_view(const Value* view, const Value* of, const IndexMap& to_operand, const IndexMap& to_result) {
  if (!(numel(view->sizes()) == numel(of->sizes()))) return;
  IndexMap moved = to_result;
  if (!moved) moved = [this, view, of](const Indices& at) { return split(join(at, of->sizes()), view->sizes()); };
  if (const auto stored = stored_results_.find(of); stored != stored_results_.end()) {
    StoredResult same = stored->second;
    same.at = moved(same.at);
    if (to_operand(same.at) == stored->second.at) stored_results_[view] = std::move(same);
  }
  const auto joined = joins_.find(of);
  if (joined == joins_.end()) return;
  if (const Indices at = indices_of(of->sizes()); to_operand(moved(at)) != at) return;
  Join same = joined->second;
  for (auto& [part, map] : same.parts) map = [map, moved](const Indices& at) { return moved(map(at)); };
  same.rest = [rest = same.rest, moved](const std::vector<bool>& placed) {
    std::optional<Rest> out = rest(placed);
    if (out) out->to_result = [map = out->to_result, moved](const Indices& at) { return moved(map(at)); };
    return out;
  };
  joins_[view] = std::move(same);
}

// Finds stores of kernels that together store all of a part. False if there are none. `placed`: the store of an element
// in its place in the larger value.
bool Lowering::find_parts(const Value* part, const std::function<Store(const Indices&, ExpressionPtr)>& placed,
                          std::vector<JoinedParts::Part>& found) {
  const size_t before = found.size();
  if (const auto joined = joins_.find(part); joined != joins_.end()) {
    const Join& join = joined->second;
    const auto is_found = [&](const std::pair<const Value*, IndexMap>& inner) {
      const auto store = [&](const Indices& at, ExpressionPtr value) { return placed(inner.second(at), value); };
      return inner.first->dtype() == part->dtype() && find_parts(inner.first, store, found);
    };
    const bool is_all = !join.rest(std::vector<bool>(join.parts.size(), true));
    if (is_all && std::all_of(join.parts.begin(), join.parts.end(), is_found)) return true;
    found.resize(before);
  }
  const auto stored = stored_results_.find(part);
  if (stored == stored_results_.end()) return false;
  const LoopKernel& kernel = out_.kernels[stored->second.kernel];
  for (const auto* list : {&kernel.row_stores, &kernel.column_stores}) {
    for (const Store& store : *list) {
      if (store.buffer != stored->second.buffer || store.guard) continue;
      found.push_back({stored->second.kernel, store.buffer, placed(stored->second.at, store.value)});
      return true;
    }
  }
  return false;
}

void Lowering::note_join(const Value* joined) {
  const auto made = joins_.find(joined);
  if (made == joins_.end()) return;
  const Join& join = made->second;
  const uint32_t buffer = tensor(joined).buffer;
  JoinedParts out;
  out.copy = out_.kernels.size() - 1;
  std::vector<bool> placed;
  out.rest_elements = numel(joined->sizes());
  for (const auto& [part, to_result] : join.parts) {
    std::vector<JoinedParts::Part> found;
    const auto store = [&, map = to_result](const Indices& at, ExpressionPtr value) {
      return Store{buffer, joined->dtype(), place_of(joined, map(at)), value, nullptr};
    };
    placed.push_back(part->dtype() == joined->dtype() && find_parts(part, store, found));
    if (!placed.back()) continue;
    out.parts.insert(out.parts.end(), found.begin(), found.end());
    out.rest_elements = out.rest_elements - numel(part->sizes());
  }
  if (out.parts.empty()) return;
  if (const std::optional<Rest> rest = join.rest(placed)) {
    const LoopKernel& copy = out_.kernels[out.copy];
    Draft draft = loops_over(rest->sizes, {});
    draft.kernel.row_stores.push_back({buffer, joined->dtype(), place_of(joined, rest->to_result(draft.rows)),
                                       rest->element(draft.rows), rest->guard ? rest->guard(draft.rows) : nullptr});
    draft.kernel.nodes = copy.nodes;
    draft.kernel.inlined = copy.inlined;
    draft.kernel.why = copy.why;
    order_loops(draft.kernel);
    out.rest = std::move(draft.kernel);
  }
  out_.joins.push_back(std::move(out));
}

}  // namespace wick::cuda
