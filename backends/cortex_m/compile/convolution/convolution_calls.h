// Calls of the kernels for convolutions, and their constants. C++20.
#pragma once
#include "backends/cortex_m/compile/convolution/convolution.h"
#include "backends/cortex_m/compile/isa.h"

namespace wick::cortex_m {

/// Scratch memory for the kernels of one instruction set.
compiler::Value* scratch(compiler::Builder& builder, const ScratchBytes& bytes, Isa isa);

/// quantized_conv2d, or quantized_depthwise_conv2d where each group has one channel, on an image `x`. Not transposed.
compiler::Value* convolution(compiler::Builder& builder, compiler::Value* x, const Convolution& convolution, Isa isa);

/// What the weights of `outputs` outputs with `terms` products each take when they are packed.
int64_t packed_bytes(bool depthwise, int64_t outputs, int64_t terms);
/// Whether weights of four bits take less memory when they are packed. Of a convolution that is not transposed.
bool is_smaller_packed(const Convolution& convolution);
/// depthwise_conv2d_int4 where each group has one channel, with the scratch of quantized_depthwise_conv2d; others:
/// conv2d_int4, on MVE with scratch to unpack weights to, or with little scratch and sums: for few positions, and where
/// memory is tight. Requires: is_smaller_packed; the filter keeps to [-8, 7].
compiler::Value* packed_convolution(compiler::Builder& builder, compiler::Value* x, const Convolution& convolution,
                                    const Configuration& configuration);

/// quantized_transpose_conv2d. Requires: one group, no dilation, no output padding.
compiler::Value* transposed_convolution(compiler::Builder& builder, compiler::Value* x, const Convolution& convolution,
                                        Isa isa);

}  // namespace wick::cortex_m
