// Keeps writes to mutable buffers from happening if an index is out of bounds. C++20.
#pragma once
#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

/// Guards each store to a mutable buffer: it happens only if all indices from data that its place and its value depend
/// on are in bounds. If the value was first written to another buffer, at a place that such an index names, the store
/// happens only if no check of the call has failed so far. So a failed call does not change the buffer there.
void guard_writes(LoweredGraph& graph);

}  // namespace wick::cuda
