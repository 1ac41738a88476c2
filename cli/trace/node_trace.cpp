#include "cli/trace/node_trace.h"

#include <algorithm>
#include <tuple>

#include "cli/arrays/array_summary.h"
#include "cli/program/operator_facts.h"
#include "cli/trace/rounding_flips.h"
#include "runtime/module/host_tensor.h"

namespace wick::cli {

NamedArray to_array(const Tensor& tensor) {
  HostTensor host = to_host(tensor);
  NamedArray array;
  array.dtype = host.dtype;
  array.sizes.assign(host.sizes.begin(), host.sizes.end());
  array.bytes = std::move(host.bytes);
  return array;
}

namespace {

// The file without its folders, as instruction_source gives it.
std::string file_of(const std::string& source) {
  const size_t slash = source.find_last_of("/\\");
  return slash == std::string::npos ? source : source.substr(slash + 1);
}

// Calls fn(key, array) for the outputs of a delegate (its last arguments), except those on a device. Their keys have no
// operator.
void for_each_output(const MethodMeta& method, const std::vector<DelegateFacts>& delegates,
                     const InstructionInfo& instruction, const std::function<void(const NodeKey&, NamedArray)>& fn) {
  const InstructionMeta call = method.instruction(instruction.chain, instruction.index);
  if (call.target >= delegates.size()) return;
  const std::vector<PlaceFacts>& outputs = delegates[call.target].outputs;
  if (outputs.size() > instruction.args.size()) return;
  const size_t first = instruction.args.size() - outputs.size();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const EValue& value = *instruction.args[first + i];
    if (value.tag != Tag::tensor || (!value.tensor->data && value.tensor->numel != 0)) continue;
    if (method.value(static_cast<size_t>(call.args[first + i])).tensor.device_type != 0) continue;
    NamedArray array = to_array(*value.tensor);
    const NodeKey key = {file_of(outputs[i].source), outputs[i].module, array_text(array.dtype, array.sizes), ""};
    fn(key, std::move(array));
  }
}

// Stands for the operator in the key of elements that are compared with every quantized value of their type.
constexpr char kQuantized[] = "(quantized)";
constexpr double kSteps = 1;

bool is_any_quantize(const std::string& op) { return op.starts_with("quantized_decomposed::quantize_per_"); }

}  // namespace

// The last argument is the return slot.
void for_each_result(const MethodMeta& method, const InstructionInfo& instruction,
                     const std::function<void(const NodeKey&, NamedArray)>& fn) {
  if (instruction.kind != InstructionKind::kernel || instruction.args.empty()) return;
  const std::string op = operator_text(instruction.op);
  if (returns_placeholder(op)) return;
  const compiler::Where where = instruction_source(method, instruction.chain, instruction.index);
  const auto visit = [&](const Tensor* tensor) {
    if (!tensor || (!tensor->data && tensor->numel != 0)) return;
    NamedArray array = to_array(*tensor);
    const NodeKey key = {where.source, where.module, array_text(array.dtype, array.sizes), op};
    fn(key, std::move(array));
  };
  const EValue& slot = *instruction.args[instruction.args.size() - 1];
  if (slot.tag == Tag::tensor) visit(slot.tensor);
  if (slot.tag == Tag::tensor_list) {
    for (const Tensor* tensor : slot.tensors()) visit(tensor);
  }
}

const NamedArray* NodeRecorder::result(const NodeKey& key, size_t index) const {
  const auto found = results_.find(key);
  return found == results_.end() || index >= found->second.size() ? nullptr : &found->second[index];
}

void NodeRecorder::record(void* state, const InstructionInfo& instruction, Error error) {
  auto& self = *static_cast<NodeRecorder*>(state);
  if (error != Error::Ok || !self.method_) return;
  for_each_result(*self.method_, instruction, [&](const NodeKey& key, NamedArray array) {
    ++self.counts_[key];
    if (self.bytes_ + array.bytes.size() > self.max_bytes_) {
      self.complete_ = false;
      return;
    }
    self.bytes_ += array.bytes.size();
    self.results_[key].push_back(std::move(array));
  });
}

