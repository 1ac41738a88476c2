// Checks that kernels make before they touch memory. Every argument comes from an untrusted file. A function whose
// check fails sets the context's error and returns false. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/requantize.h"
#include "wick/kernel.h"

namespace wick::cortex_m {

bool require(KernelContext& context, bool condition, const char* message);
/// Fails with InvalidType.
bool require_dtype(KernelContext& context, const Tensor& tensor, DType dtype, const char* message);
bool require_int8(KernelContext& context, const Tensor& a, const Tensor& b);

/// a / b for counts below 2^31, b not 0. A 32-bit core divides int64 by calling a large function.
inline int64_t quotient_of_counts(int64_t a, int64_t b) { return static_cast<uint32_t>(a) / static_cast<uint32_t>(b); }

/// Resizes the first `dims` dimensions of `out` to the sizes of `like`, which may differ from call to call.
bool settle_like(KernelContext& context, const Tensor& like, size_t dims, Tensor& out);
/// Resizes the first dimension of `out`, the batch, to that of `like`, if both have the same rank and `out` can hold
/// it. Callers must compare sizes, read addresses and byte counts only afterwards: resizing may move the memory of an
/// unbounded `out`.
void settle_batch(const Tensor& like, Tensor& out);
/// The same, with the batch to which two operands broadcast.
void settle_broadcast(const Tensor& a, const Tensor& b, Tensor& out);

/// `value` as int32 if it is in [min, max].
bool read_int(KernelContext& context, const EValue& value, int64_t min, int64_t max, int32_t* out, const char* message);
/// Reads a zero point of int8, or the negated one that some operators call an offset.
bool read_zero_point(KernelContext& context, const EValue& value, int32_t* out);
bool read_input_offset(KernelContext& context, const EValue& value, int32_t* out);
/// Requires multiplier > INT32_MIN and shift in [kMinShift, kMaxShift].
bool read_requantization(KernelContext& context, int64_t multiplier, int64_t shift, OutputStage* stage);
/// Requires INT8_MIN <= min <= max <= INT8_MAX.
bool read_activation(KernelContext& context, const EValue& min, const EValue& max, OutputStage* stage);

/// Reads one or two ints in [min, INT32_MAX]; with `repeat` a single one counts for both dimensions.
bool read_pair(KernelContext& context, const EValue& list, int64_t min, bool repeat, int32_t out[2],
               const char* message);

/// Requires int32, contiguous, `count` elements.
bool check_int32_row(KernelContext& context, const Tensor& tensor, int64_t count, const char* message);
/// The same, and no memory shared with `out`: checked values must not change while the kernel writes.
bool check_settled_row(KernelContext& context, const Tensor& tensor, int64_t count, const Tensor& out,
                       const char* message);

/// The memory of the scratch tensor args[index], at least `bytes`. It must be neither constant nor shared with another
/// tensor among args, so that checked values do not change while the kernel writes to scratch.
bool read_scratch(KernelContext& context, Span<EValue*> args, size_t index, int64_t bytes, Span<uint8_t>* scratch);
/// The same in aligned words.
/// Inline, because a linker keeps all strings of an object file that it links, even those of functions that it drops.
inline bool read_scratch_words(KernelContext& context, Span<EValue*> args, size_t index, int64_t words,
                               int32_t** scratch) {
  Span<uint8_t> bytes;
  if (!read_scratch(context, args, index, words * int64_t{sizeof(int32_t)}, &bytes) ||
      !require(context, reinterpret_cast<uintptr_t>(bytes.data()) % sizeof(int32_t) == 0,
               "a scratch tensor is not aligned to words"))
    return false;
  *scratch = reinterpret_cast<int32_t*>(bytes.data());
  return true;
}

/// Whether the rank is 4 and the memory is NHWC, apart from dimensions of size 1.
bool is_nhwc(const Tensor& tensor);

/// The sizes of an activation whose memory is NHWC.
struct Image {
  int64_t n, h, w, c;
};
/// The order of an activation's sizes: NCHW for channels-last tensors, NHWC for contiguous ones.
enum class ImageSizes : uint8_t { nchw, nhwc };
bool read_image(KernelContext& context, const Tensor& tensor, ImageSizes sizes, Image* image);
inline bool read_image(KernelContext& context, const Tensor& tensor, Image* image) {
  return read_image(context, tensor, ImageSizes::nchw, image);
}

/// The number of window positions along one dimension: (input + 2 padding - dilation (kernel - 1) - 1) / stride + 1, or
/// 0 if the window does not fit once. With `ceil_mode`, also a last one that begins before the end of input and
/// padding.
int64_t window_positions(int64_t input, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                         bool ceil_mode = false);

}  // namespace wick::cortex_m
