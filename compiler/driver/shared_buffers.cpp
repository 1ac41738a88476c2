#include "compiler/driver/shared_buffers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/ir/zero_bytes.h"

namespace wick::compiler {
namespace {

using Tensors = std::map<std::string, StoredTensor, std::less<>>;  // by name

// Parameters and buffers of a method; those in its graph if it was never in a file.
Tensors tensors_of(const Function& function) {
  Tensors out;
  for (const StoredTensor& tensor : function.stored) out.emplace(tensor.name, tensor);
  for (Value* state : function.graph->states())
    out.emplace(state->buffer_name(), StoredTensor{state->buffer_name(), false, state});
  for (Value* constant : function.graph->constants()) {
    if (!constant->fqn.empty()) out.emplace(constant->fqn, StoredTensor{constant->fqn, false, constant});
  }
  return out;
}

bool is_read(const StoredTensor& tensor) { return tensor.value->num_uses() > 0; }
bool is_changed(const StoredTensor& tensor) { return tensor.value->kind == ValueKind::state; }

Result<ConstantData> elements_of(const StoredTensor& tensor) {
  return tensor.elements && !is_changed(tensor) ? tensor.elements() : tensor.value->data;
}

// Whether dtype, shape and elements are equal. A tensor that cannot be unpacked equals no other.
bool same_tensor(const StoredTensor& a, const StoredTensor& b) {
  const TensorType &type = a.value->tensor(), &other = b.value->tensor();
  if (type.dtype != other.dtype || type.sizes != other.sizes || type.dim_order != other.dim_order) return false;
  const Result<ConstantData> of_a = elements_of(a), of_b = elements_of(b);
  if (!of_a.ok() || !of_b.ok()) return false;
  if (of_a->empty() || of_b->empty()) return is_zero(of_a->empty() ? *of_b : *of_a);
  return same_bytes(*of_a, *of_b);
}

// A tensor of a method.
struct Member {
  size_t method;
  const StoredTensor* tensor;
};

// Methods that share a buffer, or one that has it for itself.
struct Group {
  std::vector<Member> members;
  bool changes() const {
    return std::any_of(members.begin(), members.end(), [](const Member& m) { return is_changed(*m.tensor); });
  }
};

// Why a method does not share a buffer.
struct Apart {
  std::string reason;      // "": it does
  bool may_share = false;  // --share-state would change that
};

class Grouping {
 public:
  Grouping(const std::vector<Function>& functions, const StateSharing& sharing)
      : functions_(functions), sharing_(sharing) {
    for (const Function& function : functions) tensors_.push_back(tensors_of(function));
  }

  size_t num_methods() const { return tensors_.size(); }
  const Tensors& tensors(size_t method) const { return tensors_[method]; }

  // The groups of a name, in the order of their first methods.
  std::vector<Group> groups_of(const std::string& name) {
    std::vector<Group> groups;
    for (size_t i = 0; i < functions_.size(); ++i) {
      const auto tensor = tensors_[i].find(name);
      if (tensor == tensors_[i].end()) continue;
      const Member member = {i, &tensor->second};
      const auto joins = [&](const Group& group) { return why_apart(group, member, name).reason.empty(); };
      auto group = std::find_if(groups.begin(), groups.end(), joins);
      if (group == groups.end()) group = groups.insert(group, Group());
      group->members.push_back(member);
    }
    return groups;
  }

  // Why `member` does not belong to the group: the reason of the first member that it differs from.
  Apart why_apart(const Group& group, const Member& member, const std::string& name) {
    for (const Member& other : group.members) {
      Apart apart = why_apart(other, member, name);
      if (!apart.reason.empty()) return apart;
    }
    return {};
  }

  bool is_shared(size_t a, size_t b, const std::string& name) { return rule_between(a, b, name).reason.empty(); }

 private:
  Apart why_apart(const Member& a, const Member& b, const std::string& name) {
    if (!same_tensor(*a.tensor, *b.tensor)) {
      return {fmt::format("method '{}' has another dtype, shape or initial value", functions_[a.method].name)};
    }
    return rule_between(a.method, b.method, name);
  }

  Apart rule_between(size_t a, size_t b, const std::string& name) {
    const std::vector<std::string>& names = sharing_.names;
    if (sharing_.rule == StateSharing::Rule::all || std::find(names.begin(), names.end(), name) != names.end())
      return {};
    if (sharing_.rule == StateSharing::Rule::none) return {"none is shared"};
    return {model_difference(a, b), true};
  }

  // Why two methods are not of one model; "" if they are.
  const std::string& model_difference(size_t a, size_t b) {
    std::optional<std::string>& known = differences_[{a, b}];
    if (known) return *known;
    bool common = false;
    for (const auto& [name, parameter] : tensors_[b]) {
      const auto other = tensors_[a].find(name);
      if (!parameter.is_parameter || other == tensors_[a].end() || !other->second.is_parameter) continue;
      common = true;
      if (!same_tensor(other->second, parameter)) {
        return known.emplace(
            fmt::format("method '{}' has another parameter '{}'", functions_[a].name, printable(name)));
      }
    }
    return known.emplace(common ? ""
                                : fmt::format("method '{}' has no parameter of the same name", functions_[a].name));
  }

