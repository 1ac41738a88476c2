// Kernel vocabulary: boxes of images (torchvision's operators), reduced to means of bilinear samples, maxima or means
// of pixels. Computed as in runtime/kernels/detection.
namespace wick_text {
namespace {

/// The type of the arithmetic: f64 for elements of f64, else f32.
template <typename T>
struct RegionLane {
  typedef f32 Type;
};
template <>
struct RegionLane<f64> {
  typedef f64 Type;
};
WICK_FUNCTION f64 to_lane(f64 x) { return x; }
WICK_FUNCTION f32 to_lane(f32 x) { return x; }
WICK_FUNCTION f32 to_lane(f16 x) { return to_f32(x); }
WICK_FUNCTION f32 to_lane(bf16 x) { return to_f32(x); }
WICK_FUNCTION void store_lane(f64* to, f64 x) { *to = x; }
WICK_FUNCTION void store_lane(f32* to, f32 x) { *to = x; }
WICK_FUNCTION void store_lane(f16* to, f32 x) { *to = to_f16(x); }
WICK_FUNCTION void store_lane(bf16* to, f32 x) { *to = to_bf16(x); }

/// kMaxSamples: fewer samples than this may a bin have along one axis by the size of its box. If it has more than
/// kFewSamples, those outside the image are skipped.
constexpr i64 kMaxSamples = 1 << 16, kFewSamples = 32;

/// The number of samples of a bin along one axis by the size of its box, plus kMaxSamples; the number is negative if
/// the box ends before it begins. -1: too many, or an end of the box is NaN.
template <typename Lane>
WICK_FUNCTION i64 samples_of_bin(Lane first, Lane last, Lane scale, Lane offset, Lane least, Lane bins) {
  Lane length = (last * scale - offset) - (first * scale - offset);
  length = length > least ? length : least;
  const f64 wanted = ceil(static_cast<f64>(length / bins));
  if (!(wanted < static_cast<f64>(kMaxSamples))) return -1;
  return wanted > -static_cast<f64>(kMaxSamples) ? static_cast<i64>(wanted) + kMaxSamples : 0;
}

/// The positions of a box's samples along one axis.
template <typename Lane>
struct Samples {
  Lane start, bin;
  i64 count;
  i64 grid;  // what the sum is divided by: negative for a box that ends before it begins

  WICK_FUNCTION Samples(Lane first, Lane last, i64 bins, Lane least, i64 wanted) {
    Lane length = last - first;
    length = length > least ? length : least;
    start = first;
    bin = length / static_cast<Lane>(bins);
    grid = wanted;
    count = grid > 0 ? grid : 0;
  }
  WICK_FUNCTION Lane at(i64 p, i64 i) const {
    return start + static_cast<Lane>(p) * bin + (static_cast<Lane>(i) + Lane(0.5)) * bin / static_cast<Lane>(count);
  }
  WICK_FUNCTION i64 clamped(f64 i) const {
    return i > 0 ? i < static_cast<f64>(count) ? static_cast<i64>(i) : count : 0;
  }
  /// The samples of bin p that may lie within [-1, limit]. All others are 0.
  WICK_FUNCTION void inside(i64 p, i64 limit, i64* begin, i64* end) const {
    *begin = 0, *end = count;
    if (count <= kFewSamples) return;
    const f64 step = static_cast<f64>(bin) / static_cast<f64>(count);
    const f64 origin = static_cast<f64>(start) + static_cast<f64>(p) * static_cast<f64>(bin);
    const f64 slack = 2 + (abs(origin) + static_cast<f64>(bin)) * 1e-6 / step;  // of rounding in `at`
    *begin = clamped((-1 - origin) / step - slack);
    *end = clamped((static_cast<f64>(limit) - origin) / step + slack);
  }
};

/// A channel of an image.
template <typename T>
struct Plane {
  const T* data;
  i64 height, width, row, column;  // strides

