#include "cli/explain/call_costs.h"

#include <algorithm>
#include <cstring>

#include "backends/compile_table.h"
#include "cli/program/program_metadata.h"

namespace wick::cli {
namespace {

using compiler::CallArgument;
using compiler::CallCost;
using compiler::Target;

// The elements of a constant 1-d tensor of int32, the form of a kernel's parameters; empty for any other tensor.
std::vector<int64_t> elements_of(const TensorMeta& tensor) {
  std::vector<int64_t> out;
  if (tensor.storage != wick::Storage::constant || tensor.dtype != DType::i32 || tensor.sizes.size() != 1) return out;
  for (size_t at = 0; at + sizeof(int32_t) <= tensor.bytes.size(); at += sizeof(int32_t)) {
    int32_t element = 0;
    memcpy(&element, tensor.bytes.data() + at, sizeof element);
    out.push_back(element);
  }
  return out;
}

CallArgument argument_of(const MethodMeta& method, int32_t index) {
  CallArgument argument;
  const ValueMeta value = method.value(static_cast<size_t>(index));
  if (value.tag == Tag::tensor) {
    argument.is_tensor = true;
    argument.is_constant = value.tensor.storage == wick::Storage::constant;
    argument.dtype = value.tensor.dtype;
    argument.sizes.assign(value.tensor.sizes.begin(), value.tensor.sizes.end());
    argument.dim_order.assign(value.tensor.dim_order.begin(), value.tensor.dim_order.end());
    argument.numbers = elements_of(value.tensor);
  } else if (value.tag == Tag::integer) {
    argument.numbers = {value.integer};
  } else if (value.tag == Tag::boolean) {
    argument.numbers = {value.boolean ? 1 : 0};
  }
  for (const int64_t item : value.int_items)
    argument.numbers.push_back(method.value(static_cast<size_t>(item)).integer);
  for (const int32_t item : value.tensor_items)
    argument.items.push_back(item < 0 ? CallArgument() : argument_of(method, item));
  return argument;
}

// The last argument of a call is the return slot, which repeats the result.
CallCost cost_of(const MethodMeta& method, const InstructionMeta& instruction, const Target& target,
                 const std::vector<std::string>& facts) {
  if (instruction.kind != InstructionKind::kernel || instruction.args.size() < 2) return {};
  compiler::OperatorCall call;
  call.name = operator_text(method.op(instruction.target));
  for (size_t i = 0; i + 1 < instruction.args.size(); ++i)
    call.arguments.push_back(argument_of(method, instruction.args[i]));
  return target.reporting.call_cost(call, {facts.data(), facts.size()});
}

bool calls_operators_of(const Program& program, const Target& target) {
  for (size_t m = 0; m < program.num_methods(); ++m) {
    const MethodMeta method = program.method(m);
    for (size_t i = 0; i < method.num_operators(); ++i) {
      const std::string key = operator_text(method.op(i));
      for (const compiler::OpDef& op : target.kernels.ops) {
        if (op.kernel && key == op.kernel) return true;
      }
    }
  }
  return false;
}

}  // namespace

const Target* cost_model_of(const Program& program, const std::vector<compiler::TargetRequest>& requests) {
  for (const compiler::TargetRequest& request : requests) {
    if (request.target->reporting.call_cost) return request.target;
  }
  for (const Target* target : compiler::known_targets()) {
    if (target->reporting.call_cost && calls_operators_of(program, *target)) return target;
  }
  return nullptr;
}

std::vector<CallCost> call_costs(const MethodMeta& method, const Target& target,
                                 const std::vector<std::string>& facts) {
  std::vector<CallCost> costs;
  for (size_t chain = 0; chain < method.num_chains(); ++chain) {
    for (size_t i = 0; i < method.num_instructions(chain); ++i)
      costs.push_back(cost_of(method, method.instruction(chain, i), target, facts));
  }
  return costs;
}

CallCost executor_cost(const MethodMeta& method, const Target& target, const std::vector<std::string>& facts) {
  CallArgument counts;
  counts.numbers = {0, 0};
  for (size_t chain = 0; chain < method.num_chains(); ++chain) {
    counts.numbers[0] += static_cast<int64_t>(method.num_instructions(chain));
    for (size_t i = 0; i < method.num_instructions(chain); ++i)
      counts.numbers[1] += static_cast<int64_t>(method.instruction(chain, i).args.size());
  }
  return target.reporting.call_cost({compiler::kExecutorCall, {counts}}, {facts.data(), facts.size()});
}

}  // namespace wick::cli
