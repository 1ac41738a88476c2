// What kernels check before they touch memory. Every argument comes from an untrusted file. Each function fails the
// context and returns false where a check does not hold. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/requantize.h"
#include "wick/kernel.h"

namespace wick::cortex_m {

bool require(KernelContext& context, bool condition, const char* message);
/// Fails with InvalidType.
bool require_dtype(KernelContext& context, const Tensor& tensor, DType dtype, const char* message);
bool require_int8(KernelContext& context, const Tensor& a, const Tensor& b);

/// a / b of counts below 2^31, b not 0. A 32-bit core has no instruction that divides int64, and its function is
/// large.
inline int64_t quotient_of_counts(int64_t a, int64_t b) { return static_cast<uint32_t>(a) / static_cast<uint32_t>(b); }

/// Gives the first `dims` dimensions of `out` the sizes of `like`'s, which may differ from call to call.
bool settle_like(KernelContext& context, const Tensor& like, size_t dims, Tensor& out);
/// Gives the first dimension of `out`, the batch, the size of `like`'s, if both have one rank and `out` can take it.
/// Callers compare sizes afterwards, and only then read addresses and numbers of bytes: memory of `out` without an
/// upper bound may move.
void settle_batch(const Tensor& like, Tensor& out);
/// The same of the batch that operands broadcast to.
void settle_broadcast(const Tensor& a, const Tensor& b, Tensor& out);

/// `value` as int32 if it is in [min, max].
bool read_int(KernelContext& context, const EValue& value, int64_t min, int64_t max, int32_t* out, const char* message);
/// A zero point of int8, and the negated one that some operators call an offset.
bool read_zero_point(KernelContext& context, const EValue& value, int32_t* out);
bool read_input_offset(KernelContext& context, const EValue& value, int32_t* out);
/// multiplier > INT32_MIN and shift in [kMinShift, kMaxShift].
bool read_requantization(KernelContext& context, int64_t multiplier, int64_t shift, OutputStage* stage);
/// INT8_MIN <= min <= max <= INT8_MAX.
bool read_activation(KernelContext& context, const EValue& min, const EValue& max, OutputStage* stage);

/// One or two ints in [min, INT32_MAX]; one counts for both dimensions if `repeat`.
bool read_pair(KernelContext& context, const EValue& list, int64_t min, bool repeat, int32_t out[2],
               const char* message);

/// int32, contiguous, `count` elements.
bool check_int32_row(KernelContext& context, const Tensor& tensor, int64_t count, const char* message);
/// The same, and apart from `out`: what a kernel checks in it stays as it is while it writes.
bool check_settled_row(KernelContext& context, const Tensor& tensor, int64_t count, const Tensor& out,
                       const char* message);

/// The memory of args[index], a scratch tensor: at least `bytes`. None of it is constant or belongs to another tensor
/// among args, so that what a kernel has checked stays as it is while it writes to scratch.
bool read_scratch(KernelContext& context, Span<EValue*> args, size_t index, int64_t bytes, Span<uint8_t>* scratch);
/// The same in words, which are aligned.
// Inline: a linker keeps the strings of a file that it links, also those of functions that it drops.
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

/// Is the rank 4 and the memory NHWC, size-1 dimensions aside?
bool is_nhwc(const Tensor& tensor);

/// The sizes of an activation, which lies in memory as NHWC.
struct Image {
  int64_t n, h, w, c;
};
/// The order of an activation's sizes: NCHW of channels-last tensors, NHWC of contiguous ones.
enum class ImageSizes : uint8_t { nchw, nhwc };
bool read_image(KernelContext& context, const Tensor& tensor, ImageSizes sizes, Image* image);
inline bool read_image(KernelContext& context, const Tensor& tensor, Image* image) {
  return read_image(context, tensor, ImageSizes::nchw, image);
}

/// How many positions a window takes along one dimension: (input + 2 padding - dilation (kernel - 1) - 1) / stride + 1,
/// 0 if it does not fit even once. With `ceil_mode` also a last one that begins before the end of input and padding.
int64_t window_positions(int64_t input, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                         bool ceil_mode = false);

}  // namespace wick::cortex_m
