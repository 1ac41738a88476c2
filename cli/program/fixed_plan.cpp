#include "cli/program/fixed_plan.h"

#include <algorithm>
#include <bit>

#include "cli/program/operator_facts.h"
#include "runtime/core/check_argument.h"
#include "runtime/exec/shared_arena.h"
#include "runtime/firmware/fixed_method.h"
#include "runtime/program/tensor_layout.h"
#include "wick/backends.h"

namespace wick::cli {
namespace {

/// The kernel of an operator; null if there is none, as for the executor's own operators.
const Kernel* find_kernel(const OperatorName& op) {
  for (const KernelTable& table : all_kernels()) {
    for (const Kernel& kernel : table) {
      if (op.equals(kernel.name)) return &kernel;
    }
  }
  return nullptr;
}

class Planner {
 public:
  explicit Planner(const MethodMeta& meta) : meta_(meta), numbers_(meta.num_values()) {}

  std::optional<FixedMethodPlan> run() {
    for (size_t i = 0; i < meta_.num_values(); ++i) {
      if (!add_value(i)) return std::nullopt;
    }
    for (size_t chain = 0; chain < meta_.num_chains(); ++chain) {
      for (size_t i = 0; i < meta_.num_instructions(chain); ++i) {
        if (!add_call(meta_.instruction(chain, i))) return std::nullopt;
      }
    }
    for (size_t i = 0; i < meta_.num_inputs(); ++i) plan_.inputs.push_back(tensor_of(meta_.input(i)));
    for (size_t i = 0; i < meta_.num_outputs(); ++i) plan_.outputs.push_back(tensor_of(meta_.output(i)));
    const auto lies_in_arena = [&](const auto& port) {
      return port && plan_.tensors[*port].meta.storage == Storage::planned;
    };
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      if (meta_.input_value(i).tag == Tag::tensor && !lies_in_arena(plan_.inputs[i])) return std::nullopt;
    }
    if (!std::all_of(plan_.outputs.begin(), plan_.outputs.end(), lies_in_arena)) return std::nullopt;
    const size_t count = plan_.tensors.size() + plan_.constants.size();
    return count < FixedTables::kNoTensor ? std::optional(std::move(plan_)) : std::nullopt;
  }

 private:
  struct Number {
    bool is_tensor = false;
    uint32_t index = 0;  // index among tensors, or among constants
  };

  std::optional<uint32_t> tensor_of(size_t value) const {
    return numbers_[value].is_tensor ? std::optional(numbers_[value].index) : std::nullopt;
  }

  bool add_value(size_t index) {
    const ValueMeta value = meta_.value(index);
    if (value.tag == Tag::tensor) {
      numbers_[index] = {true, static_cast<uint32_t>(plan_.tensors.size())};
      return add_tensor(value.tensor);
    }
    if (value.tag == Tag::tensor_list || value.tag == Tag::optional_tensor_list) return false;
    std::vector<int64_t> items;
    for (const int64_t item : value.int_items) {
      const ValueMeta element = meta_.value(static_cast<size_t>(item));
      if (element.tag != Tag::integer) return false;
      items.push_back(element.integer);
    }
    numbers_[index] = {false, add_constant(value, std::move(items))};
    return true;
  }

  bool add_tensor(const TensorMeta& meta) {
    if (meta.dynamism != ShapeDynamism::fixed || meta.storage == Storage::unbound || meta.external ||
        meta.device_type != 0)
      return false;
    FixedTensorPlan& tensor = plan_.tensors.emplace_back();
    tensor.meta = meta;
    tensor.strides.resize(meta.sizes.size());
    std::vector<int32_t> sizes(meta.sizes.size());
    Tensor layout;
    if (describe_tensor(meta, sizes.data(), tensor.strides.data(), &layout) != Error::Ok) return false;
    const auto place = [&](const uint8_t* byte) { return static_cast<uint64_t>(byte - meta_.program().file().data()); };
    if (meta.storage == Storage::constant) {
      tensor.offset = meta.nbytes == 0 ? meta_.program().file().size() : place(meta.bytes.data());
      return true;
    }
    for (size_t arena = 0; arena < meta.arena; ++arena) tensor.offset += (meta_.arena_bytes(arena) + 15) / 16 * 16;
    tensor.offset += meta.arena_offset;
    if (meta.initialized) tensor.initial = place(meta.bytes.data());
    return true;
  }

