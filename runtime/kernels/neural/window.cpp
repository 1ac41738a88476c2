#include "runtime/kernels/neural/window.h"

#include "common/math/arithmetic.h"

namespace wick {

bool read_window(KernelContext& context, const EValue& list, int dims, int64_t lowest, int64_t fill,
                 const int64_t* fallback_list, const char* message, int64_t* out) {
  const Span<const int64_t> items = list.ints();
  const int front = 3 - dims;
  for (int d = 0; d < 3; ++d) out[d] = fill;
  if (items.empty()) {
    if (!require(context, fallback_list != nullptr, Error::InvalidArgument, message)) return false;
    for (int d = 0; d < dims; ++d) out[front + d] = fallback_list[front + d];
    return true;
  }
  if (!require(context, items.size() == 1 || items.size() == static_cast<size_t>(dims), Error::InvalidArgument,
               message))
    return false;
  for (int d = 0; d < dims; ++d) {
    const int64_t value = items[items.size() == 1 ? 0 : static_cast<size_t>(d)];
    if (!require(context, value >= lowest && value <= kMaxWindow, Error::InvalidArgument, message)) return false;
    out[front + d] = value;
  }
  return true;
}

int64_t window_outputs(int64_t input, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                       bool ceil_mode) {
  const int64_t room = input + 2 * padding - dilation * (kernel - 1) - 1;
  int64_t outputs = math::floor_divide(room + (ceil_mode ? stride - 1 : 0), stride) + 1;
  if (ceil_mode && (outputs - 1) * stride >= input + padding) --outputs;
  return outputs;
}

bool resize_or_fail(KernelContext& context, Tensor& out, const int32_t* sizes, int rank, const char* message) {
  const Error error = resize(out, Span<const int32_t>(sizes, static_cast<size_t>(rank)));
  return require(context, error == Error::Ok, error, message);
}

}  // namespace wick
