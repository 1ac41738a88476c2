// softmax(input, dim, input_zero_point, output_zero_point, multiplier, shift, diff_min): int8 along the dimension that
// is innermost in memory. The output has scale 1/256 and zero point -128. The input's zero point cancels out.
//   d = x - max of the row;  e(d) = exp(multiplier d 2^(shift - 31 - 26)), a number with no integer bits
//   y = round(256 e(d) / sum of e) - 128, where terms with d < diff_min count as 0
// in the fixed-point arithmetic of gemmlowp: 5 integer bits before exp, 12 bits of head room in the sum, and a
// reciprocal by three Newton steps. Source: arm_softmax_s8. Where the sum of a row is 2^28 or more (at least 512 equal
// maxima), CMSIS-NN's scalar code shifts by more than 31 bits, which C does not define; this is what its code for MVE
// computes. A sum beyond 31 bits is refused.
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {
namespace {

constexpr int32_t kSumShift = 12;
constexpr int32_t kOutputZeroPoint = -128;

/// value * 2^exponent, saturating.
int32_t saturating_shift_left(int32_t value, int32_t exponent) {
  const int64_t wide = static_cast<int64_t>(value) * (int64_t{1} << exponent);
  return wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : static_cast<int32_t>(wide);
}

/// exp(x) for x <= 0 with 5 integer bits; the result has none. x = -(k/4) + r with r in [-1/4, 0): a polynomial of
/// degree 4 around -1/8 for r, times exp(-2^i) for each bit i of k/4.
int32_t exp_of_negative(int32_t x) {
  constexpr int32_t kQuarterBits = 24, kExpOfEighth = 1895147668, kOneThird = 715827883;
  constexpr int32_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  if (x == 0) return INT32_MAX;
  const int32_t rest = (x & ((1 << kQuarterBits) - 1)) - (1 << kQuarterBits);
  const int32_t r = rest * 32 + (1 << 28);  // + 1/8, no integer bits
  const int32_t r2 = doubling_high_mul(r, r), r3 = doubling_high_mul(r2, r), r4 = doubling_high_mul(r2, r2);
  // r^4 / 24 + r^3 / 6 + r^2 / 2
  const int32_t inner = divide_by_power_of_two(r4, 2) + r3;
  const int32_t tail = divide_by_power_of_two(doubling_high_mul(inner, kOneThird) + r2, 1);
  int32_t result = kExpOfEighth + doubling_high_mul(kExpOfEighth, r + tail);
  const uint32_t bits = static_cast<uint32_t>(rest) - static_cast<uint32_t>(x);
  for (int32_t i = 0; i < 7; ++i) {
    if (bits >> (kQuarterBits + i) & 1u) result = doubling_high_mul(result, kFactors[i]);
  }
  return result;
}

/// 1 / (1 + x) for x in [0, 1), both without integer bits.
int32_t one_over_one_plus(int32_t x) {
  const int64_t sum = static_cast<int64_t>(x) + INT32_MAX;
  const int32_t half_denominator = static_cast<int32_t>((sum + 1) / 2);
  int32_t guess = 1515870810 + doubling_high_mul(half_denominator, -1010580540);  // 48/17 - 32/17 d
  for (int step = 0; step < 3; ++step) {
    const int32_t error = (1 << 29) - doubling_high_mul(half_denominator, guess);
    guess = wrapping_add(guess, saturating_shift_left(doubling_high_mul(guess, error), 2));
  }
  return saturating_shift_left(guess, 1);
}

struct Softmax {
  int32_t multiplier = 0, shift = 0, diff_min = 0;

  int32_t exp_of(int32_t difference) const {
    return exp_of_negative(doubling_high_mul(wrapping_shift_left(difference, shift), multiplier));
  }
  /// False if the sum exceeds 31 bits.
  bool row(const int8_t* x, int64_t count, int8_t* y) const {
    int8_t max = x[0];
    for (int64_t i = 1; i < count; ++i) max = x[i] > max ? x[i] : max;
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (x[i] - max >= diff_min) sum += divide_by_power_of_two(exp_of(x[i] - max), kSumShift);
    }
    if (sum > INT32_MAX) return false;
    // The maximum alone adds 2^19.
    const int32_t head_room = __builtin_clz(static_cast<uint32_t>(sum));
    const uint32_t scaled = (static_cast<uint32_t>(sum) << head_room) - (1u << 31);
    const int32_t inverse = one_over_one_plus(static_cast<int32_t>(scaled & INT32_MAX));
    const int32_t bits = kSumShift - head_room + 23;
    for (int64_t i = 0; i < count; ++i) {
      int32_t value = kOutputZeroPoint;
      if (x[i] - max >= diff_min && bits <= 31)
        value = wrapping_add(divide_by_power_of_two(doubling_high_mul(inverse, exp_of(x[i] - max)), bits), value);
      y[i] = static_cast<int8_t>(value < INT8_MIN ? INT8_MIN : value > INT8_MAX ? INT8_MAX : value);
    }
    return true;
  }
};

/// The size of the dimension `dim` if it is innermost in memory.
bool read_row(KernelContext& context, const Tensor& input, int64_t dim, int64_t* count) {
  const int64_t rank = input.rank;
  if (!require(context, rank > 0 && -rank <= dim && dim < rank, "dim is none of the input's")) return false;
  const size_t d = static_cast<size_t>(dim < 0 ? dim + rank : dim);
  *count = input.sizes[d];
  bool innermost = *count <= 1 || input.strides[d] == 1;
  return require(context, innermost || input.numel == 0, "dim is not the dimension that is innermost in memory");
}

}  // namespace

void softmax(KernelContext& context, Span<EValue*> args) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[7]->tensor;
  int64_t count = 0;
  int32_t ignored = 0;
  Softmax softmax;
  OutputStage scale;
  if (!require_int8(context, input, out) || !read_row(context, input, args[1]->integer, &count) ||
      !require(context, same_layout(input, out), "input and output differ in sizes or layout") ||
      !read_zero_point(context, *args[2], &ignored) ||
      !require(context, args[3]->integer == kOutputZeroPoint, "the zero point of the output is not -128") ||
      !read_requantization(context, args[4]->integer, args[5]->integer, &scale) ||
      !require(context, scale.multiplier >= 0 && scale.shift >= 0,
               "the multiplier or the shift of the input is negative") ||
      !read_int(context, *args[6], INT32_MIN, 0, &softmax.diff_min, "diff_min is positive or beyond 32 bits"))
    return;
  softmax.multiplier = scale.multiplier;
  softmax.shift = scale.shift;
  const int8_t* x = input.as<const int8_t>();
  int8_t* y = out.as<int8_t>();
  for (size_t at = 0; at < input.numel; at += static_cast<size_t>(count)) {
    if (!softmax.row(x + at, count, y + at))
      return context.fail(Error::InvalidArgument, "the sum of a row of softmax exceeds 31 bits");
  }
}

}  // namespace wick::cortex_m
