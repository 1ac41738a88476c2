#include "backends/cortex_m/compile/ops/windows/pool_windows.h"

#include <algorithm>

namespace wick::cortex_m {

using compiler::Node;

namespace {

struct Window {
  int64_t start, size, divisor;
};

int64_t along(const std::vector<int64_t>& list, size_t axis) { return list.size() == 1 ? list[0] : list[axis]; }

Window adaptive_window(int64_t position, int64_t input, int64_t output) {
  const int64_t start = position * input / output, end = ((position + 1) * input + output - 1) / output;
  return {start, end - start, end - start};
}

// Padded positions in a window count if count_include_pad is set; positions beyond the padding never do.
Window window(const Node& node, size_t axis, int64_t position, int64_t input) {
  const std::vector<int64_t> kernel = node.static_ints("kernel_size"), stride = node.static_ints("stride");
  const int64_t size = along(kernel, axis), padding = along(node.static_ints("padding"), axis);
  const int64_t start = position * along(stride.empty() ? kernel : stride, axis) - padding;
  const int64_t first = std::max<int64_t>(start, 0), end = std::min(start + size, input);
  const int64_t counted = std::min(start + size, input + padding) - start;
  return {first, end - first, node.boolean("count_include_pad") ? counted : end - first};
}

bool continues(const WindowRun& run, const Window& next) {
  const int64_t step = next.start - (run.start + (run.positions - 1) * run.stride);
  return next.size == run.size && next.divisor == run.divisor && step > 0 && (run.positions == 1 || step == run.stride);
}

}  // namespace

std::vector<WindowRun> window_runs(const Node& pool, size_t axis) {
  const int64_t input = pool.operands()[0]->sizes()[2 + axis].value();
  const int64_t output = pool.result()->sizes()[2 + axis].value();
  const bool adaptive = pool.is("aten._adaptive_avg_pool2d.default");
  std::vector<WindowRun> runs;
  for (int64_t position = 0; position < output; ++position) {
    const Window next = adaptive ? adaptive_window(position, input, output) : window(pool, axis, position, input);
    if (next.size < 1) return {};
    if (runs.empty() || !continues(runs.back(), next)) {
      runs.push_back({next.start, 1, next.size, next.divisor, 1});
      continue;
    }
    runs.back().stride = next.start - (runs.back().start + (runs.back().positions - 1) * runs.back().stride);
    ++runs.back().positions;
  }
  return runs;
}

}  // namespace wick::cortex_m
