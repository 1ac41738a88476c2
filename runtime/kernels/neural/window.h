// Sliding windows: the integer lists of convolution and pooling, checked. C++17, freestanding.
#pragma once
#include "wick/kernel.h"

namespace wick {

/// The upper limit of sizes, strides, padding .. of a window, so that sums and products of two fit int64.
constexpr int64_t kMaxWindow = int64_t{1} << 30;

/// Reads `dims` numbers from a list of `dims` entries, or of one entry that stands for all. If the list is missing or
/// empty: `fallback` repeated, or fallback_list if given. Numbers go to the end of out[3], the front becomes `fill`.
/// Fails the context with InvalidArgument and `message` if the length is wrong or a number is outside [lowest,
/// kMaxWindow].
bool read_window(KernelContext& context, const EValue& list, int dims, int64_t lowest, int64_t fill,
                 const int64_t* fallback_list, const char* message, int64_t* out);

/// Outputs of a window along one dimension; at most 0 if the window does not fit. With `ceil_mode` a last window may
/// start inside the input or left padding and end outside.
int64_t window_outputs(int64_t input, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                       bool ceil_mode);

/// resize() that fails the context with `message`.
bool resize_or_fail(KernelContext& context, Tensor& out, const int32_t* sizes, int rank, const char* message);

/// Fails the context unless `condition`.
inline bool require(KernelContext& context, bool condition, Error error, const char* message) {
  if (!condition) context.fail(error, message);
  return condition;
}

}  // namespace wick
