// Sums of products of int16 and int8, as the kernels take them: a bias of int32 where every sum fits 32 bits, else of
// int64. C++20.
#pragma once
#include <string>
#include <vector>

#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"

namespace wick::cortex_m {

struct Int16Sums {
  std::vector<Requantization> scales;  // one, or one for each output
  std::vector<int64_t> bias;           // empty: none
  bool wide = false;                   // sums have 64 bits
};

/// Weights [outputs][..] without zero points. `steps`: what an accumulator of each output counts, or one for all. Fills
/// `sums`, or says why the kernels cannot compute them.
Refusal read_int16_sums(const std::vector<int8_t>& weights, size_t outputs, const std::vector<double>& steps,
                        const Affine& input, const Affine& output, const compiler::Value* bias, Int16Sums* sums);

/// bias, multipliers and shifts as operands. `outputs` are those that share `scales` and `bias` in order.
struct Int16Operands {
  compiler::Arg bias;
  compiler::Value *multipliers, *shifts;
};
Int16Operands operands_of(compiler::Builder& builder, const Int16Sums& sums, size_t outputs);

}  // namespace wick::cortex_m
