#include "backends/cortex_m/kernels/softmax/softmax.h"

namespace wick::cortex_m {
namespace {

/// value * 2^exponent, saturating.
int32_t saturating_shift_left(int32_t value, int32_t exponent) {
  const int64_t wide = static_cast<int64_t>(value) * (int64_t{1} << exponent);
  return wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : static_cast<int32_t>(wide);
}

/// The size of dimension `dim`, which must be innermost in memory.
bool read_row(KernelContext& context, const Tensor& input, int64_t dim, int64_t* count) {
  const int64_t rank = input.rank;
  if (!require(context, rank > 0 && -rank <= dim && dim < rank, "dim is none of the input's")) return false;
  const size_t d = static_cast<size_t>(dim < 0 ? dim + rank : dim);
  *count = input.sizes[d];
  bool innermost = *count <= 1 || input.strides[d] == 1;
  return require(context, innermost || input.numel == 0, "dim is not the dimension that is innermost in memory");
}

}  // namespace

// x = -(k/4) + r with r in [-1/4, 0): a polynomial of degree 4 around -1/8 for r, times exp(-2^i) for each bit i of
// k/4.
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

SoftmaxScale scale_of_sum(int32_t sum) {
  const int32_t head_room = __builtin_clz(static_cast<uint32_t>(sum));
  const uint32_t scaled = (static_cast<uint32_t>(sum) << head_room) - (1u << 31);
  return {one_over_one_plus(static_cast<int32_t>(scaled & INT32_MAX)), kSoftmaxSumShift - head_room + 23};
}

bool read_softmax(KernelContext& context, Span<EValue*> args, Softmax* softmax) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[7]->tensor;
  int32_t ignored = 0;
  OutputStage scale;
  settle_batch(input, out);
  if (!require_int8(context, input, out) || !read_row(context, input, args[1]->integer, &softmax->count) ||
      !require(context, same_layout(input, out), "input and output differ in sizes or layout") ||
      !read_zero_point(context, *args[2], &ignored) ||
      !require(context, args[3]->integer == kSoftmaxZeroPoint, "the zero point of the output is not -128") ||
      !read_requantization(context, args[4]->integer, args[5]->integer, &scale) ||
      !require(context, scale.multiplier >= 0 && scale.shift >= 0,
               "the multiplier or the shift of the input is negative") ||
      !read_int(context, *args[6], INT32_MIN, 0, &softmax->diff_min, "diff_min is positive or beyond 32 bits"))
    return false;
  softmax->multiplier = scale.multiplier;
  softmax->shift = scale.shift;
  softmax->total = input.numel;
  softmax->x = input.as<const int8_t>();
  softmax->y = out.as<int8_t>();
  return true;
}

}  // namespace wick::cortex_m
