// What the calls of a method cost, as the backend whose operators it calls predicts.
#pragma once
#include <string>
#include <vector>

#include "compiler/partition/target.h"
#include "wick/program.h"

namespace wick::cli {

/// The backend that predicts costs of a program: one of `requests`, or the one whose operators the program calls. Null:
/// none does.
const compiler::Target* cost_model_of(const Program& program, const std::vector<compiler::TargetRequest>& requests);

/// One per instruction of all chains; those that call no kernel cost nothing and are not known.
std::vector<compiler::CallCost> call_costs(const MethodMeta& method, const compiler::Target& target,
                                           const std::vector<std::string>& facts);

/// Of the executor itself, for one execution without jumps.
compiler::CallCost executor_cost(const MethodMeta& method, const compiler::Target& target,
                                 const std::vector<std::string>& facts);

}  // namespace wick::cli
