#include "compiler/driver/shared_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/zero_bytes.h"

namespace wick::compiler {
namespace {

bool same_contents(const ConstantData& a, const ConstantData& b) {
  if (a.empty() || b.empty()) return is_zero(a.empty() ? b : a);
  return same_bytes(a, b);
}

bool same_buffer(const Value& a, const Value& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.tensor().dim_order == b.tensor().dim_order &&
         same_contents(a.data, b.data);
}

// The value of that name that a method reads or changes.
Value* find_buffer(const Graph& graph, const std::string& name) {
  for (Value* state : graph.states()) {
    if (state->fqn == name) return state;
  }
  for (Value* constant : graph.constants()) {
    if (constant->fqn == name) return constant;
  }
  return nullptr;
}

}  // namespace

SharedBuffers::SharedBuffers(std::vector<Function>& functions) : rules_(functions.size()) {
  std::map<std::string, std::pair<const Value*, std::string>> first;  // by name: whoever changes it first, and where
  for (const Function& function : functions) {
    methods_.push_back(function.name);
    for (const Value* state : function.graph->states()) {
      if (!state->fqn.empty()) first.try_emplace(state->fqn, state, function.name);
    }
  }
  for (const auto& [name, owner] : first) {
    for (size_t i = 0; i < functions.size(); ++i) {
      Value* buffer = find_buffer(*functions[i].graph, name);
      if (!buffer || buffer == owner.first) continue;
      if (same_buffer(*buffer, *owner.first)) {
        buffer->kind = ValueKind::state;
        continue;
      }
      const bool changes = buffer->kind == ValueKind::state;
      if (changes) rules_[i].names[name] = fmt::format("{}@{}", name, functions[i].name);
      functions[i].notes.push_back(fmt::format(
          "the buffer '{}' has another dtype, shape or initial value than in method '{}': {}", name, owner.second,
          changes ? "each of the two has its own" : "this method reads its own, which does not change"));
    }
  }
}

bool SharedBuffers::disagree(const std::vector<std::vector<BufferPlace>>& places) {
  bool changed = false;
  for (size_t i = 0; i < places.size(); ++i) {
    for (const BufferPlace& place : places[i]) {
      if (!place.backend.empty() || rules_[i].names.count(place.name)) continue;
      for (size_t k = 0; k < places.size(); ++k) {
        if (k == i || rules_[k].names.count(place.name)) continue;
        const bool held = std::any_of(places[k].begin(), places[k].end(), [&](const BufferPlace& other) {
          return other.name == place.name && !other.backend.empty();
        });
        if (!held) continue;
        rules_[k].outside.emplace(place.name,
                                  fmt::format("method '{}' does not: {}", methods_[i],
                                              place.reason.empty() ? "no delegate has a part in it" : place.reason));
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace wick::compiler
