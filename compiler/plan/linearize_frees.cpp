// Frees the memory of values without an upper bound.
#include <algorithm>

#include "compiler/plan/linearizer.h"

namespace wick::compiler {

// before: last read of %x             after: last read of %x; free %x
// Requires: lifetimes are final; outputs live until outputs_at_. Ensures: a jump past the last read lands before the
// frees, so every path frees; freeing twice does nothing.
void Linearizer::free_unbounded() {
  const size_t count = plan_.instructions.size();
  std::vector<std::vector<int32_t>> behind(count);  // by instruction: the tensors that nobody reads after it
  for (size_t i = 0; i < plan_.values.size(); ++i) {
    const auto* tensor = std::get_if<PlannedTensor>(&plan_.values[i]);
    if (!tensor || !tensor->unbounded) continue;
    const Storage& storage = plan_.storages[tensor->storage];
    if (storage.kind == Storage::Kind::unbounded && storage.used && storage.last < outputs_at_)
      behind[storage.last].push_back(static_cast<int32_t>(i));
  }
  if (std::all_of(behind.begin(), behind.end(), [](const auto& list) { return list.empty(); })) return;
  std::vector<uint32_t> place(count + 1);  // by old index of an instruction: its new index
  std::vector<Instruction> instructions;
  for (size_t i = 0; i < count; ++i) {
    place[i] = static_cast<uint32_t>(instructions.size());
    const OriginPtr origin = plan_.instructions[i].origin;
    instructions.push_back(std::move(plan_.instructions[i]));
    for (const int32_t value : behind[i]) instructions.push_back({Instruction::Kind::free, 0, {value}, origin, {}});
  }
  place[count] = static_cast<uint32_t>(instructions.size());
  for (Instruction& instruction : instructions) {
    if (instruction.kind != Instruction::Kind::jump_false) continue;
    int32_t& destination = instruction.args[1];
    if (destination > 0) destination = static_cast<int32_t>(place[static_cast<size_t>(destination) - 1] + 1);
  }
  plan_.instructions = std::move(instructions);
  for (CopyReason& copy : plan_.copies) copy.instruction = place[copy.instruction];
  for (Storage& storage : plan_.storages) {
    storage.first = place[std::min<size_t>(storage.first, count)];
    storage.last = place[std::min<size_t>(storage.last, count)];
  }
}

}  // namespace wick::compiler
