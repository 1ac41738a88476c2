// The checked arguments of resize2d, and those that resize2d_int16 shares. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

constexpr int32_t kTapBits = 11;  // bits of the weights along one dimension, for int8

/// Two neighbouring pixels along one dimension, and the weight of the second.
struct Tap {
  int32_t first, weight;
};

/// Images with the same batch and channels, and the taps of the output's rows and columns.
struct ResizedImages {
  Image from, to;
  const Tap *rows = nullptr, *columns = nullptr;  // one for each output row, each output column
  bool has_weights = false;
};
/// Weights have at most `tap_bits` bits.
bool read_resized_images(KernelContext& context, Span<EValue*> args, Tensor& out, int32_t tap_bits,
                         ResizedImages* images);

struct Resize : ResizedImages {
  int32_t offset = 0;
  OutputStage stage;
  bool is_copy = false;  // whether each output pixel is an input pixel
  const int8_t* x = nullptr;
  int8_t* y = nullptr;
};
bool read_resize2d(KernelContext& context, Span<EValue*> args, Resize* resize);

/// The four input pixels around an output pixel, and their weights, which add up to 2^(2 kTapBits).
struct Corners {
  const int8_t* pixels[4];
  int32_t weights[4];
};
inline Corners corners_of(const Resize& r, const int8_t* image, Tap row, Tap column) {
  constexpr int32_t kOne = 1 << kTapBits;
  const int64_t below = row.weight == 0 ? 0 : r.from.w * r.from.c, right = column.weight == 0 ? 0 : r.from.c;
  const int8_t* first = image + (row.first * r.from.w + column.first) * r.from.c;
  return {{first, first + right, first + below, first + below + right},
          {(kOne - row.weight) * (kOne - column.weight), (kOne - row.weight) * column.weight,
           row.weight * (kOne - column.weight), row.weight * column.weight}};
}

/// Calls body(corners, y) for each output pixel.
template <typename Body>
void for_each_pixel(const Resize& r, const Body& body) {
  int8_t* y = r.y;
  for (int64_t n = 0; n < r.to.n; ++n) {
    const int8_t* image = r.x + n * r.from.h * r.from.w * r.from.c;
    for (int64_t i = 0; i < r.to.h; ++i) {
      for (int64_t j = 0; j < r.to.w; ++j, y += r.to.c) body(corners_of(r, image, r.rows[i], r.columns[j]), y);
    }
  }
}

}  // namespace wick::cortex_m
