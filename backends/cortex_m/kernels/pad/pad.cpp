#include "backends/cortex_m/kernels/pad/pad.h"

namespace wick::cortex_m {
namespace {

constexpr size_t kLogicalOrder[2][kMaxMovedRank] = {{0, 3, 1, 2}, {0, 1, 2, 3}};  // of NHWC; of a contiguous tensor

bool read_pads(KernelContext& context, const EValue& list, int64_t pads[kMaxMovedRank]) {
  const Span<const int64_t> values = list.ints();
  if (!require(context, values.size() == kMaxMovedRank, "pre_pad and post_pad do not have 4 numbers each"))
    return false;
  for (size_t d = 0; d < kMaxMovedRank; ++d) {
    if (!require(context, values[d] >= 0 && values[d] <= INT32_MAX, "a pad is negative or beyond 31 bits"))
      return false;
    pads[d] = values[d];
  }
  return true;
}

/// Finds the order of the lists for which input and pads give the sizes of the output.
const size_t* find_order(const Tensor& input, const Tensor& out, PadOrder order, const int64_t* pre,
                         const int64_t* post) {
  const Sizes from = sizes_of(input), to = sizes_of(out);
  const bool fits[2] = {order == PadOrder::any && is_nhwc(input), is_contiguous(input)};
  for (size_t i = 0; i < 2; ++i) {
    bool agrees = fits[i];
    for (size_t d = 0; d < kMaxMovedRank; ++d) {
      const size_t at = kLogicalOrder[i][d];
      agrees = agrees && to.sizes[d] == from.sizes[d] + pre[at] + post[at];
    }
    if (agrees) return kLogicalOrder[i];
  }
  return nullptr;
}

}  // namespace

bool read_pad(KernelContext& context, Span<EValue*> args, PadOrder allowed, Pad* pad) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[4]->tensor;
  int64_t pre[kMaxMovedRank], post[kMaxMovedRank];
  int32_t value = 0;
  if (!require_int8(context, input, out) ||
      !require(context, input.rank > 0 && input.rank <= kMaxMovedRank && out.rank == input.rank,
               "wanted an input and an output of one rank from 1 to 4") ||
      !read_pads(context, *args[1], pre) || !read_pads(context, *args[2], post) ||
      !read_int(context, *args[3], INT8_MIN, INT8_MAX, &value, "pad_value is outside [-128, 127]"))
    return false;
  const size_t first = kMaxMovedRank - input.rank;  // the same in both orders
  if (pre[first] == 0 && post[first] == 0) settle_batch(input, out);
  const size_t* order = find_order(input, out, allowed, pre, post);
  if (!require(context, order != nullptr, "the sizes of the output are not those of the input with its pads") || !order)
    return false;
  *pad = {sizes_of(input), steps_of(input),          steps_of(out),   0, static_cast<int8_t>(value),
          out.numel,       input.as<const int8_t>(), out.as<int8_t>()};
  for (size_t d = 0; d < kMaxMovedRank; ++d) pad->first += pre[order[d]] * pad->to.steps[d];
  return true;
}

}  // namespace wick::cortex_m
