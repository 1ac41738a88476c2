#include "cli/node_trace.h"

#include <functional>

#include "cli/array_summary.h"
#include "runtime/module/host_tensor.h"

namespace wick::cli {
namespace {

NamedArray to_array(const Tensor& tensor) {
  HostTensor host = to_host(tensor);
  NamedArray array;
  array.dtype = host.dtype;
  array.sizes.assign(host.sizes.begin(), host.sizes.end());
  array.bytes = std::move(host.bytes);
  return array;
}

// Calls fn(key, array) for each tensor that the instruction wrote: its last argument is the return slot.
void for_each_result(const MethodMeta& method, const InstructionInfo& instruction,
                     const std::function<void(const NodeKey&, NamedArray)>& fn) {
  if (instruction.kind != InstructionKind::kernel || instruction.args.empty()) return;
  const compiler::Where where = instruction_source(method, instruction.chain, instruction.index);
  const auto visit = [&](const Tensor* tensor) {
    if (!tensor || (!tensor->data && tensor->numel != 0)) return;
    NamedArray array = to_array(*tensor);
    fn({operator_text(instruction.op), where.source, where.module, array_text(array.dtype, array.sizes)},
       std::move(array));
  };
  const EValue& slot = *instruction.args[instruction.args.size() - 1];
  if (slot.tag == Tag::tensor) visit(slot.tensor);
  if (slot.tag == Tag::tensor_list) {
    for (const Tensor* tensor : slot.tensors()) visit(tensor);
  }
}

}  // namespace

void NodeRecorder::record(void* state, const InstructionInfo& instruction, Error error) {
  auto& self = *static_cast<NodeRecorder*>(state);
  if (error != Error::Ok || !self.method_) return;
  for_each_result(*self.method_, instruction, [&](const NodeKey& key, NamedArray array) {
    if (self.bytes_ + array.bytes.size() > self.max_bytes_) {
      self.complete_ = false;
      return;
    }
    self.bytes_ += array.bytes.size();
    self.results_[key].push_back(std::move(array));
  });
}

void NodeComparer::compare(void* state, const InstructionInfo& instruction, Error error) {
  auto& self = *static_cast<NodeComparer*>(state);
  if (error != Error::Ok || !self.method_ || self.first_) return;
  for_each_result(*self.method_, instruction, [&](const NodeKey& key, NamedArray array) {
    const auto wanted = self.wanted_.results_.find(key);
    if (wanted == self.wanted_.results_.end() || self.first_) return;
    ++self.num_compared_;
    std::optional<Difference> nearest;
    for (const NamedArray& candidate : wanted->second) {
      Difference difference = compare_arrays(array, candidate, self.tolerance_);
      if (!nearest || difference.mismatches < nearest->mismatches) nearest = std::move(difference);
      if (nearest->ok()) return;
    }
    self.first_ =
        Departure{std::get<0>(key), std::get<1>(key), std::get<2>(key), instruction.index, std::move(*nearest)};
  });
}

}  // namespace wick::cli
