// Windows of average pools that differ in what they count. C++20.
#pragma once
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// Positions of a pool along one axis that follow one another at equal distances, with windows of one size.
struct WindowRun {
  int64_t start = 0, stride = 1;  // of the windows inside the input
  int64_t size = 0, divisor = 0;  // elements of the input, and how many elements count
  int64_t positions = 0;
  int64_t span() const { return (positions - 1) * stride + size; }
};

/// The runs along each axis of aten.avg_pool2d, without a divisor of its own, or aten._adaptive_avg_pool2d on an image
/// [N, C, H, W]. Empty: a window has no elements.
std::vector<WindowRun> window_runs(const compiler::Node& pool, size_t axis);

}  // namespace wick::cortex_m
