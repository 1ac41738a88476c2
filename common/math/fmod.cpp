#include "common/math/math.h"

namespace wick::math {

double fmod(double x, double y) {
  if (is_nan(x) || is_nan(y) || is_inf(x) || y == 0) return kNaN;
  const double divisor = abs(y);
  double rest = abs(x);
  if (divisor == kInfinity) return x;
  // Long division: subtract the largest power-of-two multiple of the divisor that fits. It is more than half of the
  // rest, so each difference is exact.
  while (rest >= divisor) {
    const int shift = static_cast<int>(bits_of(rest) >> 52) - static_cast<int>(bits_of(divisor) >> 52);
    double multiple = scale_by_power_of_two(divisor, shift > 0 ? shift - 1 : 0);
    while (2 * multiple <= rest) multiple *= 2;
    rest -= multiple;
  }
  return copy_sign(rest, x);
}

}  // namespace wick::math
