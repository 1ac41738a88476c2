// group_norm(input [N, C, ..], scales [C], offsets [C], groups, input_zero_point, epsilon, shift, output_zero_point,
// activation_min, activation_max, epsilon_bits = 0): int8 or int16, contiguous, or channels-last of rank 4. It is a
// centered layer_norm whose rows are the groups: the elements of one batch in C / groups neighboring channels. An
// element has the scale and offset of its channel. The equation: layer_norm/reference.cpp.
#include "backends/cortex_m/kernels/layer_norm/layer_norm.h"

namespace wick::cortex_m::reference {
namespace {

constexpr int64_t kMaxRow = 1 << 18;

struct GroupNorm {
  Norm norm;
  int64_t batch = 1, channels = 1, area = 1;
  int32_t groups = 1;
  bool channels_last = false;
  const int32_t *scales = nullptr, *offsets = nullptr;

  int64_t of_group() const { return channels / groups; }
  NormRow row(int64_t group) const {
    const int64_t first = group * of_group();
    if (channels_last) return {area, of_group(), channels, 0, 1, scales + first, offsets + first};
    return {of_group(), area, area, 1, 0, scales + first, offsets + first};
  }
};

bool read_group_norm(KernelContext& context, Span<EValue*> args, GroupNorm* norm) {
  const Tensor &x = *args[0]->tensor, &y = norm_output(args);
  if (!require_norm_elements(context, x, y) ||
      !require(context, x.rank >= 2 && x.rank == y.rank, "wanted an input [N, C, ..] and an output like it"))
    return false;
  for (size_t d = 0; d < x.rank; ++d) {
    if (!require(context, x.sizes[d] == y.sizes[d], "input and output differ in size")) return false;
    if (d >= 2) norm->area *= x.sizes[d];
  }
  const int64_t largest = largest_norm(x.dtype, kMaxRow);
  norm->batch = x.sizes[0];
  norm->channels = x.sizes[1];
  norm->channels_last = !(is_contiguous(x) && is_contiguous(y));
  static constexpr char kRows[] = "scales and offsets are not contiguous int32 tensors with one element per channel";
  if (!require(context, !norm->channels_last || (is_nhwc(x) && is_nhwc(y)),
               "the input and the output are neither both contiguous nor both channels-last") ||
      !require(context, args[3]->integer > 0 && norm->channels % args[3]->integer == 0,
               "the groups do not divide the channels") ||
      !read_int(context, *args[3], 1, INT32_MAX, &norm->groups, "the groups do not divide the channels") ||
      !require(context, norm->area <= largest && norm->area * norm->of_group() <= largest,
               "wanted groups of at most 262144 elements, 32768 of int16") ||
      !check_int32_row(context, *args[1]->tensor, norm->channels, kRows) ||
      !check_int32_row(context, *args[2]->tensor, norm->channels, kRows))
    return false;
  norm->scales = args[1]->tensor->as<const int32_t>();
  norm->offsets = args[2]->tensor->as<const int32_t>();
  return read_norm(context, norm_args(args), x.dtype, &norm->norm);
}

template <typename T>
void write_groups(const GroupNorm& norm, const T* x, T* y) {
  const int64_t image = norm.channels * norm.area, step = norm.of_group() * (norm.channels_last ? 1 : norm.area);
  for (int64_t n = 0; n < norm.batch; ++n) {
    for (int64_t group = 0; group < norm.groups; ++group) {
      const int64_t first = n * image + group * step;
      write_normalized(norm.norm, norm.row(group), x + first, y + first);
    }
  }
}

}  // namespace

void group_norm(KernelContext& context, Span<EValue*> args) {
  GroupNorm norm;
  if (!read_group_norm(context, args, &norm) || args[0]->tensor->numel == 0) return;
  const Tensor &x = *args[0]->tensor, &y = norm_output(args);
  if (x.dtype == DType::i8)
    write_groups(norm, x.as<const int8_t>(), y.as<int8_t>());
  else
    write_groups(norm, x.as<const int16_t>(), y.as<int16_t>());
}

}  // namespace wick::cortex_m::reference
