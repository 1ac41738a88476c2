#include "common/math/math.h"
#include "common/math/polynomials.h"
#include "common/math/two_doubles.h"

namespace wick::math {
namespace {

/// 2 / pi, 32 bits a word, the first word holds the bits after the binary point.
constexpr uint32_t kTwoOverPi[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
                                   0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
                                   0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b,
                                   0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
                                   0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1,
                                   0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d};
constexpr TwoDoubles kHalfPi = {kHalfPiHi, kHalfPiLo};

/// x = quadrant * pi/2 + (hi + lo), |hi| <= pi/4.
struct Reduced {
  int quadrant;
  double hi, lo;
};

/// |x| below 2^20: pi/2 in three pieces of 33 bits and a tail, so each product with the quadrant is exact.
Reduced reduce_small(double x) {
  const double n = round_even(x * 0.6366197723675814);
  const TwoDoubles first = two_sum(x - n * 0x1.921fb544p+0, -(n * 0x1.0b4611a6p-34));
  const TwoDoubles second = two_sum(first.hi, -(n * 0x1.3198a2ep-69));
  const double tail = first.lo + second.lo - n * 0x1.b839a252049c1p-104;
  const TwoDoubles r = fast_two_sum(second.hi, tail);
  return {static_cast<int>(static_cast<int64_t>(n) & 3), r.hi, r.lo};
}

/// Any finite x: multiplies the 53-bit integer of x with the bits of 2/pi that decide the quadrant and the next 158
/// bits. Source: Payne and Hanek 1983.
Reduced reduce_large(double x) {
  const uint64_t bits = bits_of(x);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1075;  // |x| = mantissa * 2^exponent
  const uint64_t mantissa = (bits & 0x000fffffffffffffu) | 0x0010000000000000u;
  // Drop whole multiples of 4 quadrants: start at the word that holds bits just above weight 2^(2 - exponent).
  const int first_bit = exponent > 2 + 64 ? exponent - 2 - 64 : 0;
  const int word = first_bit / 32;
  uint32_t chunk[7];
  for (int i = 0; i < 7; ++i) chunk[i] = kTwoOverPi[word + i];
  // product = mantissa * chunk, most significant word first; weight of chunk's first bit is 2^(-32 * word - 1).
  uint32_t product[9] = {};
  for (int half = 0; half < 2; ++half) {
    const uint64_t factor = half == 0 ? (mantissa & 0xffffffffu) : (mantissa >> 32);
    uint64_t carry = 0;
    for (int i = 6; i >= 0; --i) {
      const uint64_t sum = factor * chunk[i] + product[i + 2 - half] + carry;
      product[i + 2 - half] = static_cast<uint32_t>(sum);
      carry = sum >> 32;
    }
    product[1 - half] = static_cast<uint32_t>(product[1 - half] + carry);
  }
  // The binary point lies `point` bits after the first bit of product.
  const int point = 64 - 32 * word + exponent;
  auto bits_at = [&](int position) {  // 32 bits from `position` on
    uint64_t pair = 0;
    const int index = position / 32;
    if (index >= 0 && index < 9) pair = static_cast<uint64_t>(product[index]) << 32;
    if (index + 1 >= 0 && index + 1 < 9) pair |= product[index + 1];
    return static_cast<uint32_t>((pair << (position % 32)) >> 32);
  };
  int quadrant = static_cast<int>(bits_at(point - 2) >> 30);
  uint32_t fraction[4];
  for (int i = 0; i < 4; ++i) fraction[i] = bits_at(point + 32 * i);
  const bool negate = (fraction[0] >> 31) != 0;  // above one half: take the next quadrant and a negative rest
  if (negate) {
    ++quadrant;
    for (uint32_t& part : fraction) part = ~part;
  }
  double hi = 0, lo = 0;
  const double scales[4] = {0x1p-32, 0x1p-64, 0x1p-96, 0x1p-128};
  for (int i = 3; i >= 0; --i) {
    const TwoDoubles sum = two_sum(fraction[i] * scales[i], hi);
    hi = sum.hi;
    lo += sum.lo;
  }
  const TwoDoubles angle = multiply(fast_two_sum(hi, lo), kHalfPi);
  const bool negative = negate != sign_bit(x);
  return {(sign_bit(x) ? -quadrant : quadrant) & 3, negative ? -angle.hi : angle.hi, negative ? -angle.lo : angle.lo};
}

Reduced reduce(double x) {
  if (abs(x) <= 0.7853981633974483) return {0, x, 0};
  return abs(x) < 0x1p20 ? reduce_small(x) : reduce_large(x);
}

double sin_kernel(double x, double lo) {
  const double z = x * x;
  return x + (z * x * horner(z, kSin) + lo * (1 - 0.5 * z));
}

double cos_kernel(double x, double lo) {
  const double z = x * x, half = 0.5 * z, head = 1 - half;
  return head + (((1 - head) - half) + (z * z * horner(z, kCos) - x * lo));
}

}  // namespace

double sin(double x) {
  if (!is_finite(x)) return is_nan(x) ? x : kNaN;
  if (abs(x) < 0x1p-27) return x;
  const Reduced r = reduce(x);
  const double value = (r.quadrant & 1) ? cos_kernel(r.hi, r.lo) : sin_kernel(r.hi, r.lo);
  return (r.quadrant & 2) ? -value : value;
}

double cos(double x) {
  if (!is_finite(x)) return is_nan(x) ? x : kNaN;
  const Reduced r = reduce(x);
  const double value = (r.quadrant & 1) ? sin_kernel(r.hi, r.lo) : cos_kernel(r.hi, r.lo);
  return ((r.quadrant + 1) & 2) ? -value : value;
}

double tan(double x) {
  if (!is_finite(x)) return is_nan(x) ? x : kNaN;
  if (abs(x) < 0x1p-27) return x;
  const Reduced r = reduce(x);
  const double s = sin_kernel(r.hi, r.lo), c = cos_kernel(r.hi, r.lo);
  return (r.quadrant & 1) ? -c / s : s / c;
}

}  // namespace wick::math
