#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {
namespace {

bool share_memory(const Tensor& a, const Tensor& b) {
  const auto a_begin = reinterpret_cast<uintptr_t>(a.data), b_begin = reinterpret_cast<uintptr_t>(b.data);
  return a.numel > 0 && b.numel > 0 && a_begin < b_begin + b.nbytes() && b_begin < a_begin + a.nbytes();
}

}  // namespace

bool require(KernelContext& context, bool condition, const char* message) {
  if (!condition) context.fail(Error::InvalidArgument, message);
  return condition;
}

bool require_dtype(KernelContext& context, const Tensor& tensor, DType dtype, const char* message) {
  if (tensor.dtype != dtype) context.fail(Error::InvalidType, message);
  return tensor.dtype == dtype;
}

bool require_int8(KernelContext& context, const Tensor& a, const Tensor& b) {
  return require_dtype(context, a, DType::i8, "the input is not int8") &&
         require_dtype(context, b, DType::i8, "the output is not int8");
}

bool settle_like(KernelContext& context, const Tensor& like, size_t dims, Tensor& out) {
  int32_t sizes[kMaxRank];
  bool agree = true;
  for (size_t d = 0; d < out.rank; ++d) {
    sizes[d] = d < dims ? like.sizes[d] : out.sizes[d];
    agree = agree && sizes[d] == out.sizes[d];
  }
  return require(context, out.rank == like.rank && (agree || resize(out, {sizes, out.rank}) == Error::Ok),
                 "the output cannot have the input's sizes");
}

void settle_batch(const Tensor& like, Tensor& out) {
  if (like.rank != out.rank || out.rank == 0 || like.sizes[0] == out.sizes[0]) return;
  int32_t sizes[kMaxRank];
  for (size_t d = 0; d < out.rank; ++d) sizes[d] = d == 0 ? like.sizes[0] : out.sizes[d];
  (void)resize(out, {sizes, out.rank});  // if there is no such batch, the caller's comparison of sizes fails
}

void settle_broadcast(const Tensor& a, const Tensor& b, Tensor& out) {
  const bool follows_b = b.rank == out.rank && (a.rank != out.rank || (a.rank > 0 && a.sizes[0] == 1));
  settle_batch(follows_b ? b : a, out);
}

bool read_int(KernelContext& context, const EValue& value, int64_t min, int64_t max, int32_t* out,
              const char* message) {
  if (!require(context, min <= value.integer && value.integer <= max, message)) return false;
  *out = static_cast<int32_t>(value.integer);
  return true;
}

bool read_zero_point(KernelContext& context, const EValue& value, int32_t* out) {
  return read_int(context, value, INT8_MIN, INT8_MAX, out, "a zero point is outside [-128, 127]");
}

bool read_input_offset(KernelContext& context, const EValue& value, int32_t* out) {
  return read_int(context, value, -INT8_MAX, -INT8_MIN, out,
                  "the offset of an input (its zero point, negated) is outside [-127, 128]");
}

bool read_requantization(KernelContext& context, int64_t multiplier, int64_t shift, OutputStage* stage) {
  if (!require(context, multiplier > INT32_MIN && multiplier <= INT32_MAX,
               "a requantization multiplier is outside [-2^31 + 1, 2^31 - 1]") ||
      !require(context, kMinShift <= shift && shift <= kMaxShift, "a requantization shift is outside [-31, 30]"))
    return false;
  stage->multiplier = static_cast<int32_t>(multiplier);
  stage->shift = static_cast<int32_t>(shift);
  return true;
}

bool read_activation(KernelContext& context, const EValue& min, const EValue& max, OutputStage* stage) {
  return read_int(context, min, INT8_MIN, INT8_MAX, &stage->min, "activation_min is outside [-128, 127]") &&
         read_int(context, max, INT8_MIN, INT8_MAX, &stage->max, "activation_max is outside [-128, 127]") &&
         require(context, stage->min <= stage->max, "activation_min is greater than activation_max");
}

bool read_pair(KernelContext& context, const EValue& list, int64_t min, bool repeat, int32_t out[2],
               const char* message) {
  const Span<const int64_t> values = list.ints();
  if (!require(context, values.size() == 2 || (repeat && values.size() == 1), message)) return false;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t value = values[values.size() == 1 ? 0 : i];
    if (!require(context, min <= value && value <= INT32_MAX, message)) return false;
    out[i] = static_cast<int32_t>(value);
  }
  return true;
}

bool check_int32_row(KernelContext& context, const Tensor& tensor, int64_t count, const char* message) {
  return require_dtype(context, tensor, DType::i32, message) &&
         require(context, static_cast<int64_t>(tensor.numel) == count && is_contiguous(tensor), message);
}

bool check_settled_row(KernelContext& context, const Tensor& tensor, int64_t count, const Tensor& out,
                       const char* message) {
  return check_int32_row(context, tensor, count, message) &&
         require(context, !share_memory(tensor, out), "the output shares memory with checked numbers");
}

bool read_scratch(KernelContext& context, Span<EValue*> args, size_t index, int64_t bytes, Span<uint8_t>* scratch) {
  const Tensor& tensor = *args[index]->tensor;
  *scratch = {tensor.as<uint8_t>(), tensor.nbytes()};
  bool is_own = tensor.numel == 0 || !tensor.read_only;
  for (size_t i = 0; i < args.size(); ++i) {
    if (i != index && args[i]->tag == Tag::tensor && share_memory(tensor, *args[i]->tensor)) is_own = false;
  }
  return require(context, static_cast<int64_t>(scratch->size()) >= bytes,
                 "scratch is smaller than any instruction set needs") &&
         require(context, is_own, "scratch lies in constant memory or in that of another argument");
}

bool is_nhwc(const Tensor& tensor) {
  if (tensor.rank != 4) return false;
  const int order[] = {1, 3, 2, 0};  // innermost first
  int64_t stride = 1;
  for (const int d : order) {
    if (tensor.sizes[d] > 1 && tensor.strides[d] != stride) return false;
    stride *= tensor.sizes[d] > 1 ? tensor.sizes[d] : 1;
  }
  return true;
}

bool read_image(KernelContext& context, const Tensor& tensor, ImageSizes sizes, Image* image) {
  if (!require(context, tensor.rank == 4, "an activation does not have 4 dimensions")) return false;
  if (sizes == ImageSizes::nhwc) {
    *image = {tensor.sizes[0], tensor.sizes[1], tensor.sizes[2], tensor.sizes[3]};
    return require(context, tensor.numel == 0 || is_contiguous(tensor), "an activation is not contiguous");
  }
  if (!require(context, tensor.numel == 0 || is_nhwc(tensor), "an activation is not channels-last in memory"))
    return false;
  *image = {tensor.sizes[0], tensor.sizes[2], tensor.sizes[3], tensor.sizes[1]};
  return true;
}

int64_t window_positions(int64_t input, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                         bool ceil_mode) {
  int64_t span = 0;  // what a window covers, minus one
  if (__builtin_mul_overflow(dilation, kernel - 1, &span)) return 0;
  const int64_t room = input + 2 * padding - span - 1;
  if (room < 0 || room > INT32_MAX) return 0;  // no tensor has more
  const int64_t steps = quotient_of_counts(room, stride), positions = steps + 1;
  if (ceil_mode && steps * stride != room && positions * stride < input + padding) return positions + 1;
  return positions;
}

}  // namespace wick::cortex_m
