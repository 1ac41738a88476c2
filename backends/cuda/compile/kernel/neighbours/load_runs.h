// Which loads of one thread lie side by side in memory. C++20.
#pragma once
#include <vector>

#include "backends/cuda/compile/expression/expression.h"

namespace wick::cuda {

/// One load, or 2 to 16 of neighbouring elements that have one guard: the first stands at a multiple of their number,
/// and they are 16 bytes at most.
using LoadRun = std::vector<ExpressionPtr>;

/// All loads that the roots are made of. What a load's place is made of comes before it.
std::vector<LoadRun> load_runs(const std::vector<ExpressionPtr>& roots);

}  // namespace wick::cuda
