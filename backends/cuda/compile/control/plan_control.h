// Conditions and loops among the kernels of a plan. C++20.
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

/// What lies in memory when a loop begins and is read in it stays there for all rounds, and so does what rounds write
/// parts of. Conditions are read behind the kernels before their mark.
void extend_lives(const std::vector<ControlMark>& marks, std::vector<Life>& lives);

/// The mark that began the part which is still open behind the last mark; SIZE_MAX: none is.
size_t open_part(const std::vector<ControlMark>& marks);

/// Which part of which node each node belongs to.
std::vector<uint32_t> parts_of(const std::vector<PlanNode>& nodes);

}  // namespace wick::cuda
