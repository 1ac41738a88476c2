// Shared by the inner loops of the depthwise convolution. C++17, freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace wick::cortex_m {

/// Neighboring outputs of four channels whose windows have the same taps on the input: `rows` rows of `taps` taps (both
/// more than 0). Assembly reads it by offset.
struct DepthwiseBlock {
  int32_t x_skip, weights_skip;  // bytes from the last tap of a row of the window to the first one of the next
  int32_t rows, taps;
  int32_t step;                     // bytes between taps
  int32_t input_offset;             // Isa::spread
  int32_t count, x_step, out_step;  // outputs, and bytes between them; count is 0 afterwards
  int32_t output_offset;
  int32_t bias[4], multipliers[4], rights[4];  // shifts to the right, more than 0
  int32_t x_row;                               // bytes between rows of the window
  int32_t out_apart;                           // bytes between the results of the four channels
};
static_assert(offsetof(DepthwiseBlock, taps) == 12 && offsetof(DepthwiseBlock, count) == 24 &&
              offsetof(DepthwiseBlock, output_offset) == 36 && offsetof(DepthwiseBlock, rights) == 72 &&
              offsetof(DepthwiseBlock, out_apart) == 92);

}  // namespace wick::cortex_m
