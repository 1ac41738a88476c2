// A factor and an offset for each channel: a depthwise convolution with a kernel of one pixel. C++20.
#pragma once
#include <vector>

#include "backends/cortex_m/compile/isa.h"
#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

/// y = x[:, c] * factors[c] + offsets[c], int8 or int16 both.
struct Channelwise {
  Affine input, output;
  std::vector<double> factors, offsets;  // of each channel; no offsets: none
  bool wide = false;                     // int16
};

/// Why it cannot be computed so, or "". The shape is that of `x`: [N, C, ..].
Refusal refuse_channelwise(const compiler::Value& x, const Channelwise& channelwise);
/// Its result, with the sizes of `x`. Requires: it is not refused.
compiler::Value* channelwise(compiler::Builder& builder, compiler::Value* x, const Channelwise& channelwise, Isa isa);

}  // namespace wick::cortex_m
