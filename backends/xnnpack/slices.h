// Linear layers and convolutions whose weights are too large for a core's cache, cut along their output channels. The
// library goes through all weights for every few rows; a slice of them stays in the cache meanwhile. C++17.
#pragma once
#include <cstdint>
#include <vector>

#include "backends/xnnpack/payload.h"

namespace wick::xnnpack {

struct SlicePolicy {
  uint64_t above_bytes = UINT64_MAX;  // weights of this size or less stay whole
  uint64_t slice_bytes = 512 << 10;   // of weights, about
  uint64_t min_rows = 48;             // of the product; with few there is nothing to keep for
};

/// Where it pays on this machine.
const SlicePolicy& slice_policy();

/// Output channels of each slice; empty if the node stays whole. Requires a checked payload and its dims.
std::vector<uint32_t> slices_of(const Payload& payload, const PayloadNode& node,
                                const std::vector<std::vector<uint32_t>>& dims, const SlicePolicy& policy);

}  // namespace wick::xnnpack
