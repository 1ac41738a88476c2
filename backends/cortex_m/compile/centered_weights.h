// Weights with a different zero point for each output. Kernels take none, or one for all outputs. C++20.
#pragma once
#include <string>
#include <vector>

#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

/// Why the zero points are not elements of int8, or "".
Refusal refuse_zero_points(const compiler::Quantization& quantization);

/// Weights minus their zero points, which may need nine bits. Each is a sum of `copies` weights of eight bits, and each
/// input is repeated as often (repeated_inputs). The layer's result stays the same, as its sums are exact.
struct CenteredWeights {
  std::vector<int8_t> elements;  // [outputs][taps][copies][inputs]
  int64_t copies = 1;            // 1 if eight bits are enough, at most 3
};
/// For weights [outputs][taps][inputs], with one zero point for each output.
CenteredWeights centered_weights(const std::vector<int8_t>& weights, size_t inputs, const std::vector<double>& zeros);

/// Repeats the elements of dimension `dim` `copies` times: each of its `groups` equal parts is followed by its copies.
compiler::Value* repeated_inputs(compiler::Builder& builder, compiler::Value* x, size_t dim, int64_t groups,
                                 int64_t copies);

}  // namespace wick::cortex_m
