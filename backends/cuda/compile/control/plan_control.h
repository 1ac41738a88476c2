// Effects of conditions and loops on the plan. C++20.
#pragma once
#include <cstdint>
#include <vector>

#include "backends/cuda/compile/lowering.h"
#include "backends/cuda/payload/plan.h"

namespace wick::cuda {

/// The first and the last kernel that uses a buffer.
struct Life {
  size_t first = SIZE_MAX, last = 0;
  void add(size_t kernel);
};

/// Extends the lives of buffers. A buffer that holds a value when a loop begins and is read inside it lives for all
/// rounds, and so do buffers of which each round writes a part. A condition is read after the kernels before its mark.
void extend_lives(const std::vector<ControlMark>& marks, std::vector<Life>& lives);

/// The last mark that begins a part which no later mark ends; SIZE_MAX: there is none.
size_t open_part(const std::vector<ControlMark>& marks);

/// For each node, a number of the part (of a condition or loop) that contains it.
std::vector<uint32_t> parts_of(const std::vector<PlanNode>& nodes);

}  // namespace wick::cuda
