#include "backends/cuda/runtime/work.h"

#include <string.h>

namespace wick::cuda {
namespace {

bool is_argument(const Plan& plan, const Argument& argument) {
  if (argument.kind != ParameterKind::pointer) return false;
  const Space space = plan.buffers[argument.index].space;
  return space == Space::input || space == Space::output;
}

}  // namespace

WorkList::WorkList(const Plan& plan, const std::vector<DriverFunction*>& functions)
    : plan_(plan), work_(plan.nodes.size()), addresses_(plan.buffers.size()) {
  for (size_t i = 0; i < work_.size(); ++i) {
    const PlanNode& node = plan.nodes[i];
    Work& work = work_[i];
    work.kind = node.kind;
    work.first_argument = numbers_.size();
    if (node.kind == NodeKind::launch) work.function = functions[node.kernel];
    for (const Argument& argument : node.arguments) {
      work.touches_arguments = work.touches_arguments || is_argument(plan, argument);
    }
    numbers_.resize(numbers_.size() + node.arguments.size());
  }
  parameters_.reserve(numbers_.size());
  for (uint64_t& number : numbers_) parameters_.push_back(&number);
}

void WorkList::update_node(size_t index, Span<const int64_t> values) {
  const PlanNode& node = plan_.nodes[index];
  Work& work = work_[index];
  if (node.kind == NodeKind::launch) {
    work.is_empty = false;
    for (size_t k = 0; k < 3; ++k) {
      work.grid[k] = static_cast<unsigned>(values[node.grid[k]]);
      work.is_empty = work.is_empty || work.grid[k] == 0;
    }
  } else if (node.size != kNone) {
    work.size_bytes = static_cast<uint64_t>(values[node.size]);
    work.is_empty = work.size_bytes == 0;
  }
  for (size_t k = 0; k < node.arguments.size(); ++k) {
    const Argument& argument = node.arguments[k];
    uint64_t& number = numbers_[work.first_argument + k];
    if (argument.kind == ParameterKind::pointer) {
      number = addresses_[argument.index];
      if (argument.offset != kNone) number += static_cast<uint64_t>(values[argument.offset]);
    } else if (argument.kind == ParameterKind::int64) {
      number = static_cast<uint64_t>(values[argument.index]);
    } else {
      const int32_t narrow = static_cast<int32_t>(values[argument.index]);
      memcpy(&number, &narrow, sizeof narrow);
    }
  }
}

void WorkList::update(Span<const int64_t> values) {
  for (size_t i = 0; i < work_.size(); ++i) update_node(i, values);
}

void WorkList::update_arguments(Span<const int64_t> values) {
  for (size_t i = 0; i < work_.size(); ++i) {
    if (work_[i].touches_arguments) update_node(i, values);
  }
}

bool WorkList::arguments_fit(Span<const uint64_t> bytes, Span<const int64_t> values) const {
  for (size_t i = 0; i < work_.size(); ++i) {
    if (!work_[i].touches_arguments) continue;
    for (const Argument& argument : plan_.nodes[i].arguments) {
      if (!is_argument(plan_, argument)) continue;
      // check_plan() bounds sum and size, so neither overflows.
      uint64_t end = argument.offset == kNone ? 0 : static_cast<uint64_t>(values[argument.offset]);
      if (plan_.nodes[i].size != kNone) end += static_cast<uint64_t>(values[plan_.nodes[i].size]);
      if (is_control(plan_.nodes[i].kind)) ++end;
      if (end > bytes[argument.index]) return false;
    }
  }
  return true;
}

KernelNodeParams WorkList::kernel_params(size_t index) {
  const Work& work = work_[index];
  const Kernel& kernel = plan_.kernels[plan_.nodes[index].kernel];
  KernelNodeParams params = {};
  params.function = work.function;
  for (size_t k = 0; k < 3; ++k) {
    params.grid[k] = work.grid[k];
    params.block[k] = kernel.block[k];
  }
  params.shared_bytes = kernel.dynamic_shared_bytes;
  params.parameters = parameters_.data() + work.first_argument;
  return params;
}

MemcpyParams WorkList::copy_params(size_t index) const {
  const Work& work = work_[index];
  MemcpyParams params = {};
  params.source.memory_type = params.destination.memory_type = kMemoryDevice;
  params.destination.device = numbers_[work.first_argument];
  params.source.device = numbers_[work.first_argument + 1];
  params.width_bytes = work.size_bytes;
  // A copy of one row. A row may be longer than the largest pitch; then no pitch is given.
  if (work.size_bytes <= kMaxPitch) params.source.pitch = params.destination.pitch = work.size_bytes;
  params.source.height = params.destination.height = params.height = params.depth = 1;
  return params;
}

MemsetParams WorkList::fill_params(size_t index) const {
  const Work& work = work_[index];
  MemsetParams params = {};
  params.destination = numbers_[work.first_argument];
  params.value = plan_.nodes[index].value;
  params.element_bytes = 1;
  params.width = work.size_bytes;
  params.height = 1;
  return params;
}

DriverStatus WorkList::start(const Driver& driver, size_t index, DriverStream* stream) {
  const Work& work = work_[index];
  if (work.is_empty) return kSuccess;
  const uint64_t* numbers = numbers_.data() + work.first_argument;
  switch (work.kind) {
    case NodeKind::copy: return driver.copy_on_device(numbers[0], numbers[1], work.size_bytes, stream);
    case NodeKind::fill: return driver.fill(numbers[0], plan_.nodes[index].value, work.size_bytes, stream);
    default: break;
  }
  const KernelNodeParams p = kernel_params(index);
  return driver.launch(p.function, p.grid[0], p.grid[1], p.grid[2], p.block[0], p.block[1], p.block[2], p.shared_bytes,
                       stream, p.parameters, nullptr);
}

std::string WorkList::text_of(size_t index) const {
  const PlanNode& node = plan_.nodes[index];
  std::string text = "node " + std::to_string(index);
  if (node.kind == NodeKind::copy) return text + ", a copy";
  if (node.kind == NodeKind::fill) return text + ", a fill";
  if (is_control(node.kind)) return text + (node.kind == NodeKind::choose ? ", a condition" : ", a loop");
  return text + ", kernel '" + plan_.kernels[node.kernel].name + "'";
}

}  // namespace wick::cuda
