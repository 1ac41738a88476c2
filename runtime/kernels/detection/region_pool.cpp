// Largest and mean values over regions of whole pixels.   Source: torchvision::roi_pool, torchvision::ps_roi_pool.
#include "runtime/kernels/detection/regions.h"

namespace wick {
namespace kernels {
namespace {

/// To the nearest integer, halves away from zero.
template <typename Lane>
Lane round_half_away(Lane x) {
  const double whole = math::trunc(static_cast<double>(x)), rest = static_cast<double>(x) - whole;
  return static_cast<Lane>(rest >= 0.5 ? whole + 1 : rest <= -0.5 ? whole - 1 : whole);
}

/// Pixels of bin `p` along one axis: [first, last), within [0, limit].
struct PixelRange {
  int64_t first, last;
};
template <typename Lane>
PixelRange bin_range(int64_t p, Lane bin, Lane start, int64_t limit) {
  auto clamp = [&](double v) {
    const double top = static_cast<double>(limit);
    return static_cast<int64_t>(v > 0 ? (v < top ? v : top) : 0);  // NaN is 0
  };
  const double origin = static_cast<double>(start);
  return {clamp(math::floor(static_cast<double>(static_cast<Lane>(p) * bin)) + origin),
          clamp(math::ceil(static_cast<double>(static_cast<Lane>(p + 1) * bin)) + origin)};
}

struct PoolCall {
  const Tensor &image, &boxes;
  double scale;
  int64_t rows, columns;
  bool by_position;  // each bin takes the mean of a channel of its own; else the largest value of every channel
};

template <typename T>
struct Bin {
  T value;
  int32_t index;
};

/// The largest element of the region and its place in the plane; 0 and -1 for an empty one. As torchvision's, the
/// search starts below every finite float: NaN and -inf are never found.
template <typename T>
Bin<T> largest(const T* plane, int64_t width, const PixelRange& y, const PixelRange& x) {
  using Lane = typename RegionLane<T>::type;
  const bool empty = y.first >= y.last || x.first >= x.last;
  Lane best = empty ? Lane(0) : Lane(-3.4028234663852886e38);
  Bin<T> out{T(best), -1};
  for (int64_t row = y.first; row < y.last; ++row) {
    for (int64_t column = x.first; column < x.last; ++column) {
      const int64_t at = row * width + column;
      if (!(static_cast<Lane>(plane[at]) > best)) continue;
      best = static_cast<Lane>(plane[at]);
      out = {plane[at], static_cast<int32_t>(at)};
    }
  }
  return out;
}

template <typename T>
T mean(const T* plane, int64_t width, const PixelRange& y, const PixelRange& x) {
  using Lane = typename RegionLane<T>::type;
  Lane sum = 0;
  for (int64_t row = y.first; row < y.last; ++row)
    for (int64_t column = x.first; column < x.last; ++column) sum += static_cast<Lane>(plane[row * width + column]);
  const int64_t area = (y.last - y.first) * (x.last - x.first);
  return y.last <= y.first || x.last <= x.first ? T(0) : T(sum / static_cast<Lane>(area));
}

template <typename T>
void pool(KernelContext& context, const PoolCall& call, const void* image, const void* boxes, T* out, int32_t* map) {
  using Lane = typename RegionLane<T>::type;
  const Regions<T> r{static_cast<const T*>(image), static_cast<const T*>(boxes), call.image.sizes[0],
                     call.image.sizes[1],          call.image.sizes[2],          call.image.sizes[3],
                     call.boxes.sizes[0]};
  const int64_t bins = call.rows * call.columns, channels = call.by_position ? r.channels / bins : r.channels;
  const Lane scale = static_cast<Lane>(call.scale);
  for (int64_t k = 0; k < r.count; ++k) {
    int64_t index;
    if (!r.image_of(context, k, &index)) return;
    auto edge = [&](int i) { return round_half_away(r.box(k, i) * scale); };
    auto length = [&](Lane first, Lane last) {
      const Lane own = call.by_position ? last - first : last - first + 1;
      return own > 1 ? own : Lane(1);
    };
    const Lane top = edge(2), left = edge(1), high = length(top, edge(4)) / static_cast<Lane>(call.rows),
               wide = length(left, edge(3)) / static_cast<Lane>(call.columns);
    for (int64_t at = 0; at < channels * bins; ++at) {
      const int64_t p = at % bins, channel = call.by_position ? at : at / bins;
      const T* plane = r.plane(index, channel);
      const PixelRange y = bin_range(p / call.columns, high, top, call.by_position ? r.height - 1 : r.height);
      const PixelRange x = bin_range(p % call.columns, wide, left, call.by_position ? r.width - 1 : r.width);
      Bin<T> bin{T(0), static_cast<int32_t>(channel)};
      if (call.by_position)
        bin.value = mean(plane, r.width, y, x);
      else
        bin = largest(plane, r.width, y, x);
      out[k * channels * bins + at] = bin.value;
      map[k * channels * bins + at] = bin.index;
    }
  }
}

void run_pool(KernelContext& context, Span<EValue*> args, bool by_position) {
  const PoolCall call{*args[0]->tensor, *args[1]->tensor, args[2]->real,
                      args[3]->integer, args[4]->integer, by_position};
  Tensor &out = *args[5]->tensor, &map = *args[6]->tensor;
  if (!require(context, call.image.rank == 4, "regions: wanted an image [n, c, h, w] and boxes [k, 5]") ||
      !require(context, call.rows > 0 && call.columns > 0 && call.rows < 65536 && call.columns < 65536,
               "regions: the output size is out of range: wanted 1 to 65535 rows and columns"))
    return;
  const int64_t bins = call.rows * call.columns;
  if (!require(context, !by_position || call.image.sizes[1] % bins == 0,
               "regions: the channels are not a multiple of the bins: wanted k * rows * columns of them"))
    return;
  const int64_t channels = by_position ? call.image.sizes[1] / bins : call.image.sizes[1];
  if (!check_regions(context, call.image, call.boxes, channels, call.rows, call.columns, out, &map)) return;
  if (out.numel == 0) return;
  if (!require(context, call.image.numel > 0, "regions: the image is empty: wanted pixels")) return;
  const void *image = contiguous_data(context, call.image), *boxes = contiguous_data(context, call.boxes);
  void *target = contiguous_target(context, out), *numbers = contiguous_target(context, map);
  if (!image || !boxes || !target || !numbers) return;
  const bool known = dispatch_floating(call.image.dtype, [&](auto zero) {
    using T = decltype(zero);
    pool<T>(context, call, image, boxes, static_cast<T*>(target), static_cast<int32_t*>(numbers));
  });
  if (!known) return context.fail(Error::InvalidType, "regions of this dtype are not defined: wanted a floating image");
  store_contiguous(context, out, target);
  store_contiguous(context, map, numbers);
}

}  // namespace

void roi_pool_out(KernelContext& context, Span<EValue*> args) { run_pool(context, args, false); }
void ps_roi_pool_out(KernelContext& context, Span<EValue*> args) { run_pool(context, args, true); }

}  // namespace kernels
}  // namespace wick
