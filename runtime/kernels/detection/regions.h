// Shared by the kernels that pool regions of an image: reading boxes, bilinear samples.
#pragma once
#include "common/math/math.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/movement/arguments.h"

namespace wick {
namespace kernels {

/// Float for everything but double.
template <typename T>
struct RegionLane {
  using type = float;
};
template <>
struct RegionLane<double> {
  using type = double;
};

/// image [n, c, h, w] and boxes [k, 5] of (image, x1, y1, x2, y2), row-major.
template <typename T>
struct Regions {
  using Lane = typename RegionLane<T>::type;
  const T* image;
  const T* boxes;
  int64_t images, channels, height, width, count;

  const T* plane(int64_t image_index, int64_t channel) const {
    return image + (image_index * channels + channel) * height * width;
  }
  Lane box(int64_t k, int i) const { return static_cast<Lane>(boxes[5 * k + i]); }
  /// The image that box k lies in; false (and failed) if there is none.
  bool image_of(KernelContext& context, int64_t k, int64_t* out) const {
    const Lane at = box(k, 0);
    if (!(at >= 0 && at < static_cast<Lane>(images)))
      return reject(context, "a box names an image that does not exist: wanted a number in [0, n)");
    *out = static_cast<int64_t>(at);
    return true;
  }
};

/// Checks ranks and dtypes of image and boxes and gives `out` (and `extra`, i32, if any) the shape [k, channels, rows,
/// columns].
bool check_regions(KernelContext& context, const Tensor& image, const Tensor& boxes, int64_t channels, int64_t rows,
                   int64_t columns, Tensor& out, Tensor* extra);

/// Bilinear sample of the plane at (y, x); 0 if that is more than one pixel outside.
template <typename T, typename Lane>
Lane bilinear_sample(const T* plane, int64_t height, int64_t width, Lane y, Lane x) {
  const Lane h = static_cast<Lane>(height), w = static_cast<Lane>(width);
  if (!(y >= -1 && y <= h && x >= -1 && x <= w)) return 0;
  y = y > 0 ? y : Lane(0);
  x = x > 0 ? x : Lane(0);
  int64_t top = static_cast<int64_t>(y), left = static_cast<int64_t>(x), bottom = top + 1, right = left + 1;
  if (top >= height - 1) {
    bottom = top = height - 1;
    y = static_cast<Lane>(top);
  }
  if (left >= width - 1) {
    right = left = width - 1;
    x = static_cast<Lane>(left);
  }
  const Lane ly = y - static_cast<Lane>(top), lx = x - static_cast<Lane>(left), hy = 1 - ly, hx = 1 - lx;
  auto at = [&](int64_t row, int64_t column) { return static_cast<Lane>(plane[row * width + column]); };
  return hy * hx * at(top, left) + hy * lx * at(top, right) + ly * hx * at(bottom, left) + ly * lx * at(bottom, right);
}

}  // namespace kernels
}  // namespace wick
