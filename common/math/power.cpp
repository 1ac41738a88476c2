#include "common/math/two_doubles.h"

namespace wick::math {
namespace {

/// 0: not an integer, 1: odd, 2: even.
int integer_parity(double y) {
  const double magnitude = abs(y);
  if (magnitude >= 0x1p53) return 2;
  if (trunc(magnitude) != magnitude) return 0;
  return (static_cast<uint64_t>(magnitude) & 1) ? 1 : 2;
}

/// |x|^y for |x| zero, infinite, or |y| infinite.
double limit_power(double magnitude, double y) {
  if (magnitude == 1) return 1;
  const bool grows = (magnitude > 1) == (y > 0);
  return grows ? kInfinity : 0;
}

}  // namespace

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (is_nan(x) || is_nan(y)) return x + y;
  const double magnitude = abs(x);
  const int parity = integer_parity(y);
  if (magnitude == 0 || is_inf(x) || is_inf(y)) {
    const double limit = limit_power(magnitude, y);
    return sign_bit(x) && parity == 1 ? -limit : limit;
  }
  if (x < 0 && parity == 0) return kNaN;
  double result;
  if (abs(y) > 0x1p70) {
    result = limit_power(magnitude, y);
  } else {
    const TwoDoubles log_x = log_accurate(magnitude);
    const TwoDoubles product = two_product(y, log_x.hi);
    const double lo = product.lo + y * log_x.lo;
    result = product.hi > 710 ? kInfinity : product.hi < -746 ? 0 : exp_of_sum(product.hi, lo);
  }
  return x < 0 && parity == 1 ? -result : result;
}

}  // namespace wick::math
