// Sums of products of int16 activations and int8 weights, as the kernels take them. The bias is int32 if every sum fits
// 32 bits, else int64. C++20.
#pragma once
#include <string>
#include <vector>

#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"

namespace wick::cortex_m {

struct Int16Sums {
  std::vector<Requantization> scales;  // one, or one for each output
  std::vector<int64_t> bias;           // empty: none
  bool wide = false;                   // sums need 64 bits
};

/// Weights [outputs][..] without zero points. `steps`: scale(input) * scale(weights), the unit of the accumulator, for
/// each output or one for all. Fills `sums`, or says why the kernels cannot compute them.
Refusal read_int16_sums(const std::vector<int8_t>& weights, size_t outputs, const std::vector<double>& steps,
                        const Affine& input, const Affine& output, const compiler::Value* bias, Int16Sums* sums);

/// Bias, multipliers and shifts as operands. `outputs`: how many outputs there are; each takes the entries of `scales`
/// and `bias` in turn.
struct Int16Operands {
  compiler::Arg bias;
  compiler::Value *multipliers, *shifts;
};
Int16Operands operands_of(compiler::Builder& builder, const Int16Sums& sums, size_t outputs);

}  // namespace wick::cortex_m
