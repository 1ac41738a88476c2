// Which form a convolution takes on MVE.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cortex_m/kernels/conv2d/mve_forms.h"

namespace wick::cortex_m {
namespace {

// Compares spans with the taps of each position.
TEST(CortexMConvolutionForms, SpansArePositionsWithTheSameTaps) {
  int spans_seen = 0;
  for (int code = 0; code < 6 * 4 * 3 * 4 * 3; ++code) {
    const int32_t from = 1 + code % 6 * 2, kernel = 1 + code / 6 % 4, stride = 1 + code / 24 % 3;
    const int32_t padding = code / 72 % 4, dilation = 1 + code / 288;
    const int32_t room = from + 2 * padding - (kernel - 1) * dilation - 1;
    if (room < 0) continue;
    const WindowAxis axis = {from, room / stride + 1, kernel, stride, padding, dilation};
    const auto tap_is_inside = [&](int32_t position, int32_t tap) {
      const int32_t at = position * stride - padding + tap * dilation;
      return at >= 0 && at < from;
    };
    for (int32_t begin = 0; begin < axis.to;) {
      const TapSpan span = span_at(axis, begin);
      ASSERT_EQ(span.begin, begin);
      ASSERT_GT(span.end, begin);
      ASSERT_LE(span.end, axis.to);
      for (int32_t position = begin; position < span.end; ++position) {
        for (int32_t tap = 0; tap < kernel; ++tap)
          ASSERT_EQ(tap_is_inside(position, tap), tap >= span.first_tap && tap < span.taps_end) << code;
      }
      if (span.end < axis.to) {
        const TapSpan next = taps_at(axis, span.end);
        ASSERT_TRUE(next.first_tap != span.first_tap || next.taps_end != span.taps_end) << code;
      }
      begin = span.end;
      ++spans_seen;
    }
  }
  EXPECT_GT(spans_seen, 1000);
}

ConvolutionForms square(int32_t inputs, int32_t outputs, int32_t size, int32_t kernel, int32_t stride, int32_t padding,
                        int32_t scratch_windows = 4) {
  const WindowAxis axis = {size, (size + 2 * padding - kernel) / stride + 1, kernel, stride, padding, 1};
  const int32_t terms = kernel * kernel * inputs;
  return {axis, axis, 1, 1, inputs, outputs, scratch_windows * ((terms + 15) / 16 * 16)};
}

TEST(CortexMConvolutionForms, FewPositionsOrManyChannelsTakeTiles) {
  EXPECT_TRUE(square(40, 20, 4, 3, 1, 1).takes_tiles());
  EXPECT_TRUE(square(64, 64, 8, 3, 1, 1).takes_tiles());
  EXPECT_TRUE(square(8, 96, 4, 3, 2, 1).takes_tiles());
  // Each weight is used for many positions with the same taps.
  EXPECT_FALSE(square(40, 8, 16, 3, 1, 1).takes_tiles());
  EXPECT_FALSE(square(24, 4, 24, 4, 1, 1).takes_tiles());
  EXPECT_FALSE(square(16, 16, 32, 3, 1, 1).takes_tiles());
}

TEST(CortexMConvolutionForms, TilesNeedRoomForThreeWindows) {
  EXPECT_TRUE(square(40, 20, 4, 3, 1, 1, 4).takes_tiles());
  EXPECT_FALSE(square(40, 20, 4, 3, 1, 1, 3).takes_tiles()) << "360 terms are no whole vectors: a fourth window";
  EXPECT_TRUE(square(48, 20, 4, 3, 1, 1, 3).takes_tiles());
  EXPECT_FALSE(square(48, 20, 4, 3, 1, 1, 2).takes_tiles());
}

}  // namespace
}  // namespace wick::cortex_m
