// Writes to mutable buffers that depend on an index out of bounds. C++20.
#pragma once
#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

/// A store to a mutable buffer is done only if all indices that its place and its element are made of lie within what
/// they index. So are those that bring what was written to another buffer first, at the place that such an index names:
/// no check of the call may have failed by then. A failed call leaves the buffer as it was there.
void guard_writes(LoweredGraph& graph);

}  // namespace wick::cuda
