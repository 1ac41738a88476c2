// Weights whose outputs have zero points of their own: kernels take none, or one for all. C++20.
#pragma once
#include <string>
#include <vector>

#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

/// Why zero points of weights are not elements of int8, or "".
Refusal refuse_zero_points(const compiler::Quantization& quantization);

/// Weights minus zero points, which may have nine bits: each is the sum of `copies` weights of eight bits, for inputs
/// that stand side by side as often. The same number, as sums are exact.
struct CenteredWeights {
  std::vector<int8_t> elements;  // [outputs][taps][copies][inputs]
  int64_t copies = 1;            // 1 where eight bits are enough, 3 at most
};
/// Of weights [outputs][taps][inputs], and a zero point for each output.
CenteredWeights centered_weights(const std::vector<int8_t>& weights, size_t inputs, const std::vector<double>& zeros);

/// The tensor with the elements of dimension `dim`, in each of `groups` equal parts of it, `copies` times side by side.
compiler::Value* repeated_inputs(compiler::Builder& builder, compiler::Value* x, size_t dim, int64_t groups,
                                 int64_t copies);

}  // namespace wick::cortex_m
