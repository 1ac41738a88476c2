#include "backends/cortex_m/kernels/resize2d/resize2d.h"

namespace wick::cortex_m {
namespace {

/// Reads pairs of an index and a weight, one for each of `count` positions on `size` pixels.
bool read_taps(KernelContext& context, const Tensor& taps, int64_t count, int64_t size, const Tensor& out, int32_t bits,
               bool* has_weights, const Tap** read) {
  if (!check_settled_row(context, taps, 2 * count, out, "taps are not contiguous int32, two for each position"))
    return false;
  const int32_t* pairs = taps.as<const int32_t>();
  for (int64_t i = 0; i < count; ++i) {
    const int32_t first = pairs[2 * i], weight = pairs[2 * i + 1];
    if (!require(context, first >= 0 && weight >= 0 && weight <= 1 << bits && first < size - (weight > 0 ? 1 : 0),
                 "a tap lies outside of the input"))
      return false;
    *has_weights = *has_weights || weight > 0;
  }
  *read = reinterpret_cast<const Tap*>(pairs);
  return true;
}

}  // namespace

bool read_resized_images(KernelContext& context, Span<EValue*> args, Tensor& out, int32_t tap_bits,
                         ResizedImages* images) {
  Image &from = images->from, &to = images->to;
  bool* has_weights = &images->has_weights;
  settle_batch(*args[0]->tensor, out);
  return read_image(context, *args[0]->tensor, &from) && read_image(context, out, &to) &&
         require(context, from.n == to.n && from.c == to.c, "input and output differ in batch or channels") &&
         read_taps(context, *args[1]->tensor, to.h, from.h, out, tap_bits, has_weights, &images->rows) &&
         read_taps(context, *args[2]->tensor, to.w, from.w, out, tap_bits, has_weights, &images->columns);
}

bool read_resize2d(KernelContext& context, Span<EValue*> args, Resize* resize) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[9]->tensor;
  int32_t zero = 0;
  if (!require_int8(context, input, out) || !read_resized_images(context, args, out, kTapBits, resize) ||
      !read_zero_point(context, *args[3], &zero) ||
      !read_requantization(context, args[4]->integer, args[5]->integer, &resize->stage) ||
      !read_zero_point(context, *args[6], &resize->stage.offset) ||
      !read_activation(context, *args[7], *args[8], &resize->stage))
    return false;
  const OutputStage& stage = resize->stage;
  resize->offset = -zero;
  resize->is_copy = !resize->has_weights && stage.multiplier == 1 << 30 && stage.shift == 1 - 2 * kTapBits &&
                    stage.offset == zero && stage.min == INT8_MIN && stage.max == INT8_MAX;
  resize->x = input.as<const int8_t>();
  resize->y = out.as<int8_t>();
  return true;
}

}  // namespace wick::cortex_m
