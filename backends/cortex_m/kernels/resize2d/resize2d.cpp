#include "backends/cortex_m/kernels/resize2d/resize2d.h"

namespace wick::cortex_m {
namespace {

/// Pairs of an index and a weight, one for each of `count` positions on `size` pixels.
bool read_taps(KernelContext& context, const Tensor& taps, int64_t count, int64_t size, bool* has_weights,
               const Tap** out) {
  if (!check_int32_row(context, taps, 2 * count, "taps are not contiguous int32, two for each position")) return false;
  const int32_t* pairs = taps.as<const int32_t>();
  for (int64_t i = 0; i < count; ++i) {
    const int32_t first = pairs[2 * i], weight = pairs[2 * i + 1];
    if (!require(context, first >= 0 && weight >= 0 && weight <= 1 << kTapBits && first < size - (weight > 0 ? 1 : 0),
                 "a tap lies outside of the input"))
      return false;
    *has_weights = *has_weights || weight > 0;
  }
  *out = reinterpret_cast<const Tap*>(pairs);
  return true;
}

}  // namespace

bool read_resize2d(KernelContext& context, Span<EValue*> args, Resize* resize) {
  const Tensor &input = *args[0]->tensor, &out = *args[9]->tensor;
  int32_t zero = 0;
  bool has_weights = false;
  if (!require_int8(context, input, out) || !read_image(context, input, &resize->from) ||
      !read_image(context, out, &resize->to) ||
      !require(context, resize->from.n == resize->to.n && resize->from.c == resize->to.c,
               "input and output differ in batch or channels") ||
      !read_taps(context, *args[1]->tensor, resize->to.h, resize->from.h, &has_weights, &resize->rows) ||
      !read_taps(context, *args[2]->tensor, resize->to.w, resize->from.w, &has_weights, &resize->columns) ||
      !read_zero_point(context, *args[3], &zero) ||
      !read_requantization(context, args[4]->integer, args[5]->integer, &resize->stage) ||
      !read_zero_point(context, *args[6], &resize->stage.offset) ||
      !read_activation(context, *args[7], *args[8], &resize->stage))
    return false;
  const OutputStage& stage = resize->stage;
  resize->offset = -zero;
  resize->is_copy = !has_weights && stage.multiplier == 1 << 30 && stage.shift == 1 - 2 * kTapBits &&
                    stage.offset == zero && stage.min == INT8_MIN && stage.max == INT8_MAX;
  resize->x = input.as<const int8_t>();
  resize->y = out.as<int8_t>();
  return true;
}

}  // namespace wick::cortex_m