  uint32_t add_constant(const ValueMeta& value, std::vector<int64_t> items) {
    const auto same = [](const auto& a, const auto& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); };
    // Compares bits: zeros have signs, and NaN is equal to itself.
    const auto same_bits = [](double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); };
    for (size_t i = 0; i < plan_.constants.size(); ++i) {
      const ValueMeta& other = plan_.constants[i];
      if (other.tag == value.tag && other.integer == value.integer && other.boolean == value.boolean &&
          same_bits(other.real, value.real) && plan_.int_lists[i] == items &&
          std::equal(other.reals.begin(), other.reals.end(), value.reals.begin(), value.reals.end(), same_bits) &&
          same(other.bools, value.bools) && same(other.string, value.string))
        return static_cast<uint32_t>(i);
    }
    plan_.constants.push_back(value);
    plan_.int_lists.push_back(std::move(items));
    return static_cast<uint32_t>(plan_.constants.size() - 1);
  }

  bool add_call(const InstructionMeta& instruction) {
    if (instruction.kind != InstructionKind::kernel || instruction.args.empty() ||
        instruction.args.size() > FixedMethod::kMaxArgs)
      return false;
    const Kernel* kernel = find_kernel(meta_.op(instruction.target));
    const char* form = kernel ? form_of(kernel->signature, instruction.args.size() - 1) : nullptr;
    if (!form) return false;
    // The last argument is the return slot. It must be an out tensor of the call.
    const int32_t slot = instruction.args[instruction.args.size() - 1];
    bool is_out = false;
    for (size_t k = 0; k + 1 < instruction.args.size(); ++k) is_out |= form[k] == 'o' && instruction.args[k] == slot;
    if (!is_out || !numbers_[static_cast<size_t>(slot)].is_tensor) return false;
    FixedCallPlan& call = plan_.calls.emplace_back();
    call.op = instruction.target;
    for (const int32_t arg : instruction.args) {
      const Number& number = numbers_[static_cast<size_t>(arg)];
      call.args.push_back(number.index + (number.is_tensor ? 0 : static_cast<uint32_t>(plan_.tensors.size())));
    }
    return true;
  }

  const MethodMeta& meta_;
  std::vector<Number> numbers_;  // by value
  FixedMethodPlan plan_;
};

}  // namespace

uint64_t FixedMethodPlan::table_bytes() const {
  constexpr uint64_t kTensorRow = 28, kValue = 16, kList = 12, kCall = 6, kTables = 64;
  uint64_t total = kTables + constants.size() * kValue + calls.size() * kCall + 2 * (inputs.size() + outputs.size());
  for (const FixedTensorPlan& tensor : tensors) total += kTensorRow + 12 * tensor.strides.size();
  for (const FixedCallPlan& call : calls) total += 2 * call.args.size();
  for (size_t i = 0; i < constants.size(); ++i) {
    total += constants[i].tag == Tag::int_list ? kList + 8 * int_lists[i].size() : 0;
    total += 8 * constants[i].reals.size() + constants[i].bools.size() + constants[i].string.size() + 8;
  }
  return total;
}

std::optional<std::vector<FixedMethodPlan>> plan_fixed_methods(const Program& program) {
  if (shares_arena(program)) return std::nullopt;
  std::vector<FixedMethodPlan> plans;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    auto plan = Planner(program.method(i)).run();
    if (!plan) return std::nullopt;
    plans.push_back(std::move(*plan));
  }
  return plans;
}

uint64_t first_constant_byte(const std::vector<FixedMethodPlan>& methods, uint64_t file_bytes) {
  uint64_t first = file_bytes;
  for (const FixedMethodPlan& method : methods) {
    for (const FixedTensorPlan& tensor : method.tensors) {
      if (tensor.meta.storage == Storage::constant) first = std::min(first, tensor.offset);
      if (tensor.meta.storage == Storage::planned && tensor.meta.initialized) first = std::min(first, tensor.initial);
    }
  }
  return first / 16 * 16;
}

}  // namespace wick::cli
