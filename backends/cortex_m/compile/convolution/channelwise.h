// Multiplies each channel by a factor and adds an offset, as a depthwise convolution with a 1x1 kernel. C++20.
#pragma once
#include <vector>

#include "backends/cortex_m/compile/isa.h"
#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

/// y[:, c] = x[:, c] * factors[c] + offsets[c]; x and y are both int8 or both int16.
struct Channelwise {
  Affine input, output;
  std::vector<double> factors, offsets;  // one for each channel; offsets may be empty
  bool wide = false;                     // int16
};

/// Why the kernel cannot compute it, or "". `x` has the shape [N, C, ..].
Refusal refuse_channelwise(const compiler::Value& x, const Channelwise& channelwise);
/// The result, with the sizes of `x`. Requires: refuse_channelwise has no reason.
compiler::Value* channelwise(compiler::Builder& builder, compiler::Value* x, const Channelwise& channelwise, Isa isa);

}  // namespace wick::cortex_m
