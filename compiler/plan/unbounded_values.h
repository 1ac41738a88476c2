// Lists the values of a plan that have no upper bound.
#pragma once
#include <string>
#include <vector>

#include "compiler/plan/method_plan.h"

namespace wick::compiler {

struct UnboundedValue {
  std::string name;
  std::string memory;  // "freed after instruction 3", "kept until the next execution", "the caller's" for an input
};

/// The values without an upper bound that take memory, and the inputs without one. Views of them are left out.
std::vector<UnboundedValue> unbounded_values(const MethodPlan& plan);

/// The same as text, a line each; "" if there are none.
std::string draw_unbounded(const MethodPlan& plan);

}  // namespace wick::compiler
