// The functions for layouts of tiles in shared memory, which are text of kernels, for use on the host.
#pragma once
#include <cstdint>

#define WICK_FUNCTION inline
namespace wick_text {
namespace {
using u32 = uint32_t;
}  // namespace
}  // namespace wick_text
#include "backends/cuda/compile/text/tile_layout.h"
#undef WICK_FUNCTION
