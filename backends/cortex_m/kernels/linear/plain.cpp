// quantized_linear on cores without vectors: gemm.h. C++17, freestanding.
#include "backends/cortex_m/kernels/gemm/gemm.h"
#include "backends/cortex_m/kernels/isa/chosen.h"
#include "backends/cortex_m/kernels/linear/linear.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::plain {
namespace {

/// Requires: linear.num_inputs > 0.
template <GemmWeights kWeights = GemmWeights::int8>
void multiply_rows(const Linear& linear) {
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

}  // namespace

void quantized_linear(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (!read_linear(context, args, &linear)) return;
  if (linear.num_inputs == 0) return reference::quantized_linear(context, args);
  multiply_rows(linear);
}

void linear_per_channel(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (!read_linear_per_channel(context, args, &linear)) return;
  if (linear.num_inputs == 0) return reference::linear_per_channel(context, args);
  multiply_rows(linear);
}

void linear_int4(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (!read_linear_int4(context, args, &linear)) return;
  if (linear.num_inputs == 0) return reference::linear_int4(context, args);
  multiply_rows<GemmWeights::int4>(linear);
}

}  // namespace wick::cortex_m::plain
