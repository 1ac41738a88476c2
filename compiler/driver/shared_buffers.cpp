#include "compiler/driver/shared_buffers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "compiler/ir/zero_bytes.h"

namespace wick::compiler {
namespace {

bool same_contents(const ConstantData& a, const ConstantData& b) {
  if (a.empty() || b.empty()) return is_zero(a.empty() ? b : a);
  return same_bytes(a, b);
}

bool same_type(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.dim_order == b.dim_order;
}

bool same_buffer(const Value& a, const Value& b) {
  return same_type(a.tensor(), b.tensor()) && same_contents(a.data, b.data);
}

// The value of that name that a method reads or changes.
Value* find_buffer(const Graph& graph, const std::string& name) {
  for (Value* state : graph.states()) {
    if (state->buffer_name() == name) return state;
  }
  for (Value* constant : graph.constants()) {
    if (constant->fqn == name) return constant;
  }
  return nullptr;
}

// Methods that share a buffer, or one that has it for itself.
struct Group {
  std::vector<size_t> methods;
  std::vector<Value*> buffers;  // one per method
  bool changes() const {
    return std::any_of(buffers.begin(), buffers.end(), [](const Value* b) { return b->kind == ValueKind::state; });
  }
};

class Grouping {
 public:
  Grouping(const std::vector<Function>& functions, const StateSharing& sharing)
      : functions_(functions), sharing_(sharing) {}

  // The groups of a name, in the order of their first methods.
  std::vector<Group> groups_of(const std::string& name) {
    std::vector<Group> groups;
    for (size_t i = 0; i < functions_.size(); ++i) {
      Value* buffer = find_buffer(*functions_[i].graph, name);
      if (!buffer) continue;
      const auto joins = [&](const Group& group) {
        for (size_t k = 0; k < group.methods.size(); ++k) {
          if (!why_apart(group.methods[k], *group.buffers[k], i, *buffer, name).empty()) return false;
        }
        return true;
      };
      auto group = std::find_if(groups.begin(), groups.end(), joins);
      if (group == groups.end()) group = groups.insert(group, Group());
      group->methods.push_back(i);
      group->buffers.push_back(buffer);
    }
    return groups;
  }

  // Why method `b` does not share the buffer of method `a`; "" if it does.
  std::string why_apart(size_t a, const Value& of_a, size_t b, const Value& of_b, const std::string& name) {
    if (!same_buffer(of_a, of_b)) {
      return fmt::format("in method '{}' it has another dtype, shape or initial value", functions_[a].name);
    }
    if (sharing_.rule == StateSharing::Rule::all || is_named(name)) return "";
    if (sharing_.rule == StateSharing::Rule::none) return "none is shared";
    const std::string& difference = model_difference(a, b);
    return difference.empty() ? "" : fmt::format("{} (--share-state={} shares it)", difference, printable(name));
  }

 private:
  bool is_named(const std::string& name) const {
    return std::find(sharing_.names.begin(), sharing_.names.end(), name) != sharing_.names.end();
  }

  // Why two methods are not of one model; "" if they are.
  const std::string& model_difference(size_t a, size_t b) {
    std::optional<std::string>& known = differences_[{a, b}];
    if (known) return *known;
    std::map<std::string_view, const Parameter*> parameters;
    for (const Parameter& parameter : functions_[a].parameters) parameters.emplace(parameter.name, &parameter);
    bool common = false;
    for (const Parameter& parameter : functions_[b].parameters) {
      const auto other = parameters.find(parameter.name);
      if (other == parameters.end()) continue;
      common = true;
      if (!same_type(parameter.type, other->second->type) || !same_contents(parameter.data, other->second->data)) {
        return known.emplace(fmt::format("the parameter '{}' is another one in method '{}'", printable(parameter.name),
                                         functions_[a].name));
      }
    }
    return known.emplace(common ? ""
                                : fmt::format("it has no parameter in common with method '{}'", functions_[a].name));
  }

