// quantized_conv2d as products of matrices: three positions at a time, each a row of its window's bytes. Rows that are
// contiguous in the input are taken from there; others are gathered in scratch. The equation: reference.cpp.
#include "backends/cortex_m/kernels/conv2d/conv2d_mve.h"
#include "backends/cortex_m/kernels/mve/gemm.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

/// The rows of one group of channels of one image.
class Rows {
 public:
  Rows(const Conv2d& c, const int8_t* image, int32_t first_channel)
      : c_(c),
        image_(image + first_channel),
        inputs_(static_cast<int32_t>(c.inputs)),
        channels_(static_cast<int32_t>(c.from.c)),
        width_(static_cast<int32_t>(c.from.w)),
        terms_(c.window.kernel[0] * c.window.kernel[1] * inputs_),
        tap_rows_(inputs_ == channels_ && c.window.dilation[1] == 1),
        scratch_(reinterpret_cast<int8_t*>(c.scratch.data())) {
    const bool pointwise = c.window.kernel[0] == 1 && c.window.kernel[1] == 1;
    contiguous_ = pointwise || (tap_rows_ && c.window.kernel[0] == 1);
    const int64_t tile = int64_t{kGemmRows} * ((int64_t{terms_} + 15) & ~15),
                  room = static_cast<int64_t>(c.scratch.size());
    straight_ = inputs_ % 16 == 0;
    tiled_ = !contiguous_ && room >= tile + (straight_ ? 0 : terms_);
    // The checks leave room for one row at least, unless none is gathered.
    const int64_t rows = room / terms_;
    count_ = tiled_ || rows == 0 || rows > kGemmRows ? kGemmRows : static_cast<int32_t>(rows);
  }

  /// How many rows scratch has room for.
  int32_t count() const { return count_; }
  /// Do the rows go to a tile in scratch?
  bool tiled() const { return tiled_; }
  const int8_t* tile() const { return scratch_; }

  /// The row of output position (y, x), gathered in place `slot` of scratch if it has to be.
  const int8_t* row(int32_t slot, int32_t y, int32_t x) const {
    const int32_t top = y * c_.window.stride[0] - c_.window.padding[0];
    const int32_t left = x * c_.window.stride[1] - c_.window.padding[1];
    if (contiguous_ && top >= 0 && top < c_.from.h && left >= 0 && left + c_.window.kernel[1] <= width_)
      return image_ + (top * width_ + left) * channels_;
    int8_t* row = scratch_ + slot * terms_;
    gather(top, left, row, [](int8_t* to, const int8_t* from, int32_t count) {
      copy_bytes(to, from, count);
      return to + count;
    });
    return row;
  }

  /// Gathers the row of output position (y, x) in its place of the tile.
  void pack(int32_t slot, int32_t y, int32_t x) const {
    const int32_t top = y * c_.window.stride[0] - c_.window.padding[0];
    const int32_t left = x * c_.window.stride[1] - c_.window.padding[1];
    int8_t* place = scratch_ + 16 * slot;
    if (straight_) return gather(top, left, place, pack_row);
    int8_t* row = scratch_ + tile_bytes(terms_);
    gather(top, left, row, [](int8_t* to, const int8_t* from, int32_t count) {
      copy_bytes(to, from, count);
      return to + count;
    });
    pack_row(place, row, terms_);
  }

 private:
  static constexpr int32_t kPaddingBytes = 64;

  /// Taps of the padding: the input's zero point, which adds nothing.
  template <typename Copy>
  __attribute__((noinline)) int8_t* pad(int8_t* to, int32_t count, const Copy& copy) const {
    alignas(16) int8_t padding[kPaddingBytes];
    if (count > 0) fill_bytes(padding, static_cast<int8_t>(-c_.quantization.input_offset), kPaddingBytes);
    for (; count > 0; count -= kPaddingBytes) to = copy(to, padding, count < kPaddingBytes ? count : kPaddingBytes);
    return to;
  }

  template <typename Copy>
  void gather(int32_t top, int32_t left, int8_t* to, const Copy& copy) const {
    for (int32_t ky = 0; ky < c_.window.kernel[0]; ++ky) {
      const int32_t y = top + ky * c_.window.dilation[0];
      if (y < 0 || y >= c_.from.h) {
        to = pad(to, c_.window.kernel[1] * inputs_, copy);
      } else {
        to = gather_taps(image_ + y * width_ * channels_, left, to, copy);
      }
    }
  }

