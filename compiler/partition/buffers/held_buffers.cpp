#include "compiler/partition/buffers/held_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace wick::compiler {
namespace {

std::string text_of(const Node& node) {
  const std::string source = node.origin ? node.origin->source : "";
  return fmt::format("{}{}{}", node.op->name(), source.empty() ? "" : ", ", source);
}

class Finder {
 public:
  Finder(const Graph& graph, const Target& target, const TargetContext& context, const UnitsOfNodes& units,
         uint32_t new_unit)
      : graph_(graph), target_(target), context_(context), units_(units), new_unit_(new_unit) {
    position_.resize(units.order.size());
    for (uint32_t at = 0; at < units.order.size(); ++at) {
      position_[units.order[at]] = at;
      if (units.unit[units.order[at]] != kNoGroup) last_unit_ = units.unit[units.order[at]];
    }
  }

  // Why the buffer is not held; "" if it is.
  std::string find(Value* state, HeldBuffer* held) {
    held->state = state;
    held->name = state->buffer_name();
    if (context_.buffers) {
      const auto outside = context_.buffers->outside.find(state->buffer_name());
      if (outside != context_.buffers->outside.end()) return outside->second;
      const auto name = context_.buffers->names.find(state->buffer_name());
      if (name != context_.buffers->names.end()) held->name = name->second;
    }
    const Verdict verdict = target_.delegate.holds(*state, context_);
    if (!verdict.taken) return verdict.reason;
    std::optional<uint32_t> last;
    for (const Node* reader : state->users()) {
      const uint32_t node = units_.index.at(reader);
      if (units_.unit[node] == kNoGroup) return fmt::format("{} reads it outside of delegates", text_of(*reader));
      last = later(last, node);
    }
    for (const StateUpdate& update : graph_.updates) {
      if (update.target == state && update.value != state) held->next = update.value;
      if (update.value == state && update.target != state)
        return fmt::format("the buffer '{}' takes its value", update.target->fqn);
    }
    if (held->next) {
      const Value& next = *held->next;
      if (next.kind == ValueKind::state) return fmt::format("it takes the value of the buffer '{}'", next.fqn);
      if (next.producer) {
        const uint32_t node = units_.index.at(next.producer);
        if (units_.unit[node] == kNoGroup)
          return fmt::format("{} computes its new value outside of delegates", text_of(*next.producer));
        last = later(last, node);
      }
    }
    held->unit = last ? units_.unit[*last] : last_unit_.value_or(new_unit_);
    return "";
  }

 private:
  std::optional<uint32_t> later(std::optional<uint32_t> a, uint32_t b) const {
    return a && position_[*a] > position_[b] ? a : b;
  }

  const Graph& graph_;
  const Target& target_;
  const TargetContext& context_;
  const UnitsOfNodes& units_;
  uint32_t new_unit_;
  std::vector<uint32_t> position_;     // by node: its place in the order
  std::optional<uint32_t> last_unit_;  // the delegate that runs last
};

bool is_used(const Graph& graph, const Value* state) {
  const auto updates = [&](const StateUpdate& update) { return update.target == state && update.value == state; };
  const auto trivial = std::count_if(graph.updates.begin(), graph.updates.end(), updates);
  return state->num_uses() > 2 * static_cast<size_t>(trivial);
}

uint64_t bytes_of(const Value& state) {
  uint64_t bytes = dtype_size_bytes(state.dtype());
  for (const Sym& size : state.sizes()) bytes *= static_cast<uint64_t>(size.is_const() ? size.value() : 0);
  return bytes;
}

}  // namespace

std::vector<HeldBuffer> find_held_buffers(const Graph& graph, const Target& target, const TargetContext& context,
                                          const UnitsOfNodes& units, uint32_t new_unit,
                                          std::vector<BufferPlace>& places) {
  std::vector<HeldBuffer> out;
  Finder finder(graph, target, context, units, new_unit);
  for (Value* state : graph.states()) {
    if (!is_used(graph, state)) continue;
    HeldBuffer held;
    BufferPlace place{state->buffer_name(), bytes_of(*state), "", ""};
    if (target.delegate.holds) {
      place.reason = finder.find(state, &held);
      if (place.reason.empty()) place.backend = target.name;
    }
    if (!place.backend.empty()) out.push_back(held);
    places.push_back(std::move(place));
  }
  return out;
}

}  // namespace wick::compiler
