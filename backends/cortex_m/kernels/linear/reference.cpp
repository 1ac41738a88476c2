// quantized_linear(input, weights, bias?, kernel_sum?, input_offset, filter_offset, output_offset, multipliers, shifts,
// activation_max, activation_min): the maximum comes first. One multiplier and shift for all outputs.
//   y[n] = clamp(requantize(sum_k (x[k] + input_offset) (w[n][k] + filter_offset) + bias[n]) + output_offset)
// A program for MVE has kernel_sum instead of the bias. It holds everything that does not depend on x,
//   kernel_sum[n] = bias[n] + input_offset * sum_k (w[n][k] + filter_offset)
// so the accumulator is sum_k x[k] w[n][k] + filter_offset * sum_k x[k] + kernel_sum[n]: the same number. A program for
// DSP or scalar code has the bias, or none, and the offsets. The one that is given decides which form is computed; as
// sums wrap, both forms have the same bits. Source: arm_fully_connected_s8.
//
// wick_cortex_m::linear_per_channel(input, weights, bias?, kernel_sum?, input_offset, filter_offset, output_offset,
// multipliers, shifts, activation_min, activation_max): as quantized_linear, with a multiplier and a shift for each
// output, int32 [N] both. Stock has no such operator; CMSIS-NN has arm_fully_connected_per_channel_s8.
//
// wick_cortex_m::kernel_sum(weights [N, K], bias?, input_offset, filter_offset): int32 [1, N], the kernel_sum above,
// for programs that do not store it. Sums wrap at 32 bits. Source: arm_vector_sum_s8.
//
// wick_cortex_m::linear_int4: as linear_per_channel, with weights w in [-8, 7] that are packed (int4.h), uint8
// [N, 4 ceil(K / 8)], and multipliers and shifts for each output or one of each.
#include "backends/cortex_m/kernels/int4.h"
#include "backends/cortex_m/kernels/linear/linear.h"

namespace wick::cortex_m::reference {
namespace {

struct Int8Weights {
  static int64_t row_bytes(int64_t count) { return count; }
  static int32_t at(const int8_t* row, int64_t k) { return row[k]; }
};
struct Int4Weights {
  static int64_t row_bytes(int64_t count) { return int4_row_bytes(count); }
  static int32_t at(const int8_t* row, int64_t k) { return int4_weight(row, k); }
};

/// The accumulator of output n for one row.
template <typename Weights>
int32_t accumulate(const Linear& linear, const int8_t* x, int64_t n) {
  const int8_t* w = linear.weights + n * Weights::row_bytes(linear.num_inputs);
  const int32_t input_offset = linear.is_summed ? 0 : linear.input_offset;
  int32_t sum = linear.addend ? linear.addend[n] : 0;
  for (int64_t k = 0; k < linear.num_inputs; ++k)
    sum = wrapping_add(sum, (x[k] + input_offset) * (Weights::at(w, k) + linear.filter_offset));
  return sum;
}

template <typename Weights>
void write_rows(const Linear& linear) {
  for (int64_t row = 0; row < linear.rows; ++row) {
    for (int64_t n = 0; n < linear.num_outputs; ++n) {
      OutputStage stage = linear.stage;
      if (linear.multipliers != nullptr) {
        stage.multiplier = linear.multipliers[n];
        stage.shift = linear.shifts[n];
      }
      const int8_t* x = linear.x + row * linear.num_inputs;
      linear.y[row * linear.num_outputs + n] = stage(accumulate<Weights>(linear, x, n));
    }
  }
}

}  // namespace

void quantized_linear(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (read_linear(context, args, &linear)) write_rows<Int8Weights>(linear);
}

void linear_per_channel(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (read_linear_per_channel(context, args, &linear)) write_rows<Int8Weights>(linear);
}

void linear_int4(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (read_linear_int4(context, args, &linear)) write_rows<Int4Weights>(linear);
}

void kernel_sum(KernelContext& context, Span<EValue*> args) {
  KernelSum c;
  if (!read_kernel_sum(context, args, &c)) return;
  const int8_t* w = c.weights;
  for (int64_t n = 0; n < c.num_outputs; ++n, w += c.num_inputs) {
    int32_t sum = 0;
    for (int64_t k = 0; k < c.num_inputs; ++k) sum = wrapping_add(sum, w[k] + c.filter_offset);
    c.sums[n] = wrapping_add(c.bias ? c.bias[n] : 0, wrapping_mul(sum, c.input_offset));
  }
}

}  // namespace wick::cortex_m::reference
