// What it costs that nodes of a quantized model compute on floats.
#pragma once
#include <map>
#include <vector>

#include "compiler/partition/call_cost.h"
#include "compiler/plan/method_plan.h"
#include "wick/program.h"

namespace wick::cli {

/// Of the instructions of some nodes. `is_known`: their kernels are in the cost model.
struct FloatCost {
  double instructions = 0, conversion_instructions = 0;
  uint64_t bytes = 0;  // of floats that they write into the arena, conversions included
  bool is_known = true;
};

struct FloatCosts {
  std::map<const compiler::Origin*, FloatCost> of;  // by the node that instructions come from
  FloatCost conversions;                            // all of them, also where the model begins and ends
};

/// `method` is the plan as it was emitted; `costs` has one entry for each instruction. A conversion between floats and
/// integers counts for the node on floats that reads its result, or else for the one that wrote its operand.
FloatCosts float_costs(const compiler::MethodPlan& plan, const std::vector<compiler::CallCost>& costs);

}  // namespace wick::cli
