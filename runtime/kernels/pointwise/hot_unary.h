// The fast way through a unary function: dense f32 in and out, the loop built for the processor.
#pragma once
#include "runtime/kernels/hot/hot_kernels.h"
#include "wick/kernel.h"

namespace wick {
namespace kernels {

/// Runs `function` over `in` if both tensors are f32 and can have one layout; resizes `out`. False if the general way
/// must do it (nothing happened then).
bool hot_unary(KernelContext& context, const Tensor& in, Tensor& out,
               void (*function)(const float* in, float* out, int64_t count));

}  // namespace kernels
}  // namespace wick
