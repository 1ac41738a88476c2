// Seeded shapes for which CMSIS-NN said how much scratch memory it needs (cmsis_nn_scratch_lab.cpp). A seed alone
// decides a shape. C++20.
#pragma once
#include <algorithm>

#include "backends/cortex_m/compile/scratch.h"
#include "tests/cortex_m/vector_cases.h"

namespace wick::vectors {

enum class ScratchKind { convolution, depthwise, transposed, matmul, average };
constexpr uint64_t kScratchSeeds = 5000, kScratchBlock = 500;  // shapes of each kind, and those that share a hash

/// matmul has `outputs` columns, average `channels`.
inline cortex_m::ConvolutionShape make_scratch_shape(ScratchKind kind, uint64_t seed) {
  Stream stream(seed * 16 + static_cast<uint64_t>(kind));
  cortex_m::ConvolutionShape s{};
  s.batch = stream.in(0, 3) ? 1 : stream.in(2, 3);
  const int32_t groups = kind == ScratchKind::convolution && stream.in(0, 3) == 0 ? stream.in(2, 4) : 1;
  s.group_channels = stream.in(0, 3) == 0 ? stream.in(1, 4) : stream.in(1, 260);
  s.channels = groups * s.group_channels;
  s.outputs = groups * stream.in(1, stream.in(0, 1) ? 4 : 300);
  if (kind == ScratchKind::depthwise) {
    if (stream.in(0, 3) == 0) s.channels = 1;
    s.outputs = s.channels * (stream.in(0, 1) ? 1 : stream.in(1, 12));
  }
  const bool row = stream.in(0, 3) == 0, three = stream.in(0, 5) == 0;
  for (int axis = 0; axis < 2; ++axis) {
    const bool flat = row && axis == 0;
    s.kernel[axis] = flat || stream.in(0, 3) == 0 ? 1 : stream.in(1, 7);
    if (three) s.kernel[axis] = 3;
    s.stride[axis] = stream.in(1, 4);
    s.padding[axis] = flat || stream.in(0, 1) ? 0 : stream.in(0, static_cast<int32_t>(s.kernel[axis]) + 1);
    s.dilation[axis] = kind == ScratchKind::transposed || stream.in(0, 4) ? 1 : stream.in(1, 3);
    const int64_t span = s.dilation[axis] * (s.kernel[axis] - 1) + 1;
    const int64_t least = std::max<int64_t>(1, span - 2 * s.padding[axis]);
    s.input[axis] = flat ? 1 : least + stream.in(0, 40);
    s.output[axis] = (s.input[axis] + 2 * s.padding[axis] - span) / s.stride[axis] + 1;
    if (kind == ScratchKind::transposed)
      s.output[axis] =
          std::max<int64_t>(1, (s.input[axis] - 1) * s.stride[axis] - 2 * s.padding[axis] + s.kernel[axis]);
  }
  return s;
}

/// Continues a 64-bit FNV-1a over the bytes of a size.
inline uint64_t hash_size(uint64_t hash, int64_t size) {
  for (int shift = 0; shift < 64; shift += 8)
    hash = (hash ^ (static_cast<uint64_t>(size) >> shift & 0xff)) * 0x100000001b3u;
  return hash;
}

}  // namespace wick::vectors
