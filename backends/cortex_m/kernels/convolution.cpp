#include "backends/cortex_m/kernels/convolution.h"

namespace wick::cortex_m {
namespace {

bool read_padding(KernelContext& context, const EValue& list, Paddings paddings, Window* window) {
  const Span<const int64_t> values = list.ints();
  const bool four = paddings == Paddings::two_or_four;
  const char* wanted =
      four ? "padding is not two or four numbers of at least 0" : "padding is not two numbers of at least 0";
  if (!require(context, values.size() == 2 || (four && values.size() == 4), wanted)) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!require(context, values[i] >= 0 && values[i] <= INT32_MAX, wanted)) return false;
  }
  for (size_t axis = 0; axis < 2; ++axis) {
    window->padding[axis] = static_cast<int32_t>(values[axis]);
    window->end_padding[axis] = static_cast<int32_t>(values[values.size() - 2 + axis]);
  }
  return true;
}

}  // namespace

bool read_window(KernelContext& context, const Tensor& weights, const EValue& stride, const EValue& padding,
                 const EValue& dilation, Paddings paddings, Window* window) {
  window->kernel[0] = weights.sizes[1];
  window->kernel[1] = weights.sizes[2];
  return read_steps(context, stride, padding, dilation, paddings, window);
}

bool read_steps(KernelContext& context, const EValue& stride, const EValue& padding, const EValue& dilation,
                Paddings paddings, Window* window) {
  return read_pair(context, stride, 1, false, window->stride, "stride is not two numbers of at least 1") &&
         read_padding(context, padding, paddings, window) &&
         read_pair(context, dilation, 1, false, window->dilation, "dilation is not two numbers of at least 1");
}

bool read_channels(KernelContext& context, const EValue& bias, Span<EValue*> args, int64_t channels, const Tensor& out,
                   ChannelQuantization* quantization) {
  const Tensor &multipliers = *args[2]->tensor, &shifts = *args[3]->tensor;
  static constexpr char kRow[] =
      "bias, multipliers and shifts are not contiguous int32 tensors with one element per channel";
  if (!read_input_offset(context, *args[0], &quantization->input_offset) ||
      !read_zero_point(context, *args[1], &quantization->stage.offset) ||
      !check_settled_row(context, multipliers, channels, out, kRow) ||
      !check_settled_row(context, shifts, channels, out, kRow) ||
      !read_activation(context, *args[4], *args[5], &quantization->stage) ||
      (!bias.is_none() && !check_int32_row(context, *bias.tensor, channels, kRow)))
    return false;
  quantization->multipliers = multipliers.as<const int32_t>();
  quantization->shifts = shifts.as<const int32_t>();
  if (!bias.is_none()) quantization->bias = bias.tensor->as<const int32_t>();
  OutputStage checked;
  for (int64_t c = 0; c < channels; ++c) {
    if (!read_requantization(context, quantization->multipliers[c], quantization->shifts[c], &checked)) return false;
  }
  return true;
}

bool read_images(KernelContext& context, const Tensor& input, const Tensor& weights, Tensor& out, ImageSizes sizes,
                 Image* from, Image* to) {
  return require_int8(context, input, out) && read_images_of_any_dtype(context, input, weights, out, sizes, from, to);
}

bool read_images_of_any_dtype(KernelContext& context, const Tensor& input, const Tensor& weights, Tensor& out,
                              ImageSizes sizes, Image* from, Image* to) {
  settle_batch(input, out);
  return require_dtype(context, weights, DType::i8, "the weights are not int8") &&
         read_image(context, input, sizes, from) && read_image(context, out, sizes, to) &&
         require(context, weights.rank == 4 && is_contiguous(weights),
                 "the weights are not contiguous with 4 dimensions") &&
         require(context, weights.numel > 0, "the weights are empty") &&
         require(context, from->n == to->n, "input and output differ in batch");
}

bool read_groups(KernelContext& context, const Tensor& weights, const Image& from, const Image& to, int64_t* groups) {
  const int64_t inputs = weights.sizes[3];
  *groups = quotient_of_counts(from.c, inputs);
  return require(context,
                 *groups > 0 && *groups * inputs == from.c && weights.sizes[0] == to.c &&
                     quotient_of_counts(to.c, *groups) * *groups == to.c,
                 "wanted weights [O, kH, kW, I]: O the output's channels, I a divisor of the input's, as many groups a "
                 "divisor of O");
}

bool check_positions(KernelContext& context, const Window& window, const Image& from, const Image& to) {
  int64_t positions[2];
  for (size_t axis = 0; axis < 2; ++axis) {
    // Padding at the end that exceeds the padding at the beginning counts as input.
    const int64_t more = int64_t{window.end_padding[axis]} - window.padding[axis];
    positions[axis] = window_positions((axis == 0 ? from.h : from.w) + more, window.kernel[axis], window.stride[axis],
                                       window.padding[axis], window.dilation[axis]);
  }
  return require(context, positions[0] == to.h && positions[1] == to.w,
                 "the output's height and width are not the positions of the window on the input");
}

}  // namespace wick::cortex_m
