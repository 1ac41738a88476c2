// quantized_linear on cores without vectors: gemm.h. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/gemm/gemm.h"
#include "backends/cortex_m/kernels/linear/linear.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m {

/// Requires: linear.num_inputs > 0.
template <typename Isa, GemmWeights kWeights = GemmWeights::int8>
void linear_without_vectors(const Linear& linear) {
  Gemm gemm;
  gemm.num_rows = static_cast<int32_t>(linear.rows);
  gemm.depth = static_cast<int32_t>(linear.num_inputs);
  gemm.num_outputs = gemm.row_stride = static_cast<int32_t>(linear.num_outputs);
  gemm.weights = linear.weights;
  gemm.input_offset = linear.is_summed ? 0 : linear.input_offset;
  gemm.weight_offset = linear.filter_offset;
  gemm.bias = linear.addend;
  gemm.stage = linear.stage;
  const RepeatedScale scale(linear.stage, &gemm);
  if (linear.multipliers != nullptr) {
    gemm.multipliers = linear.multipliers;
    gemm.shifts = linear.shifts;
    gemm.step = 1;
  }
  const MatrixRows<int8_t> rows = {linear.x, gemm.depth};
  run_with_tile({}, [&](Span<uint32_t> tile) { GemmTile<Isa, kWeights>(gemm, tile).run(rows, linear.y); });
}

template <typename Isa>
void quantized_linear_without_vectors(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (!read_linear(context, args, &linear)) return;
  if (linear.num_inputs == 0) return reference::quantized_linear(context, args);
  linear_without_vectors<Isa>(linear);
}

template <typename Isa>
void linear_per_channel_without_vectors(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (!read_linear_per_channel(context, args, &linear)) return;
  if (linear.num_inputs == 0) return reference::linear_per_channel(context, args);
  linear_without_vectors<Isa>(linear);
}

template <typename Isa>
void linear_int4_without_vectors(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (!read_linear_int4(context, args, &linear)) return;
  if (linear.num_inputs == 0) return reference::linear_int4(context, args);
  linear_without_vectors<Isa, GemmWeights::int4>(linear);
}

}  // namespace wick::cortex_m
