// Means of bilinear samples over regions.   Source: torchvision::roi_align, torchvision::ps_roi_align.
#include "runtime/kernels/detection/regions.h"

namespace wick {
namespace kernels {

bool check_regions(KernelContext& context, const Tensor& image, const Tensor& boxes, int64_t channels, int64_t rows,
                   int64_t columns, Tensor& out, Tensor* extra) {
  if (!require(context, image.rank == 4 && boxes.rank == 2 && boxes.sizes[1] == 5,
               "regions: wanted an image [n, c, h, w] and boxes [k, 5]") ||
      !require(context, rows > 0 && columns > 0,
               "regions: the output size is out of range: wanted 1 to 65535 rows and columns") ||
      !require_dtype(context, boxes, image.dtype, "regions: image and boxes differ in dtype") ||
      !require_dtype(context, out, image.dtype, "regions: out has a different dtype than the image"))
    return false;
  const int64_t sizes[] = {boxes.sizes[0], channels, rows, columns};
  if (extra && (!require_dtype(context, *extra, DType::i32, "regions: indices are i32") ||
                !resize_out(context, *extra, sizes, 4)))
    return false;
  return resize_out(context, out, sizes, 4);
}

namespace {

constexpr int64_t kMaxRatio = 32;         // samples along one side of a bin that a program may ask for
constexpr int64_t kMaxSamples = 1 << 16;  // and that a box may get by its size

/// Samples [first, last) of a bin.
struct SampleRange {
  int64_t first, last;
};

/// Where the samples of one box lie along one axis.
template <typename Lane>
struct Samples {
  Lane start, bin;
  int64_t count;
  int64_t grid;  // eager's divisor: negative for a box whose ends are swapped
  Lane at(int64_t p, int64_t i) const {
    return start + static_cast<Lane>(p) * bin + (static_cast<Lane>(i) + Lane(0.5)) * bin / static_cast<Lane>(count);
  }
  /// The samples of bin p that may lie within [-1, limit]. Most samples of a box much larger than the image lie
  /// outside, where they count as 0.
  SampleRange inside(int64_t p, int64_t limit) const {
    if (count <= kMaxRatio) return {0, count};
    const double step = static_cast<double>(bin) / static_cast<double>(count);
    const double origin = static_cast<double>(start) + static_cast<double>(p) * static_cast<double>(bin);
    const double slack = 2 + (math::abs(origin) + static_cast<double>(bin)) * 1e-6 / step;  // of rounding in `at`
    auto clamp = [&](double i) {
      return i > 0 ? i < static_cast<double>(count) ? static_cast<int64_t>(i) : count : int64_t{0};
    };
    return {clamp((-1 - origin) / step - slack), clamp((static_cast<double>(limit) - origin) / step + slack)};
  }
};

template <typename Lane>
bool place_samples(KernelContext& context, Lane first, Lane last, int64_t bins, int64_t fixed, Lane least,
                   Samples<Lane>* out) {
  Lane length = last - first;
  length = length > least ? length : least;
  out->start = first;
  out->bin = length / static_cast<Lane>(bins);
  out->count = out->grid = fixed;
  if (fixed > kMaxRatio)
    return reject(context, "sampling_ratio is above 32: wanted at most 32, or 0 to adapt to boxes");
  if (fixed > 0) return true;
  const double wanted = math::ceil(static_cast<double>(length / static_cast<Lane>(bins)));
  if (!(wanted < static_cast<double>(kMaxSamples)))
    return reject(context, "a bin of a box is 2^16 pixels long, or not a number: wanted less to sample it adaptively");
  out->grid = wanted > -static_cast<double>(kMaxSamples) ? static_cast<int64_t>(wanted) : -kMaxSamples;
  out->count = out->grid > 0 ? out->grid : 0;
  return true;
}

struct AlignCall {
  const Tensor &image, &boxes;
  double scale;
  int64_t rows, columns, sampling;
  bool by_position;  // each bin reads a channel of its own
  bool half_pixel;   // coordinates are those of pixel centres
  bool at_least_one_pixel;
};

template <typename T>
void align(KernelContext& context, const AlignCall& call, const void* image, const void* boxes, T* out, int32_t* map) {
  using Lane = typename RegionLane<T>::type;
  const Regions<T> r{static_cast<const T*>(image), static_cast<const T*>(boxes), call.image.sizes[0],
                     call.image.sizes[1],          call.image.sizes[2],          call.image.sizes[3],
                     call.boxes.sizes[0]};
  const int64_t bins = call.rows * call.columns, channels = call.by_position ? r.channels / bins : r.channels;
  const Lane scale = static_cast<Lane>(call.scale), offset = call.half_pixel ? Lane(0.5) : Lane(0);
  const Lane least = call.at_least_one_pixel ? Lane(1) : static_cast<Lane>(-math::kInfinity);
  for (int64_t k = 0; k < r.count; ++k) {
    int64_t index;
    Samples<Lane> y, x;
    if (!r.image_of(context, k, &index) ||
        !place_samples(context, r.box(k, 2) * scale - offset, r.box(k, 4) * scale - offset, call.rows, call.sampling,
                       least, &y) ||
        !place_samples(context, r.box(k, 1) * scale - offset, r.box(k, 3) * scale - offset, call.columns, call.sampling,
                       least, &x))
      return;
    const int64_t samples = y.count * x.count;
    context.parallel_for(channels * bins, 16, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const int64_t p = at % bins, channel = call.by_position ? at : at / bins;
        const T* plane = r.plane(index, channel);
        const SampleRange rows = y.inside(p / call.columns, r.height), columns = x.inside(p % call.columns, r.width);
        Lane sum = 0;
        for (int64_t i = rows.first; i < rows.last; ++i)
          for (int64_t j = columns.first; j < columns.last; ++j)
            sum += bilinear_sample<T, Lane>(plane, r.height, r.width, y.at(p / call.columns, i),
                                            x.at(p % call.columns, j));
        const Lane divisor = call.by_position ? static_cast<Lane>(y.grid * x.grid)
                             : samples > 0    ? static_cast<Lane>(samples)
                                              : Lane(1);
        out[k * channels * bins + at] = T(sum / divisor);
        if (map) map[k * channels * bins + at] = static_cast<int32_t>(channel);
      }
    });
  }
}

void run_align(KernelContext& context, const AlignCall& call, Tensor& out, Tensor* map) {
  if (!require(context, call.image.rank == 4, "regions: wanted an image [n, c, h, w] and boxes [k, 5]") ||
      !require(context, call.rows > 0 && call.columns > 0 && call.rows < 65536 && call.columns < 65536,
               "regions: the output size is out of range: wanted 1 to 65535 rows and columns"))
    return;
  const int64_t bins = call.rows * call.columns;
  if (!require(context, !call.by_position || call.image.sizes[1] % bins == 0,
               "regions: the channels are not a multiple of the bins: wanted k * rows * columns of them"))
    return;
  const int64_t channels = call.by_position ? call.image.sizes[1] / bins : call.image.sizes[1];
  if (!check_regions(context, call.image, call.boxes, channels, call.rows, call.columns, out, map)) return;
  if (out.numel == 0) return;
  if (!require(context, call.image.numel > 0, "regions: the image is empty: wanted pixels")) return;
  const void *image = contiguous_data(context, call.image), *boxes = contiguous_data(context, call.boxes);
  void* target = contiguous_target(context, out);
  void* numbers = map ? contiguous_target(context, *map) : nullptr;
  if (!image || !boxes || !target || (map && !numbers)) return;
  const bool known = dispatch_floating(call.image.dtype, [&](auto zero) {
    using T = decltype(zero);
    align<T>(context, call, image, boxes, static_cast<T*>(target), static_cast<int32_t*>(numbers));
  });
  if (!known) return context.fail(Error::InvalidType, "regions of this dtype are not defined: wanted a floating image");
  store_contiguous(context, out, target);
  if (map) store_contiguous(context, *map, numbers);
}

}  // namespace

void roi_align_out(KernelContext& context, Span<EValue*> args) {
  const bool aligned = args[6]->boolean;
  run_align(context,
            {*args[0]->tensor, *args[1]->tensor, args[2]->real, args[3]->integer, args[4]->integer, args[5]->integer,
             false, aligned, !aligned},
            *args[7]->tensor, nullptr);
}
void ps_roi_align_out(KernelContext& context, Span<EValue*> args) {
  run_align(context,
            {*args[0]->tensor, *args[1]->tensor, args[2]->real, args[3]->integer, args[4]->integer, args[5]->integer,
             true, true, false},
            *args[6]->tensor, args[7]->tensor);
}

}  // namespace kernels
}  // namespace wick
