#include "compiler/plan/unbounded_values.h"

#include <fmt/format.h>

#include <algorithm>

namespace wick::compiler {

std::vector<UnboundedValue> unbounded_values(const MethodPlan& plan) {
  std::vector<UnboundedValue> found;
  for (size_t i = 0; i < plan.values.size(); ++i) {
    const auto* tensor = std::get_if<PlannedTensor>(&plan.values[i]);
    if (!tensor || !tensor->unbounded) continue;
    const auto index = static_cast<int32_t>(i);
    const Storage& storage = plan.storages[tensor->storage];
    if (std::find(plan.inputs.begin(), plan.inputs.end(), index) != plan.inputs.end()) {
      found.push_back({storage.label, "the caller's"});
      continue;
    }
    if (storage.kind != Storage::Kind::unbounded || !storage.used) continue;
    const auto free = std::find_if(plan.instructions.begin(), plan.instructions.end(), [&](const Instruction& at) {
      return at.kind == Instruction::Kind::free && at.args[0] == index;
    });
    found.push_back({storage.label, free == plan.instructions.end()
                                        ? "kept until the next execution"
                                        : fmt::format("freed after instruction {}", storage.last)});
  }
  return found;
}

std::string draw_unbounded(const MethodPlan& plan) {
  const std::vector<UnboundedValue> values = unbounded_values(plan);
  if (values.empty()) return "";
  std::string out = fmt::format("without an upper bound, in memory of the caller's allocator: {}\n", values.size());
  for (const UnboundedValue& value : values) out += fmt::format("  {}: {}\n", value.name, value.memory);
  return out;
}

}  // namespace wick::compiler
