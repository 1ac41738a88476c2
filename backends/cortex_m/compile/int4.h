// Weights that a model quantizes to four bits, packed as the kernels read them (kernels/int4.h). C++20.
#pragma once
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// Constant int8 weights whose quantization and elements keep to [-8, 7]. Of a value that is quantized.
bool is_int4(const compiler::Value& weights);

/// Rows of `count` elements in [-8, 7], one after the other, packed.
std::vector<uint8_t> pack_int4(const std::vector<int8_t>& elements, size_t count);

}  // namespace wick::cortex_m
