// The checked arguments of resize2d_int16, and a walk over its pixels. C++17, freestanding.
#pragma once
#include <stddef.h>

#include "backends/cortex_m/kernels/int16.h"
#include "backends/cortex_m/kernels/resize2d/resize2d.h"

namespace wick::cortex_m {

constexpr int32_t kWideTapBits = 20, kWideSumShift = 24;

struct ResizeInt16 : ResizedImages {
  OutputStage stage;
  const int16_t* x = nullptr;
  int16_t* y = nullptr;
};
bool read_resize2d_int16(KernelContext& context, Span<EValue*> args, ResizeInt16* resize);

/// The four input pixels around an output pixel (upper ones first), and the weights of those below and to the right.
struct Neighbourhood {
  const int16_t* at[4];
  int32_t below, right;
};

/// Calls body(neighbourhood, y) for each output pixel.
template <typename Body>
void for_each_neighbourhood(const ResizeInt16& r, const Body& body) {
  const auto line = static_cast<ptrdiff_t>(r.from.w * r.from.c), pixel = static_cast<ptrdiff_t>(r.from.c);
  const auto channels = static_cast<ptrdiff_t>(r.to.c);
  const Tap *const rows_end = r.rows + r.to.h, *const columns_end = r.columns + r.to.w;
  const int16_t* image = r.x;
  int16_t* y = r.y;
  for (int64_t n = 0; n < r.from.n; ++n, image += static_cast<ptrdiff_t>(r.from.h) * line) {
    for (const Tap* row = r.rows; row != rows_end; ++row) {
      const int16_t *upper = image + row->first * line, *lower = upper + (row->weight == 0 ? 0 : line);
      for (const Tap* column = r.columns; column != columns_end; ++column, y += channels) {
        const ptrdiff_t left = column->first * pixel, right = left + (column->weight == 0 ? 0 : pixel);
        body(Neighbourhood{{upper + left, upper + right, lower + left, lower + right}, row->weight, column->weight}, y);
      }
    }
  }
}

}  // namespace wick::cortex_m
