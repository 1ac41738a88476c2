#include "cli/explain/float_costs.h"

#include <algorithm>

namespace wick::cli {
namespace {

using compiler::Instruction;
using compiler::PlannedTensor;

enum class Role : uint8_t { other, on_floats, to_floats, to_integers };

class Roles {
 public:
  explicit Roles(const compiler::MethodPlan& plan) : plan_(plan), writer_(plan.values.size(), kNone) {
    for (size_t i = 0; i < plan.instructions.size(); ++i) {
      roles_.push_back(role_of(plan.instructions[i]));
      const PlannedTensor* result = result_of(plan.instructions[i]);
      if (result) writer_[static_cast<size_t>(plan.instructions[i].args.back())] = i;
    }
  }

  Role role(size_t instruction) const { return roles_[instruction]; }

  /// The node on floats for which a conversion is made, or null.
  const compiler::Origin* served(size_t conversion) const {
    const Instruction& instruction = plan_.instructions[conversion];
    if (roles_[conversion] == Role::to_integers) {
      const size_t writer = writer_of(first_tensor(instruction));
      return writer != kNone && roles_[writer] == Role::on_floats ? origin(writer) : nullptr;
    }
    for (size_t i = conversion + 1; i < plan_.instructions.size(); ++i) {
      const std::vector<int32_t>& args = plan_.instructions[i].args;
      if (roles_[i] == Role::on_floats && std::find(args.begin(), args.end(), instruction.args.back()) != args.end())
        return origin(i);
    }
    return nullptr;
  }
  const compiler::Origin* origin(size_t instruction) const { return plan_.instructions[instruction].origin.get(); }

  uint64_t float_bytes(size_t instruction) const {
    const PlannedTensor* result = result_of(plan_.instructions[instruction]);
    if (!result || !is_floating(result->dtype)) return 0;
    const compiler::Storage& storage = plan_.storages[result->storage];
    return storage.kind == compiler::Storage::Kind::arena ? storage.size_bytes : 0;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  const PlannedTensor* tensor(int32_t value) const {
    return value < 0 ? nullptr : std::get_if<PlannedTensor>(&plan_.values[static_cast<size_t>(value)]);
  }
  const PlannedTensor* result_of(const Instruction& instruction) const {
    return instruction.kind == Instruction::Kind::kernel && !instruction.args.empty() ? tensor(instruction.args.back())
                                                                                      : nullptr;
  }
  int32_t first_tensor(const Instruction& instruction) const {
    const auto found =
        std::find_if(instruction.args.begin(), instruction.args.end(), [&](int32_t arg) { return tensor(arg); });
    return found == instruction.args.end() ? -1 : *found;
  }
  size_t writer_of(int32_t value) const { return value < 0 ? kNone : writer_[static_cast<size_t>(value)]; }

  Role role_of(const Instruction& instruction) const {
    const PlannedTensor *result = result_of(instruction), *operand = tensor(first_tensor(instruction));
    if (!result || !operand) return Role::other;
    const bool reads = is_floating(operand->dtype), writes = is_floating(result->dtype);
    if (reads && writes) return Role::on_floats;
    if (reads == writes) return Role::other;
    const std::string& name = plan_.operators[instruction.op].name;
    if (name.find("quantize") == std::string::npos) return Role::on_floats;
    return writes ? Role::to_floats : Role::to_integers;
  }

  const compiler::MethodPlan& plan_;
  std::vector<Role> roles_;
  std::vector<size_t> writer_;  // by value: the instruction that wrote it last
};

}  // namespace

FloatCosts float_costs(const compiler::MethodPlan& plan, const std::vector<compiler::CallCost>& costs) {
  FloatCosts out;
  const Roles roles(plan);
  for (size_t i = 0; i < plan.instructions.size(); ++i) {
    const Role role = roles.role(i);
    if (role == Role::other) continue;
    const double instructions = costs[i].instructions();
    if (role == Role::on_floats) {
      FloatCost& cost = out.of[roles.origin(i)];
      cost.instructions += instructions;
      cost.bytes += roles.float_bytes(i);
      cost.is_known = cost.is_known && costs[i].is_known;
      continue;
    }
    FloatCost* const each[] = {&out.conversions, roles.served(i) ? &out.of[roles.served(i)] : nullptr};
    for (FloatCost* cost : each) {
      if (!cost) continue;
      cost->conversion_instructions += instructions;
      cost->bytes += roles.float_bytes(i);
      cost->is_known = cost->is_known && costs[i].is_known;
    }
  }
  out.of.erase(nullptr);
  return out;
}

}  // namespace wick::cli
