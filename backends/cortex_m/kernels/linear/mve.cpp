// The linear operators as matmuls. The equations: reference.cpp.
#include "backends/cortex_m/kernels/linear/linear.h"
#include "backends/cortex_m/kernels/mve/gemm.h"
#include "backends/cortex_m/kernels/mve/gemm_int4.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

Gemm gemm_of(const Linear& linear) {
  Gemm gemm;
  gemm.terms = static_cast<int32_t>(linear.num_inputs);
  gemm.channels = static_cast<int32_t>(linear.num_outputs);
  gemm.input_offset = linear.is_summed ? 0 : linear.input_offset;
  gemm.filter_offset = linear.filter_offset;
  gemm.weights = linear.weights;
  gemm.addend = linear.addend;
  gemm.stage = linear.stage;
  gemm.multipliers = linear.multipliers;
  gemm.shifts = linear.shifts;
  return gemm;
}

void write_rows(const Linear& linear) {
  if (linear.rows == 0 || linear.num_outputs == 0) return;
  multiply_rows(gemm_of(linear), linear.x, static_cast<int32_t>(linear.rows), linear.y);
}

}  // namespace

void quantized_linear(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (read_linear(context, args, &linear)) write_rows(linear);
}

void linear_per_channel(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (read_linear_per_channel(context, args, &linear)) write_rows(linear);
}

void linear_int4(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (!read_linear_int4(context, args, &linear) || linear.rows == 0 || linear.num_outputs == 0) return;
  if (linear.num_inputs == 0) return reference::linear_int4(context, args);
  multiply_int4_rows(gemm_of(linear), linear.x, static_cast<int32_t>(linear.rows), linear.y);
}

void kernel_sum(KernelContext& context, Span<EValue*> args) {
  KernelSum c;
  if (!read_kernel_sum(context, args, &c)) return;
  const int32_t count = static_cast<int32_t>(c.num_inputs), extra = wrapping_mul(c.filter_offset, count);
  for (int64_t n = 0; n < c.num_outputs; ++n) {
    const int32_t sum = wrapping_add(sum_of_bytes(c.weights + n * count, count), extra);
    c.sums[n] = wrapping_add(c.bias != nullptr ? c.bias[n] : 0, wrapping_mul(sum, c.input_offset));
  }
}

}  // namespace wick::cortex_m::mve