  const std::vector<Function>& functions_;
  const StateSharing& sharing_;
  std::map<std::pair<size_t, size_t>, std::optional<std::string>> differences_;
};

// Names of buffers that some method changes.
std::set<std::string> changed_names(const std::vector<Function>& functions) {
  std::set<std::string> names;
  for (const Function& function : functions) {
    for (const Value* state : function.graph->states()) names.insert(state->buffer_name());
  }
  return names;
}

Status check_names(const std::vector<std::string>& wanted, const std::set<std::string>& shared,
                   const std::vector<Function>& functions) {
  for (const std::string& name : wanted) {
    if (shared.count(name)) continue;
    const auto count = std::count_if(functions.begin(), functions.end(), [&](const Function& function) {
      return find_buffer(*function.graph, name) != nullptr;
    });
    if (count > 1) {
      return Diag(Code::usage, fmt::format("the methods cannot share the buffer '{}': no two of them have it in the "
                                           "same dtype, shape and initial value and change it",
                                           printable(name)));
    }
    return Diag(Code::usage, fmt::format("no two methods have a mutable buffer '{}'", printable(name)))
        .with_help(fmt::format("mutable buffers: {}", fmt::join(changed_names(functions), ", ")));
  }
  return {};
}

}  // namespace

Result<SharedBuffers> SharedBuffers::find(std::vector<Function>& functions, const StateSharing& sharing) {
  SharedBuffers out;
  out.rules_.resize(functions.size());
  out.shared_.resize(functions.size());
  for (const Function& function : functions) out.methods_.push_back(function.name);
  const std::set<std::string> names = changed_names(functions);
  std::set<std::string> memories = names, shared;
  Grouping grouping(functions, sharing);
  for (const std::string& name : names) {
    std::vector<Group> groups = grouping.groups_of(name);
    const Group* first = nullptr;  // that changes the buffer: its memory has the buffer's name
    for (Group& group : groups) {
      const bool changes = group.changes();
      const std::string& owner = functions[group.methods[0]].name;
      std::string memory = name;
      if (changes && first) {
        for (memory += "@" + owner; !memories.insert(memory).second;) memory += "@";
      }
      for (size_t k = 0; k < group.methods.size(); ++k) {
        const size_t method = group.methods[k];
        if (memory != name) out.rules_[method].names[name] = memory;
        if (!changes || group.methods.size() == 1) continue;
        group.buffers[k]->kind = ValueKind::state;
        out.shared_[method].push_back({name, memory, owner});
        shared.insert(name);
      }
      if (changes && !first) first = &group;
    }
    if (sharing.rule == StateSharing::Rule::none) continue;
    for (const Group& group : groups) {
      if (&group == first) continue;
      const std::string why =
          grouping.why_apart(first->methods[0], *first->buffers[0], group.methods[0], *group.buffers[0], name);
      for (const size_t method : group.methods) {
        Function& function = functions[method];
        const std::string buffer = fmt::format("its own buffer '{}'", printable(name));
        function.notes.push_back(group.changes() ? fmt::format("method '{}' has {}: {}", function.name, buffer, why)
                                                 : fmt::format("method '{}' reads {}, which does not change: {}",
                                                               function.name, buffer, why));
      }
    }
  }
  RETURN_IF_ERROR(check_names(sharing.names, shared, functions));
  return out;
}

std::string SharedBuffers::memory_of(size_t function, const std::string& buffer) const {
  const auto name = rules_[function].names.find(buffer);
  return name == rules_[function].names.end() ? buffer : name->second;
}

bool SharedBuffers::disagree(const std::vector<std::vector<BufferPlace>>& places) {
  bool changed = false;
  for (size_t i = 0; i < places.size(); ++i) {
    for (const BufferPlace& place : places[i]) {
      if (!place.backend.empty()) continue;
      for (size_t k = 0; k < places.size(); ++k) {
        if (k == i || memory_of(k, place.name) != memory_of(i, place.name)) continue;
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
