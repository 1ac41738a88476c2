// How far apart the values of a quantized tensor lie. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// The distance of two neighbouring values of a tensor that holds elements of a quantized one: 1 for what a quantize
/// gives, the largest scale for what a dequantize gives; the same through operators that only move elements, pick some
/// or bound them. 0 for other values, and for scales that are known only at run time.
double quantization_step(const Value& value);

}  // namespace wick::compiler
