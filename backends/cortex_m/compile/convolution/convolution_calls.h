// Calls the convolution kernels and builds their constants. C++20.
#pragma once
#include "backends/cortex_m/compile/convolution/convolution.h"
#include "backends/cortex_m/compile/isa.h"

namespace wick::cortex_m {

/// Scratch memory for the kernels of one instruction set.
compiler::Value* scratch(compiler::Builder& builder, const ScratchBytes& bytes, Isa isa);

/// Calls quantized_conv2d, or quantized_depthwise_conv2d where each group has one channel, on an image `x`. Not
/// transposed.
compiler::Value* convolution(compiler::Builder& builder, compiler::Value* x, const Convolution& convolution, Isa isa);

/// The bytes of packed weights, for `outputs` outputs with `terms` products each.
int64_t packed_bytes(bool depthwise, int64_t outputs, int64_t terms);
/// Whether packing saves memory. Requires: weights of four bits; not transposed.
bool is_smaller_packed(const Convolution& convolution);
/// Calls depthwise_conv2d_int4 where each group has one channel, with the scratch of quantized_depthwise_conv2d; else
/// conv2d_int4. On MVE the latter gets scratch for unpacked weights; for few positions, or if memory is tight, it gets
/// little scratch, and sums. Requires: is_smaller_packed; the filter keeps to [-8, 7].
compiler::Value* packed_convolution(compiler::Builder& builder, compiler::Value* x, const Convolution& convolution,
                                    const Configuration& configuration);

/// Calls quantized_transpose_conv2d. Requires: one group, no dilation, no output padding.
compiler::Value* transposed_convolution(compiler::Builder& builder, compiler::Value* x, const Convolution& convolution,
                                        Isa isa);

}  // namespace wick::cortex_m
