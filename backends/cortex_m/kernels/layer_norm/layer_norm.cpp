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

/// The inverse root of a variance v: d * inverse * 2^-shift is d / sqrt(v) with kQuotientBits fractional bits.
struct InverseRoot {
  int64_t inverse = 0;
  int32_t shift = 1;
};
/// v = whole + fraction 2^-32, for 1 <= whole < 2^62.
InverseRoot inverse_root(int64_t whole, uint32_t fraction) {
  const int32_t doublings = (__builtin_clzll(static_cast<uint64_t>(whole)) - 2) / 2, bits = 2 * doublings;
  const uint64_t below = bits < 32 ? uint64_t{fraction} >> (32 - bits) : uint64_t{fraction} << (bits - 32);
  const int64_t scaled = (whole << bits) + static_cast<int64_t>(below);  // at least 2^60
  return {(int64_t{1} << 61) / integer_root(scaled), 61 - kQuotientBits - doublings};
}

template <typename T>
void write_row(const Norm& norm, const NormRow& row, const T* x, T* y) {
  const int64_t count = row.outer * row.inner;
  int64_t sum = 0, squares = 0;
  for (int64_t i = 0; i < row.outer; ++i) {
    const T* run = x + i * row.step;
    for (int64_t j = 0; j < row.inner; ++j) {
      const int32_t value = run[j] - norm.zero;
      sum += value;
      squares += value * value;
    }
  }
  if (!norm.centered) sum = 0;
  // Zero if all X are equal to their mean (or are 0); then all quotients are zero.
  const int64_t deviation = count * squares - sum * sum;
  const auto fraction =
      static_cast<uint32_t>(static_cast<uint64_t>(norm.epsilon) << (kMaxEpsilonBits - norm.epsilon_bits));
  const InverseRoot root =
      deviation == 0 ? InverseRoot() : inverse_root(deviation + (norm.epsilon >> norm.epsilon_bits), fraction);
  for (int64_t i = 0; i < row.outer; ++i) {
    const T* run = x + i * row.step;
    for (int64_t j = 0; j < row.inner; ++j) {
      const int64_t parameter = i * row.outer_parameters + j * row.inner_parameters;
      const int64_t quotient = rounded_shift((count * (run[j] - norm.zero) - sum) * root.inverse, root.shift);
      const int64_t scaled =
          rounded_shift(quotient * row.scales[parameter], norm.shift + kQuotientBits - kNormOffsetBits);
      const int64_t value = rounded_shift(scaled + row.offsets[parameter], kNormOffsetBits) + norm.stage.offset;
      y[i * row.step + j] = static_cast<T>(value < norm.stage.min   ? norm.stage.min
                                           : value > norm.stage.max ? norm.stage.max
                                                                    : value);
    }
  }
}

}  // namespace

bool require_norm_elements(KernelContext& context, const Tensor& x, const Tensor& y) {
  return require_dtype(context, x, x.dtype == DType::i16 ? DType::i16 : DType::i8, "the input is not int8 or int16") &&
         require_dtype(context, y, x.dtype, "input and output differ in dtype");
}

bool read_norm(KernelContext& context, Span<EValue*> args, DType dtype, Norm* norm) {
  const bool wide = dtype == DType::i16;
  const int32_t low = wide ? 0 : INT8_MIN, high = wide ? 0 : INT8_MAX, least = wide ? INT16_MIN : INT8_MIN,
                most = wide ? INT16_MAX : INT8_MAX;
  static constexpr char kZero[] = "a zero point is outside its dtype, or not 0 for int16";
  norm->epsilon = args[1]->integer;
  return read_int(context, *args[0], low, high, &norm->zero, kZero) &&
         require(context, norm->epsilon >= 0 && norm->epsilon <= kMaxNormEpsilon, "epsilon is outside [0, 2^60]") &&
         read_int(context, *args[2], 0, kMaxNormShift, &norm->shift, "shift is outside [0, 40]") &&
         read_int(context, *args[3], low, high, &norm->stage.offset, kZero) &&
         read_int(context, *args[4], least, most, &norm->stage.min, "activation_min is outside the dtype") &&
         read_int(context, *args[5], least, most, &norm->stage.max, "activation_max is outside the dtype") &&
         require(context, norm->stage.min <= norm->stage.max, "activation_min is greater than activation_max") &&
         (args.size() < 7 ||
          read_int(context, *args[6], 0, kMaxEpsilonBits, &norm->epsilon_bits, "epsilon_bits is outside [0, 32]"));
}

void write_normalized(const Norm& norm, const NormRow& row, const int8_t* x, int8_t* y) { write_row(norm, row, x, y); }
void write_normalized(const Norm& norm, const NormRow& row, const int16_t* x, int16_t* y) {
  write_row(norm, row, x, y);
}

}  // namespace wick::cortex_m
