// Concatenations whose operands are written directly into the result.
#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/plan/linearizer.h"
#include "compiler/plan/view_alias.h"

namespace wick::compiler {
namespace {

// Whether each joined operand is one range of the result's memory.
bool joins_outermost(const Node& cat, const std::vector<int64_t>& sizes) {
  const auto dim = static_cast<size_t>(wrap_dim(cat.static_integer("dim"), sizes.size()));
  const layout::DimOrder order = layout::stored_order(*cat.result());
  for (size_t i = 0; order[i] != dim; ++i) {
    if (sizes[order[i]] != 1) return false;
  }
  return true;
}

bool is_joined_as_it_lies(const Value& operand, const Value& result) {
  return operand.rank() == result.rank() && operand.dtype() == result.dtype() && is_static(operand.sizes()) &&
         layout::stored_order(operand) == layout::stored_order(result);
}

}  // namespace

const char* why_copied(const Node& cat) {
  const auto sizes = static_sizes(cat.result()->sizes());
  if (!sizes) return "a size is known only at run time";
  return joins_outermost(cat, *sizes) ? "an operand is not made for it alone"
                                      : "what it joins does not lie in one piece in the result";
}

// The value whose memory the operand shows in full, through views or itself; null if a view shows only part of it.
const Value* Linearizer::seen_whole(const Value* operand) {
  const Value* seen = operand;
  while (is_view(seen)) {
    const Node& view = *seen->producer;
    const Value* below = view.arg(size_t{0}).as<Value*>();
    if (view.results().size() != 1 || !is_static(below->sizes()) || alias_offset(view) != 0) return nullptr;
    seen = below;
  }
  return bound_bytes(describe(seen)) == bound_bytes(describe(operand)) ? seen : nullptr;
}

// The values that can be written directly into the result; none if the concatenation has to copy.
std::vector<const Value*> Linearizer::written_in_place(const Node& cat, const LocalNodes& local) {
  const Value* result = cat.result();
  const auto sizes = static_sizes(result->sizes());
  if (!sizes || writes_state_.count(result) || !joins_outermost(cat, *sizes)) return {};
  std::vector<const Value*> written;
  for (const Value* operand : cat.tensors("tensors")) {
    const Value* value = is_joined_as_it_lies(*operand, *result) ? seen_whole(operand) : nullptr;
    const Node* producer = value && value->kind == ValueKind::result ? value->producer : nullptr;
    const bool is_free = producer && producer->op->kernel && producer->graphs.empty() && local.count(producer) != 0 &&
                         !placed_.count(value) && !writes_state_.count(value);
    if (!is_free || std::find(written.begin(), written.end(), value) != written.end()) return {};
    written.push_back(value);
  }
  return written;
}

// Goes backwards, because an operand of a concatenation may be a concatenation.
void Linearizer::plan_concatenations(const Graph& graph) {
  LocalNodes local;  // an operand from outside has its memory already
  for (const auto& node : graph.nodes()) local.insert(node.get());
  const std::vector<Node*> nodes = graph.node_list();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node& node = **it;
    if (!node.is("aten.cat.default")) continue;
    const std::vector<const Value*> written = written_in_place(node, local);
    if (written.empty()) continue;
    const Value* result = node.result();
    if (!placed_.count(result))
      placed_[result] = {new_storage(Storage::Kind::arena, bound_bytes(describe(result)), result->name), 0};
    auto [storage, offset] = placed_[result];
    for (const Value* value : written) {
      placed_[value] = {storage, offset};
      offset += bound_bytes(describe(value));
    }
    joined_.insert(&node);
  }
}

}  // namespace wick::compiler
