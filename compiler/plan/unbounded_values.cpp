#include "compiler/plan/unbounded_values.h"

#include <fmt/format.h>

#include <set>

namespace wick::compiler {

std::vector<UnboundedValue> unbounded_values(const MethodPlan& plan) {
  const std::set<int32_t> inputs(plan.inputs.begin(), plan.inputs.end());
  std::set<int32_t> freed;
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.kind == Instruction::Kind::free) freed.insert(instruction.args[0]);
  }
  std::vector<UnboundedValue> found;
  for (size_t i = 0; i < plan.values.size(); ++i) {
    const auto* tensor = std::get_if<PlannedTensor>(&plan.values[i]);
    if (!tensor || !tensor->unbounded) continue;
    const auto index = static_cast<int32_t>(i);
    const Storage& storage = plan.storages[tensor->storage];
    if (inputs.count(index) != 0) {
      found.push_back({storage.label, "the caller's"});
      continue;
    }
    if (storage.kind != Storage::Kind::unbounded || !storage.used) continue;
    found.push_back({storage.label, freed.count(index) != 0 ? fmt::format("freed after instruction {}", storage.last)
                                                            : "kept until the next execution"});
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
