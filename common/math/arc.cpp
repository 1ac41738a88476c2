// Inverse trigonometric functions.
#include "common/math/math.h"
#include "common/math/polynomials.h"
#include "common/math/two_doubles.h"

namespace wick::math {
namespace {

constexpr double kPiLo = 1.2246467991473532e-16;

/// (asin(x) - x) / x in z = x^2.
double asin_tail(double z) { return z * horner(z, kAsin); }

/// sqrt(z) as a sum, z >= 0.
TwoDoubles sqrt_accurate(double z) {
  const double root = sqrt(z);
  if (root == 0) return {0, 0};
  const TwoDoubles square = two_product(root, root);
  return {root, ((z - square.hi) - square.lo) / (2 * root)};
}

}  // namespace

double asin(double x) {
  const double magnitude = abs(x);
  if (!(magnitude <= 1)) return is_nan(x) ? x : kNaN;
  if (magnitude < 0x1p-27) return x;
  if (magnitude <= 0.5) return x + x * asin_tail(x * x);
  // asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2))
  const double z = 0.5 * (1 - magnitude);
  const TwoDoubles root = sqrt_accurate(z);
  const double head = kHalfPiHi - 2 * root.hi;
  const double head_error = (kHalfPiHi - head) - 2 * root.hi;
  const double result = head + (head_error + kHalfPiLo - 2 * (root.lo + root.hi * asin_tail(z)));
  return copy_sign(result, x);
}

double acos(double x) {
  const double magnitude = abs(x);
  if (!(magnitude <= 1)) return is_nan(x) ? x : kNaN;
  if (magnitude <= 0.5) {
    const TwoDoubles head = fast_two_sum(kHalfPiHi, -x);
    return head.hi + (head.lo + kHalfPiLo - x * asin_tail(x * x));
  }
  const double z = 0.5 * (1 - magnitude);
  const TwoDoubles root = sqrt_accurate(z);
  const double tail = 2 * (root.lo + root.hi * asin_tail(z));
  if (x > 0) return 2 * root.hi + tail;
  const TwoDoubles head = fast_two_sum(kPi, -2 * root.hi);
  return head.hi + (head.lo + kPiLo - tail);
}

double atan(double x) {
  if (is_nan(x)) return x;
  const double magnitude = abs(x);
  if (magnitude < 0x1p-27) return x;
  // atan(x) = atan(c) + atan((x - c) / (1 + c x)), c the nearest of 0, 1/2, 1, 2, infinity.
  double t = magnitude, hi = 0, lo = 0;
  if (magnitude > 3.6) {
    t = magnitude > 0x1p60 ? 0 : -1 / magnitude;
    hi = kHalfPiHi;
    lo = kHalfPiLo;
  } else if (magnitude > 1.42) {
    t = (magnitude - 2) / (1 + 2 * magnitude);
    hi = 1.1071487177940904;
    lo = 9.40447137356638e-17;
  } else if (magnitude > 0.72) {
    t = (magnitude - 1) / (1 + magnitude);
    hi = 0.7853981633974483;
    lo = 3.061616997868383e-17;
  } else if (magnitude > 0.25) {
    t = (magnitude - 0.5) / (1 + 0.5 * magnitude);
    hi = 0.4636476090008061;
    lo = 2.2698777452961687e-17;
  }
  const double z = t * t;
  const double result = hi + (t + (lo + t * z * horner(z, kAtan)));
  return copy_sign(result, x);
}

double atan2(double y, double x) {
  if (is_nan(x) || is_nan(y)) return x + y;
  const double ay = abs(y), ax = abs(x);
  double angle;  // of (ax, ay)
  if (ay == 0) {
    angle = 0;
  } else if (ax == 0 || (is_inf(ay) && !is_inf(ax))) {
    angle = kHalfPiHi;
  } else if (is_inf(ax)) {
    angle = is_inf(ay) ? 0.7853981633974483 : 0;
  } else {
    const int gap = static_cast<int>(bits_of(ay) >> 52) - static_cast<int>(bits_of(ax) >> 52);
    // Far from the axis y the quotient may overflow or lose bits to subnormals; the angle is then at the limit.
    angle = gap > 64 ? kHalfPiHi : gap < -64 && sign_bit(x) ? 0 : atan(ay / ax);
  }
  if (sign_bit(x)) angle = kPi - (angle - kPiLo);
  return copy_sign(angle, y);
}

}  // namespace wick::math
