// Finds loads of one thread that are adjacent in memory. C++20.
#pragma once
#include <vector>

#include "backends/cuda/compile/expression/expression.h"

namespace wick::cuda {

/// One load, or 2 to 16 loads of adjacent elements with the same guard. Together they have at most 16 bytes, and the
/// first element's offset is a multiple of their number, so that one vector load can replace them.
using LoadRun = std::vector<ExpressionPtr>;

/// All loads that the roots consist of. A run comes after the loads that its offsets depend on.
std::vector<LoadRun> load_runs(const std::vector<ExpressionPtr>& roots);

}  // namespace wick::cuda
