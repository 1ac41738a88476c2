// The cost of nodes that compute on floats in a quantized model.
#pragma once
#include <map>
#include <vector>

#include "compiler/partition/call_cost.h"
#include "compiler/plan/method_plan.h"
#include "wick/program.h"

namespace wick::cli {

/// The cost of the instructions of some nodes. `is_known`: their kernels are in the cost model.
struct FloatCost {
  double instructions = 0, conversion_instructions = 0;
  uint64_t bytes = 0;  // floats that they write into the arena, including conversions
  bool is_known = true;
};

struct FloatCosts {
  std::map<const compiler::Origin*, FloatCost> of;  // by the node that the instructions come from
  FloatCost conversions;                            // all of them, including those at the model's inputs and outputs
};

/// `plan` is the plan as it was emitted; `costs` has one entry for each instruction. A conversion between floats and
/// integers counts for the node on floats that reads its result, or else for the one that wrote its operand.
FloatCosts float_costs(const compiler::MethodPlan& plan, const std::vector<compiler::CallCost>& costs);

}  // namespace wick::cli
