// Predicted costs of the calls of a method, from the backend whose operators it calls.
#pragma once
#include <string>
#include <vector>

#include "compiler/partition/target.h"
#include "wick/program.h"

namespace wick::cli {

/// The backend that predicts costs of a program: one of `requests`, or the one whose operators the program calls. Null
/// if there is none.
const compiler::Target* cost_model_of(const Program& program, const std::vector<compiler::TargetRequest>& requests);

/// The costs of the instructions of all chains, in order. Instructions that call no kernel have an unknown cost of 0.
std::vector<compiler::CallCost> call_costs(const MethodMeta& method, const compiler::Target& target,
                                           const std::vector<std::string>& facts);

/// The cost of the executor itself, for one execution without jumps.
compiler::CallCost executor_cost(const MethodMeta& method, const compiler::Target& target,
                                 const std::vector<std::string>& facts);

}  // namespace wick::cli
