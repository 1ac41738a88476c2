// C++20.
#pragma once
#include "compiler/partition/call_cost.h"

namespace wick::cortex_m {

/// Estimated instructions of the kernel for MVE that computes quantized_conv2d, or quantized_depthwise_conv2d with one
/// input channel, which is a convolution (kernels/conv2d/mve_forms.h). 0 where sizes are beyond what it computes.
double convolution_on_vectors(const compiler::OperatorCall& call);

/// The same of conv2d_int4 with scratch for unpacked weights, without unpacking them; 0 for others.
double packed_convolution_on_vectors(const compiler::OperatorCall& call);

}  // namespace wick::cortex_m
