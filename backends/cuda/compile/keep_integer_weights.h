// A pass of the CUDA backend. C++20.
#pragma once
#include "compiler/passes/pass.h"

namespace wick::cuda {

/// Turns conversions of 8-bit constants to f32, f16 and bf16 into operators that dequantize with the scale 1. Constant
/// folding leaves these alone, so the constant stays as small as it is, and each reader converts what it reads.
///   before: w = _to_copy(permute(q), bf16) of a constant i8 [n, k]; y = mm(x, w)
///   after:  y = linear(x, dequantize_affine(q, [n, k], 1, none, i8, -128, 127, bf16))
/// Keeps: every value, bit for bit.
compiler::Result<compiler::Changed> keep_integer_weights(compiler::Graph& graph);

}  // namespace wick::cuda
