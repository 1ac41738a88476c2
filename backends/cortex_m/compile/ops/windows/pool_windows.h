// Average pools whose windows count different numbers of elements. C++20.
#pragma once
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// Consecutive positions of a pool along one axis: equal distances, windows of one size, and one divisor.
struct WindowRun {
  int64_t start = 0, stride = 1;  // of the windows inside the input
  int64_t size = 0, divisor = 0;  // input elements in a window, and what divides their sum
  int64_t positions = 0;
  int64_t span() const { return (positions - 1) * stride + size; }
};

/// The runs along one axis of a pool on images [N, C, H, W]: aten.avg_pool2d without divisor_override, or
/// aten._adaptive_avg_pool2d. Empty: some window has no elements.
std::vector<WindowRun> window_runs(const compiler::Node& pool, size_t axis);

}  // namespace wick::cortex_m