void NodeComparer::watch(const MethodMeta& method) {
  method_ = method;
  auto facts = read_facts(method);
  if (facts.ok()) delegates_ = std::move(facts->delegates);
}

void NodeComparer::compare(void* state, const InstructionInfo& instruction, Error error) {
  auto& self = *static_cast<NodeComparer*>(state);
  if (error != Error::Ok || !self.method_) return;
  const auto fn = [&](const NodeKey& key, const NamedArray& array) { self.compare_result(instruction, key, array); };
  if (instruction.kind == InstructionKind::delegate)
    for_each_output(*self.method_, self.delegates_, instruction, fn);
  else
    for_each_result(*self.method_, instruction, fn);
}

std::optional<Difference> NodeComparer::nearest_of_key(const NodeKey& key, const NamedArray& array) const {
  const bool any_op = std::get<3>(key).empty();
  std::optional<Difference> nearest;
  for (auto it = wanted_.results_.lower_bound(key); it != wanted_.results_.end(); ++it) {
    const auto& [source, module, type, op] = it->first;
    if (std::tie(source, module, type) != std::tie(std::get<0>(key), std::get<1>(key), std::get<2>(key))) break;
    if (!any_op && op != std::get<3>(key)) break;
    for (size_t i = 0; i < it->second.size(); ++i) {
      Tolerance tolerance = tolerance_;
      if (flipper_) tolerance.of_roundings = kFlippedBothWays * flipper_->deviation(it->first, i);
      Difference difference = compare_arrays(array, it->second[i], tolerance);
      if (!nearest || difference.mismatches < nearest->mismatches) nearest = std::move(difference);
      if (nearest->ok()) return nearest;
    }
  }
  return nearest;
}

std::optional<Difference> NodeComparer::nearest_quantized(const std::string& type, const NamedArray& array) const {
  std::optional<Difference> nearest;
  for (const auto& [key, results] : wanted_.results_) {
    if (std::get<2>(key) != type || !is_any_quantize(std::get<3>(key))) continue;
    for (size_t i = 0; i < results.size(); ++i) {
      Tolerance tolerance = tolerance_;
      tolerance.of_roundings = std::max(kSteps, flipper_ ? kFlippedBothWays * flipper_->deviation(key, i) : 0);
      Difference difference = compare_arrays(array, results[i], tolerance);
      if (!nearest || difference.mismatches < nearest->mismatches) nearest = std::move(difference);
    }
  }
  return nearest;
}

void NodeComparer::compare_result(const InstructionInfo& instruction, const NodeKey& key, const NamedArray& array) {
  const auto& [source, module, type, op] = key;
  std::optional<Difference> nearest = nearest_of_key(key, array);
  NodeKey counted = key;
  if (!nearest && !op.empty() && is_grid(array.dtype)) {
    nearest = nearest_quantized(type, array);
    counted = {"", "", type, kQuantized};
  }
  ++counts_[counted];
  if (!nearest) return;
  ++num_compared_;
  if (nearest->ok() || !deviating_.insert(counted).second) return;
  const std::string name = op.empty() ? std::string("an output of ") + instruction.op.name : op;
  deviations_.emplace_back(counted, Deviation{name, source, module, instruction.index, std::move(*nearest),
                                              std::get<3>(counted) == kQuantized});
}

size_t NodeComparer::count_wanted(const NodeKey& key) const {
  size_t count = 0;
  for (const auto& [wanted, results] : wanted_.counts_) {
    const bool quantized = std::get<3>(key) == kQuantized && std::get<2>(key) == std::get<2>(wanted);
    if (wanted == key || (quantized && is_any_quantize(std::get<3>(wanted)))) count += results;
  }
  return count;
}

std::optional<Deviation> NodeComparer::first_deviation(bool by_value) const {
  for (const auto& [key, deviation] : deviations_) {
    if (deviation.by_value && !by_value) continue;
    if (std::get<3>(key).empty() || counts_.at(key) == count_wanted(key)) return deviation;
  }
  return {};
}

}  // namespace wick::cli
