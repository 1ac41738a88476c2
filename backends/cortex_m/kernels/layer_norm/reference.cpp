// layer_norm(input [.., N], scales [N], offsets [N], centered, input_zero_point, epsilon, shift, output_zero_point,
// activation_min, activation_max): int8 rows, scales and offsets int32.
//   X = x - input_zero_point;  S = sum of X, or 0 if not centered;  V = N sum of X^2 - S^2 + epsilon
//   y[i] = clamp(round((N X[i] - S) / sqrt(V) scales[i] 2^-shift + offsets[i] 2^-16) + output_zero_point)
// S, V and N X - S are exact, as is the integer root of V, scaled by a power of 4 to 60 bits. The quotient has 20 bits
// behind the point, sums 16, both rounded to nearest, halves up. Where V is 0 the quotient is 0.
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m::reference {
namespace {

constexpr int64_t kMaxRow = 1 << 15, kMaxEpsilon = int64_t{1} << 60;
constexpr int32_t kMaxNormShift = 40, kQuotientBits = 20, kOffsetBits = 16;

struct LayerNorm {
  int64_t count = 0, epsilon = 0;  // of a row
  bool centered = false;
  int32_t zero = 0, shift = 0;
  OutputStage stage;  // offset, min and max
  const int32_t *scales = nullptr, *offsets = nullptr;
};

bool read_layer_norm(KernelContext& context, Span<EValue*> args, LayerNorm* norm) {
  const Tensor &x = *args[0]->tensor, &y = *args[10]->tensor;
  if (!require_int8(context, x, y) ||
      !require(context, x.rank > 0 && x.rank == y.rank && is_contiguous(x) && is_contiguous(y),
               "wanted a contiguous input of at least one dimension, and an output like it"))
    return false;
  for (size_t d = 0; d < x.rank; ++d) {
    if (!require(context, x.sizes[d] == y.sizes[d], "input and output differ in size")) return false;
  }
  norm->count = x.sizes[x.rank - 1];
  static constexpr char kRows[] = "scales and offsets are not contiguous int32 tensors with one element per column";
  if (!require(context, norm->count > 0 && norm->count <= kMaxRow, "wanted rows of 1 to 32768 elements") ||
      !check_int32_row(context, *args[1]->tensor, norm->count, kRows) ||
      !check_int32_row(context, *args[2]->tensor, norm->count, kRows) ||
      !read_zero_point(context, *args[4], &norm->zero) ||
      !require(context, args[5]->integer >= 0 && args[5]->integer <= kMaxEpsilon, "epsilon is outside [0, 2^60]") ||
      !read_int(context, *args[6], 0, kMaxNormShift, &norm->shift, "shift is outside [0, 40]") ||
      !read_zero_point(context, *args[7], &norm->stage.offset) ||
      !read_activation(context, *args[8], *args[9], &norm->stage))
    return false;
  norm->centered = args[3]->boolean;
  norm->epsilon = args[5]->integer;
  norm->scales = args[1]->tensor->as<const int32_t>();
  norm->offsets = args[2]->tensor->as<const int32_t>();
  return true;
}

/// The largest r with r^2 <= value, bit by bit. value < 2^62.
int64_t integer_root(int64_t value) {
  int64_t root = 0;
  for (int64_t bit = int64_t{1} << 30; bit != 0; bit >>= 1) {
    if ((root + bit) * (root + bit) <= value) root += bit;
  }
  return root;
}

int64_t rounded_shift(int64_t value, int32_t shift) { return (value + (int64_t{1} << (shift - 1))) >> shift; }

/// quotient = d inverse 2^-shift, with kQuotientBits behind the point, is d / sqrt(v).
struct InverseRoot {
  int64_t inverse = 0;
  int32_t shift = 1;
};
InverseRoot inverse_root(int64_t v) {
  if (v == 0) return {};
  int32_t doublings = 0;  // half as many as bits
  while (v < int64_t{1} << 60) {
    v <<= 2;
    ++doublings;
  }
  return {(int64_t{1} << 61) / integer_root(v), 61 - kQuotientBits - doublings};
}

void write_row(const LayerNorm& norm, const int8_t* x, int8_t* y) {
  int64_t sum = 0, squares = 0;
  for (int64_t i = 0; i < norm.count; ++i) {
    const int32_t value = x[i] - norm.zero;
    sum += value;
    squares += value * value;
  }
  if (!norm.centered) sum = 0;
  const InverseRoot root = inverse_root(norm.count * squares - sum * sum + norm.epsilon);
  for (int64_t i = 0; i < norm.count; ++i) {
    const int64_t quotient = rounded_shift((norm.count * (x[i] - norm.zero) - sum) * root.inverse, root.shift);
    const int64_t scaled = rounded_shift(quotient * norm.scales[i], norm.shift + kQuotientBits - kOffsetBits);
    const int64_t value = rounded_shift(scaled + norm.offsets[i], kOffsetBits) + norm.stage.offset;
    y[i] = static_cast<int8_t>(value < norm.stage.min   ? norm.stage.min
                               : value > norm.stage.max ? norm.stage.max
                                                        : value);
  }
}

}  // namespace

void layer_norm(KernelContext& context, Span<EValue*> args) {
  LayerNorm norm;
  if (!read_layer_norm(context, args, &norm)) return;
  const Tensor& input = *args[0]->tensor;
  const auto* x = input.as<const int8_t>();
  auto* y = args[10]->tensor->as<int8_t>();
  const auto count = static_cast<size_t>(norm.count);
  for (size_t at = 0; at < input.numel; at += count) write_row(norm, x + at, y + at);
}

}  // namespace wick::cortex_m::reference