  WICK_FUNCTION auto operator()(i64 y, i64 x) const { return to_lane(data[y * row + x * column]); }
  /// The image at (y, x), interpolated linearly; 0 if that is more than one pixel outside.
  template <typename Lane>
  WICK_FUNCTION Lane sample(Lane y, Lane x) const {
    if (!(y >= -1 && y <= static_cast<Lane>(height) && x >= -1 && x <= static_cast<Lane>(width))) return 0;
    y = y > 0 ? y : Lane(0);
    x = x > 0 ? x : Lane(0);
    i64 top = static_cast<i64>(y), left = static_cast<i64>(x), bottom = top + 1, right = left + 1;
    if (top >= height - 1) {
      bottom = top = height - 1;
      y = static_cast<Lane>(top);
    }
    if (left >= width - 1) {
      right = left = width - 1;
      x = static_cast<Lane>(left);
    }
    const Lane ly = y - static_cast<Lane>(top), lx = x - static_cast<Lane>(left), hy = 1 - ly, hx = 1 - lx;
    const Plane& self = *this;
    return hy * hx * self(top, left) + hy * lx * self(top, right) + ly * hx * self(bottom, left) +
           ly * lx * self(bottom, right);
  }
};

/// The images that a kernel reads.
template <typename T>
struct RegionImage {
  const T* data;
  i64 image, channel, row, column;  // strides
  i64 height, width;

  WICK_FUNCTION Plane<T> plane(i64 image_number, i64 channel_number) const {
    return {data + image_number * image + channel_number * channel, height, width, row, column};
  }
};

/// Means of bilinear samples for the bins of one channel of a box. `counts`: the samples of a bin along y and along x,
/// by the size of the box; not used if `fixed` > 0. `own`: each bin reads a channel of its own. `aligned`: coordinates
/// are those of the pixels' centres.
template <u32 kThreads, typename T>
WICK_FUNCTION void align_region(T* out, const T* pixels, const T* box, const i32* number, const i32* counts,
                                i64 of_image, i64 of_channel, i64 of_row, i64 of_column, i64 height, i64 width,
                                i64 channel, i64 rows, i64 columns, i64 of_border, i64 fixed, i64 own, i64 aligned,
                                f64 scale) {
  typedef typename RegionLane<T>::Type Lane;
  const RegionImage<T> image = {pixels, of_image, of_channel, of_row, of_column, height, width};
  const Lane factor = static_cast<Lane>(scale), offset = aligned != 0 ? Lane(0.5) : Lane(0);
  const Lane least = aligned != 0 ? -infinity(Lane(0)) : Lane(1);
  const Samples<Lane> y(to_lane(box[2 * of_border]) * factor - offset, to_lane(box[4 * of_border]) * factor - offset,
                        rows, least, fixed > 0 ? fixed : counts[0]);
  const Samples<Lane> x(to_lane(box[of_border]) * factor - offset, to_lane(box[3 * of_border]) * factor - offset,
                        columns, least, fixed > 0 ? fixed : counts[1]);
  const i64 samples = y.count * x.count;
  const Lane divisor = own != 0      ? static_cast<Lane>(y.grid * x.grid)
                       : samples > 0 ? static_cast<Lane>(samples)
                                     : Lane(1);
  for (i64 p = static_cast<i64>(thread_x()); p < rows * columns; p += kThreads) {
    const Plane<T> plane = image.plane(*number, own != 0 ? channel * rows * columns + p : channel);
    i64 top, bottom, left, right;
    y.inside(p / columns, height, &top, &bottom);
    x.inside(p % columns, width, &left, &right);
    Lane sum = 0;
    for (i64 i = top; i < bottom; ++i)
      for (i64 j = left; j < right; ++j) sum += plane.sample(y.at(p / columns, i), x.at(p % columns, j));
    store_lane(out + p, static_cast<Lane>(sum / divisor));
  }
}

/// Rounds to nearest, halves away from zero.
template <typename Lane>
WICK_FUNCTION Lane round_half_away(Lane x) {
  const f64 whole = trunc(static_cast<f64>(x)), rest = static_cast<f64>(x) - whole;
  return static_cast<Lane>(rest >= 0.5 ? whole + 1 : rest <= -0.5 ? whole - 1 : whole);
}
/// Pixels of a bin along one axis, [first, last) within [0, limit].
struct PixelRange {
  i64 first, last;
};
template <typename Lane>
struct PixelBins {
  Lane start, bin;
  i64 limit;

