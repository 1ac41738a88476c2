#include "backends/cortex_m/kernels/layer_norm/layer_norm.h"

namespace wick::cortex_m {
namespace {

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

}  // namespace

bool read_norm(KernelContext& context, Span<EValue*> args, Norm* norm) {
  norm->epsilon = args[1]->integer;
  return read_zero_point(context, *args[0], &norm->zero) &&
         require(context, norm->epsilon >= 0 && norm->epsilon <= kMaxNormEpsilon, "epsilon is outside [0, 2^60]") &&
         read_int(context, *args[2], 0, kMaxNormShift, &norm->shift, "shift is outside [0, 40]") &&
         read_zero_point(context, *args[3], &norm->stage.offset) &&
         read_activation(context, *args[4], *args[5], &norm->stage);
}

void write_normalized(const Norm& norm, const NormRow& row, const int8_t* x, int8_t* y) {
  const int64_t count = row.outer * row.inner;
  int64_t sum = 0, squares = 0;
  for (int64_t i = 0; i < row.outer; ++i) {
    const int8_t* run = x + i * row.step;
    for (int64_t j = 0; j < row.inner; ++j) {
      const int32_t value = run[j] - norm.zero;
      sum += value;
      squares += value * value;
    }
  }
  if (!norm.centered) sum = 0;
  const InverseRoot root = inverse_root(count * squares - sum * sum + norm.epsilon);
  for (int64_t i = 0; i < row.outer; ++i) {
    const int8_t* run = x + i * row.step;
    for (int64_t j = 0; j < row.inner; ++j) {
      const int64_t parameter = i * row.outer_parameters + j * row.inner_parameters;
      const int64_t quotient = rounded_shift((count * (run[j] - norm.zero) - sum) * root.inverse, root.shift);
      const int64_t scaled =
          rounded_shift(quotient * row.scales[parameter], norm.shift + kQuotientBits - kNormOffsetBits);
      const int64_t value = rounded_shift(scaled + row.offsets[parameter], kNormOffsetBits) + norm.stage.offset;
      y[i * row.step + j] = static_cast<int8_t>(value < norm.stage.min   ? norm.stage.min
                                                : value > norm.stage.max ? norm.stage.max
                                                                         : value);
    }
  }
}

}  // namespace wick::cortex_m