  const std::vector<Function>& functions_;
  const StateSharing& sharing_;
  std::vector<Tensors> tensors_;
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

// Turns a buffer that other methods change into a state.
void make_state(Function& function, const StoredTensor& tensor, ConstantData elements) {
  if (!tensor.value->producer) {
    tensor.value->kind = ValueKind::state;
    return;
  }
  Value* state =
      function.graph->add_state(tensor.value->tensor(), std::move(elements), tensor.value->name, tensor.name);
  function.graph->replace(tensor.value, state);
}

// The buffers that a method has for itself, by reason.
class OwnBuffers {
 public:
  void add(const std::string& name, bool changes, const Apart& apart) {
    names_[{apart.reason, changes, apart.may_share}].push_back(name);
  }
  void note(Function& function) const {
    for (const auto& [key, names] : names_) {
      const auto& [reason, changes, may_share] = key;
      const bool one = names.size() == 1;
      const char* hint = !may_share ? "" : one ? " (--share-state shares it)" : " (--share-state shares them)";
      const std::string buffers = fmt::format("its own buffer{} {}", one ? "" : "s", list_of_names(names));
      function.notes.push_back(changes ? fmt::format("method '{}' has {}: {}{}", function.name, buffers, reason, hint)
                                       : fmt::format("method '{}' reads {}, which {} not change: {}{}", function.name,
                                                     buffers, one ? "does" : "do", reason, hint));
    }
  }

 private:
  std::map<std::tuple<std::string, bool, bool>, std::vector<std::string>> names_;  // reason, changes, may_share
};

Status check_names(const std::vector<std::string>& wanted, const std::set<std::string>& shared,
                   const std::set<std::string>& changed, const Grouping& grouping) {
  for (const std::string& name : wanted) {
    if (shared.count(name)) continue;
    size_t count = 0;
    for (size_t i = 0; i < grouping.num_methods(); ++i) count += grouping.tensors(i).count(name);
    if (count > 1 && changed.count(name)) {
      return Diag(Code::usage, fmt::format("the methods cannot share the buffer '{}'", printable(name)))
          .with_help("its dtype, shape and initial value must be the same in them");
    }
    return Diag(Code::usage, fmt::format("no two methods have a mutable buffer '{}'", printable(name)))
        .with_help(changed.empty() ? "there are no mutable buffers"
                                   : fmt::format("mutable buffers: {}", fmt::join(changed, ", ")));
  }
  return {};
}

// Refuses a buffer that one method changes while another one reads a tensor in the same memory: the change would not
// reach that reader.
Status check_overlaps(const std::vector<Function>& functions, Grouping& grouping) {
  for (size_t i = 0; i < functions.size(); ++i) {
    for (const auto& [changed, other] : functions[i].overlaps) {
      for (size_t k = 0; k < functions.size(); ++k) {
        const auto tensor = grouping.tensors(k).find(other);
        if (k == i || tensor == grouping.tensors(k).end() || !is_read(tensor->second) ||
            !grouping.is_shared(i, k, changed)) {
          continue;
        }
        return Diag(Code::unsupported_model,
                    fmt::format("method '{}' writes the buffer '{}' while '{}', which method '{}' reads, shares its "
                                "memory",
                                functions[i].name, printable(changed), printable(other), functions[k].name))
            .with_help("make one of them a clone(), or a view computed in forward(); or give --no-share-state");
      }
    }
  }
  return {};
}

}  // namespace

Result<SharedBuffers> SharedBuffers::find(std::vector<Function>& functions, const StateSharing& sharing) {
  SharedBuffers out;
  out.rules_.resize(functions.size());
  out.shared_.resize(functions.size());
  for (const Function& function : functions) out.methods_.push_back(function.name);
  if (functions.size() < 2 && sharing.names.empty()) return out;
  const std::set<std::string> names = changed_names(functions);
  std::set<std::string> memories = names, shared;
  Grouping grouping(functions, sharing);
  RETURN_IF_ERROR(check_overlaps(functions, grouping));
  std::vector<OwnBuffers> own(functions.size());
  std::set<const Value*> placed;  // looked up only
  for (const std::string& name : names) {
    const std::vector<Group> groups = grouping.groups_of(name);
    if (std::all_of(groups.begin(), groups.end(), [&](const Group& group) {
          return std::all_of(group.members.begin(), group.members.end(),
                             [&](const Member& member) { return placed.count(member.tensor->value) > 0; });
        })) {
      continue;  // another name of the same buffers
    }
    const Group* first = nullptr;  // the first group that changes the buffer: its memory has the buffer's name
    for (const Group& group : groups) {
      const bool changes = group.changes();
      const std::string& owner = functions[group.members[0].method].name;
      std::string memory = name;
      if (changes && first) {
        for (memory += "@" + owner; !memories.insert(memory).second;) memory += "@";
      }
      if (changes && !first) first = &group;
      for (const Member& member : group.members) {
        const Value& value = *member.tensor->value;
        const std::string& own_name = value.producer ? name : value.buffer_name();
        placed.insert(&value);
        if (memory != own_name) out.rules_[member.method].names[own_name] = memory;
        if (changes && group.members.size() > 1) out.shared_[member.method].push_back({own_name, memory, owner});
      }
      if (changes && group.members.size() > 1) shared.insert(name);
    }
    if (sharing.rule == StateSharing::Rule::none) continue;
    for (const Group& group : groups) {
      if (&group == first) continue;
      const Apart apart = grouping.why_apart(*first, group.members[0], name);
      for (const Member& member : group.members) own[member.method].add(name, group.changes(), apart);
    }
  }
  RETURN_IF_ERROR(check_names(sharing.names, shared, names, grouping));
  for (size_t i = 0; i < functions.size(); ++i) {
    for (const SharedState& state : out.shared_[i]) {
      const StoredTensor& tensor = grouping.tensors(i).find(state.name)->second;
      if (is_changed(tensor)) continue;
      ASSIGN_OR_RETURN(ConstantData elements, elements_of(tensor));
      make_state(functions[i], tensor, std::move(elements));
    }
    own[i].note(functions[i]);
  }
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
