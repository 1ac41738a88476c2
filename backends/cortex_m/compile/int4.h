// Weights that a model quantizes to four bits, packed as the kernels read them (kernels/int4.h). C++20.
#pragma once
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// Whether the weights are constant int8 whose range and elements keep to [-8, 7]. Requires: they are quantized.
bool is_int4(const compiler::Value& weights);

/// Packs rows of `count` elements in [-8, 7].
std::vector<uint8_t> pack_int4(const std::vector<int8_t>& elements, size_t count);

}  // namespace wick::cortex_m