  WICK_FUNCTION PixelBins(Lane first, Lane last, Lane added, i64 bins, i64 limit_of_pixels)
      : start(round_half_away(first)), bin(0), limit(limit_of_pixels) {
    const Lane length = round_half_away(last) - start + added;
    bin = (length > 1 ? length : Lane(1)) / static_cast<Lane>(bins);
  }
  WICK_FUNCTION i64 clamped(f64 v) const {
    const f64 top = static_cast<f64>(limit);
    return static_cast<i64>(v > 0 ? (v < top ? v : top) : 0);  // NaN is 0
  }
  WICK_FUNCTION PixelRange at(i64 p) const {
    const f64 origin = static_cast<f64>(start);
    return {clamped(floor(static_cast<f64>(static_cast<Lane>(p) * bin)) + origin),
            clamped(ceil(static_cast<f64>(static_cast<Lane>(p + 1) * bin)) + origin)};
  }
};

/// The largest pixel of each bin of one channel of a box, and its position in the plane; for an empty bin 0 and -1. As
/// in torchvision, the search starts below every finite number: NaN and -infinity are never found.
template <u32 kThreads, typename T>
WICK_FUNCTION void largest_of_region(T* out, i32* places, const T* pixels, const T* box, const i32* number,
                                     i64 of_image, i64 of_channel, i64 of_row, i64 of_column, i64 height, i64 width,
                                     i64 channel, i64 rows, i64 columns, i64 of_border, f64 scale) {
  typedef typename RegionLane<T>::Type Lane;
  const RegionImage<T> image = {pixels, of_image, of_channel, of_row, of_column, height, width};
  const Lane factor = static_cast<Lane>(scale);
  const PixelBins<Lane> y(to_lane(box[2 * of_border]) * factor, to_lane(box[4 * of_border]) * factor, Lane(1), rows,
                          height);
  const PixelBins<Lane> x(to_lane(box[of_border]) * factor, to_lane(box[3 * of_border]) * factor, Lane(1), columns,
                          width);
  const Plane<T> plane = image.plane(*number, channel);
  for (i64 p = static_cast<i64>(thread_x()); p < rows * columns; p += kThreads) {
    const PixelRange down = y.at(p / columns), along = x.at(p % columns);
    const bool empty = down.first >= down.last || along.first >= along.last;
    Lane best = empty ? Lane(0) : Lane(-3.4028234663852886e38);
    i64 place = -1;
    for (i64 i = down.first; i < down.last; ++i) {
      for (i64 j = along.first; j < along.last; ++j) {
        if (!(plane(i, j) > best)) continue;
        best = plane(i, j);
        place = i * width + j;
      }
    }
    store_lane(out + p, best);
    places[p] = static_cast<i32>(place);
  }
}

/// Means of the pixels of each bin, which reads a channel of its own; 0 for an empty bin.
template <u32 kThreads, typename T>
WICK_FUNCTION void mean_of_region(T* out, const T* pixels, const T* box, const i32* number, i64 of_image,
                                  i64 of_channel, i64 of_row, i64 of_column, i64 height, i64 width, i64 channel,
                                  i64 rows, i64 columns, i64 of_border, f64 scale) {
  typedef typename RegionLane<T>::Type Lane;
  const RegionImage<T> image = {pixels, of_image, of_channel, of_row, of_column, height, width};
  const Lane factor = static_cast<Lane>(scale);
  const PixelBins<Lane> y(to_lane(box[2 * of_border]) * factor, to_lane(box[4 * of_border]) * factor, Lane(0), rows,
                          height - 1);
  const PixelBins<Lane> x(to_lane(box[of_border]) * factor, to_lane(box[3 * of_border]) * factor, Lane(0), columns,
                          width - 1);
  for (i64 p = static_cast<i64>(thread_x()); p < rows * columns; p += kThreads) {
    const Plane<T> plane = image.plane(*number, channel * rows * columns + p);
    const PixelRange down = y.at(p / columns), along = x.at(p % columns);
    Lane sum = 0;
    for (i64 i = down.first; i < down.last; ++i)
      for (i64 j = along.first; j < along.last; ++j) sum += plane(i, j);
    const bool empty = down.first >= down.last || along.first >= along.last;
    const i64 area = (down.last - down.first) * (along.last - along.first);
    store_lane(out + p, empty ? Lane(0) : static_cast<Lane>(sum / static_cast<Lane>(area)));
  }
}

}  // namespace
}  // namespace wick_text
