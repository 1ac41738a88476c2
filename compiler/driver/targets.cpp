// The backends of this build.
#include <fmt/format.h>

#include <algorithm>

#include "backends/xnnpack/target.h"
#include "compiler/driver/compile.h"

namespace wick::compiler {

Span<const Target* const> known_targets() {
  static constexpr const Target* kTargets[] = {&xnnpack::kTarget};
  return {kTargets, std::size(kTargets)};
}

Result<std::vector<const Target*>> find_targets(std::string_view list) {
  std::vector<const Target*> found;
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    const size_t before = found.size();
    std::string known;
    for (const Target* target : known_targets()) {
      if (name == target->name) found.push_back(target);
      known += fmt::format("{}, ", target->name);
    }
    if (found.size() == before && name != "portable") {
      return Diag(Code::usage, fmt::format("this build has no backend '{}'", printable(name)))
          .expected(printable(name), known + "portable");
    }
    list.remove_prefix(std::min(list.size(), name.size() + 1));
  }
  return found;
}

}  // namespace wick::compiler