  /// The taps of one row of the window.
  template <typename Copy>
  int8_t* gather_taps(const int8_t* from, int32_t left, int8_t* to, const Copy& copy) const {
    const int32_t taps = c_.window.kernel[1];
    if (tap_rows_) {
      if (left >= 0 && left + taps <= width_) return copy(to, from + left * inputs_, taps * inputs_);
      const int32_t before = left >= 0 ? 0 : left < -taps ? taps : -left;
      const int32_t end = left + taps > width_ ? width_ - left : taps, after = end > before ? end : before;
      to = pad(to, before * inputs_, copy);
      if (after > before) to = copy(to, from + (left + before) * inputs_, (after - before) * inputs_);
      return pad(to, (taps - after) * inputs_, copy);
    }
    for (int32_t tap = 0; tap < taps; ++tap) {
      const int32_t x = left + tap * c_.window.dilation[1];
      to = x < 0 || x >= width_ ? pad(to, inputs_, copy) : copy(to, from + x * channels_, inputs_);
    }
    return to;
  }

  const Conv2d& c_;
  const int8_t* image_;
  int32_t inputs_, channels_, width_, terms_, count_ = 0;
  bool tap_rows_;  // the taps of a row of the window are contiguous in the input
  bool contiguous_ = false, straight_ = false, tiled_ = false;
  int8_t* scratch_;
};

/// All positions of one image for the channels of a pass.
void write_image(const Conv2d& c, const Rows& rows, GemmPass& pass, int8_t* out) {
  const int32_t stride = static_cast<int32_t>(c.to.c), width = static_cast<int32_t>(c.to.w);
  int32_t y = 0, x = 0;
  for (int32_t left = static_cast<int32_t>(c.to.h) * width; left > 0; left -= rows.count()) {
    const int32_t count = left < rows.count() ? left : rows.count();
    const int8_t* of[kGemmRows] = {nullptr, nullptr, nullptr};
    for (int32_t slot = 0; slot < count; ++slot) {
      if (rows.tiled()) {
        rows.pack(slot, y, x);
      } else {
        of[slot] = rows.row(slot, y, x);
      }
      if (++x == width) {
        x = 0;
        ++y;
      }
    }
    if (rows.tiled()) {
      pass.run_tile(rows.tile(), count, out, stride);
    } else {
      pass.run(of, count, out, stride);
    }
    out += count * stride;
  }
}

}  // namespace

void convolve(const Conv2d& c) {
  const int64_t image_size = c.from.h * c.from.w * c.from.c, out_size = c.to.h * c.to.w * c.to.c;
  if (out_size == 0) return;
  Gemm gemm;
  gemm.terms = static_cast<int32_t>(c.window.kernel[0] * c.window.kernel[1] * c.inputs);
  gemm.channels = static_cast<int32_t>(c.outputs);
  gemm.input_offset = c.quantization.input_offset;
  gemm.stage = c.quantization.stage;
  for (int64_t group = 0; group * c.outputs < c.to.c; ++group) {
    const int64_t first = group * c.outputs;
    gemm.weights = c.weights + first * gemm.terms;
    gemm.addend = c.quantization.bias != nullptr ? c.quantization.bias + first : nullptr;
    gemm.multipliers = c.quantization.multipliers + first;
    gemm.shifts = c.quantization.shifts + first;
    for (int32_t begin = 0; begin < gemm.channels; begin += kGemmChannels) {
      GemmPass pass(gemm, begin);
      for (int64_t n = 0; n < c.from.n; ++n) {
        const Rows rows(c, c.x + n * image_size, static_cast<int32_t>(group * c.inputs));
        write_image(c, rows, pass, c.out + n * out_size + first + begin);
      }
    }
  }
}

void quantized_conv2d(KernelContext& context, Span<EValue*> args) {
  Conv2d c;
  if (!read_conv2d(context, args, &c)) return;
  if (!has_near_positions(c.window, c.from)) return reference::quantized_conv2d(context, args);
  convolve(c);
}

}  // namespace wick::cortex_m::mve
