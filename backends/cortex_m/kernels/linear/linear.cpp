#include "backends/cortex_m/kernels/linear/linear.h"

#include "backends/cortex_m/kernels/int4.h"

namespace wick::cortex_m {
namespace {

/// Reads contiguous tensors: an input [.., K], weights [N, K] (with four bits: [N, bytes of K weights]) and an output
/// [.., N].
bool read_sizes(KernelContext& context, const Tensor& input, const Tensor& weights, Tensor& out, bool packed,
                Linear* linear) {
  if (!require_int8(context, input, out) ||
      !require_dtype(context, weights, packed ? DType::u8 : DType::i8,
                     packed ? "the packed weights are not uint8" : "the weights are not int8") ||
      !require(context, weights.rank == 2 && input.rank > 0 && out.rank == input.rank,
               "wanted weights of rank 2, and an input and an output of the same rank of at least 1") ||
      !settle_like(context, input, input.rank - 1u, out) ||
      !require(context, is_contiguous(input) && is_contiguous(weights) && is_contiguous(out),
               "input, weights and output are not all contiguous"))
    return false;
  const size_t last = input.rank - 1u;
  const int64_t inputs = input.sizes[last];
  const bool agree =
      (packed ? int4_row_bytes(inputs) : inputs) == weights.sizes[1] && out.sizes[last] == weights.sizes[0];
  linear->num_inputs = inputs;
  linear->num_outputs = weights.sizes[0];
  linear->rows =
      linear->num_outputs == 0 ? 0 : quotient_of_counts(static_cast<int64_t>(out.numel), linear->num_outputs);
  return require(context, agree,
                 packed ? "wanted an input [.., K], weights [N, 4 ceil(K / 8)] and an output [.., N]"
                        : "wanted an input [.., K], weights [N, K] and an output [.., N]");
}

/// Reads bias and kernel_sum, each None or int32 with one element per output. If both are given, the sum is used.
bool read_addend(KernelContext& context, const EValue& bias, const EValue& kernel_sum, Linear* linear) {
  linear->is_summed = !kernel_sum.is_none();
  for (const EValue* value : {&bias, &kernel_sum}) {
    if (value->is_none()) continue;
    if (!check_int32_row(context, *value->tensor, linear->num_outputs,
                         "bias and kernel_sum are not contiguous int32 tensors with one element per output"))
      return false;
    linear->addend = value->tensor->as<const int32_t>();
  }
  return true;
}

/// Reads the arguments that all operators have in the same places.
bool read_common(KernelContext& context, Span<EValue*> args, bool packed, Linear* linear) {
  if (!read_sizes(context, *args[0]->tensor, *args[1]->tensor, *args[11]->tensor, packed, linear)) return false;
  // Read only now: resizing to more rows may have moved the memory of an unbounded output.
  linear->x = args[0]->tensor->as<const int8_t>();
  linear->weights = args[1]->tensor->as<const int8_t>();
  linear->y = args[11]->tensor->as<int8_t>();
  return read_addend(context, *args[2], *args[3], linear) &&
         read_input_offset(context, *args[4], &linear->input_offset) &&
         read_input_offset(context, *args[5], &linear->filter_offset) &&
         read_zero_point(context, *args[6], &linear->stage.offset);
}

bool read_scales(KernelContext& context, Span<EValue*> args, Linear* linear) {
  const Tensor &multipliers = *args[7]->tensor, &shifts = *args[8]->tensor, &out = *args[11]->tensor;
  static constexpr char kWanted[] =
      "multipliers and shifts are not contiguous int32 tensors with one element per output";
  if (!check_settled_row(context, multipliers, linear->num_outputs, out, kWanted) ||
      !check_settled_row(context, shifts, linear->num_outputs, out, kWanted))
    return false;
  linear->multipliers = multipliers.as<const int32_t>();
  linear->shifts = shifts.as<const int32_t>();
  for (int64_t n = 0; n < linear->num_outputs; ++n) {
    if (!read_requantization(context, linear->multipliers[n], linear->shifts[n], &linear->stage)) return false;
  }
  return true;
}

}  // namespace

bool read_linear(KernelContext& context, Span<EValue*> args, Linear* linear) {
  const Span<const int64_t> multipliers = args[7]->ints(), shifts = args[8]->ints();
  return read_common(context, args, false, linear) &&
         require(context, multipliers.size() == 1 && shifts.size() == 1,
                 "wanted lists of one multiplier and one shift") &&
         read_requantization(context, multipliers[0], shifts[0], &linear->stage) &&
         read_activation(context, *args[10], *args[9], &linear->stage);
}

bool read_linear_per_channel(KernelContext& context, Span<EValue*> args, Linear* linear) {
  return read_common(context, args, false, linear) && read_scales(context, args, linear) &&
         read_activation(context, *args[9], *args[10], &linear->stage);
}

bool read_linear_int4(KernelContext& context, Span<EValue*> args, Linear* linear) {
  const Tensor &multipliers = *args[7]->tensor, &shifts = *args[8]->tensor, &out = *args[11]->tensor;
  if (!read_common(context, args, true, linear) || !read_activation(context, *args[9], *args[10], &linear->stage))
    return false;
  if (multipliers.numel != 1 || shifts.numel != 1) return read_scales(context, args, linear);
  static constexpr char kWanted[] = "multiplier and shift are not contiguous int32 tensors";
  return check_settled_row(context, multipliers, 1, out, kWanted) &&
         check_settled_row(context, shifts, 1, out, kWanted) &&
         read_requantization(context, *multipliers.as<const int32_t>(), *shifts.as<const int32_t>(), &linear->stage);
}

bool read_kernel_sum(KernelContext& context, Span<EValue*> args, KernelSum* c) {
  const Tensor &weights = *args[0]->tensor, &out = *args[4]->tensor;
  if (!require_dtype(context, weights, DType::i8, "the weights are not int8") ||
      !require(context, weights.rank == 2 && is_contiguous(weights), "wanted contiguous weights [N, K]") ||
      !check_int32_row(context, out, weights.sizes[0], "the output is not contiguous int32 with one element per row") ||
      !read_input_offset(context, *args[2], &c->input_offset) ||
      !read_input_offset(context, *args[3], &c->filter_offset))
    return false;
  if (!args[1]->is_none()) {
    if (!check_int32_row(context, *args[1]->tensor, weights.sizes[0],
                         "the bias is not a contiguous int32 tensor with one element per row of the weights"))
      return false;
    c->bias = args[1]->tensor->as<const int32_t>();
  }
  c->num_outputs = weights.sizes[0];
  c->num_inputs = weights.sizes[1];
  c->weights = weights.as<const int8_t>();
  c->sums = out.as<int32_t>();
  return true;
}

}  // namespace wick::cortex_m
