// The distance between neighbouring values of a quantized tensor. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// The distance between neighbouring values of a tensor that holds elements of a quantized one: 1 for the result of a
/// quantize, the largest scale for the result of a dequantize. Operators that only move, select or bound elements keep
/// it. 0 for other values, and for scales known only at run time.
double quantization_step(const Value& value);

}  // namespace wick::compiler
