#include "compiler/plan/shared_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/plan/memory_plan.h"
#include "compiler/support/json_writer.h"

namespace wick::compiler {

void share_states(std::vector<MethodPlan>& methods) {
  std::map<std::string, uint64_t> offsets;  // by memory
  uint64_t end = 0;
  for (MethodPlan& method : methods) {
    std::map<std::string, std::string> memory;
    for (const SharedState& state : method.shared_states) memory[state.name] = state.memory;
    for (Storage& storage : method.storages) {
      const auto shared = memory.find(storage.label);
      if (storage.kind != Storage::Kind::state || shared == memory.end()) continue;
      const auto [place, fresh] = offsets.try_emplace(shared->second, end);
      if (fresh) end += storage.size_bytes;
      storage.shared = true;
      storage.offset = place->second;
      memory.erase(shared);  // a second state of this name is the method's own
    }
  }
  const bool read_behind =
      std::any_of(methods.begin(), methods.end(), [](const MethodPlan& method) { return !method.delegates.empty(); });
  for (MethodPlan& method : methods) method.shared_arena_bytes = end + (end > 0 && read_behind ? kReadBehindBytes : 0);
}

std::string list_of_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 4;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += fmt::format("{}'{}'", i > 0 ? ", " : "", printable(names[i], 80));
  return names.size() > kShown ? fmt::format("{} and {} more", text, names.size() - kShown) : text;
}

std::vector<std::string> sharing_text(const std::string& method, const std::vector<SharedState>& shared) {
  std::map<std::string, std::vector<std::string>> names;  // by owner
  for (const SharedState& state : shared) {
    if (state.owner != method) names[state.owner].push_back(state.name);
  }
  std::vector<std::string> lines;
  for (const auto& [owner, of_owner] : names) {
    lines.push_back(fmt::format("method '{}' uses the state{} {} of method '{}'", printable(method),
                                of_owner.size() == 1 ? "" : "s", list_of_names(of_owner), printable(owner)));
  }
  return lines;
}

void write_shared_states(const std::vector<SharedState>& shared, JsonWriter& json) {
  json.key("shared_states");
  json.array();
  for (const SharedState& state : shared) {
    json.object();
    json.field("name", state.name);
    json.field("owner", state.owner);
    json.end();
  }
  json.end();
}

}  // namespace wick::compiler
