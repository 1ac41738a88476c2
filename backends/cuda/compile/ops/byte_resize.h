// Tables for resizing images of bytes by integer weights, as eager does. C++20.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace wick::cuda {

struct ByteAxis {
  int64_t in = 0, out = 0;  // sizes
  bool cubic = false, antialias = false, align_corners = false;
  double scale = 0;  // output / input as the caller gave it, or 0
};

/// Along a dimension, output o is the rounded sum over `taps` of weight * input at place, where weights are in units of
/// 2^-precision. `precision` is such that the largest weight has 15 bits.
struct ByteBlend {
  int64_t taps = 0;
  int precision = 0;
  std::vector<int32_t> places, weights;  // [out, taps]
};

/// Nothing if the caller's scale shrinks far more than the sizes do.   Source:
/// aten/src/ATen/native/cpu/UpSampleKernel.cpp.
std::optional<ByteBlend> byte_blend(const ByteAxis& axis);

}  // namespace wick::cuda
