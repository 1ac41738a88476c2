#include "common/math/math.h"
#include "common/math/polynomials.h"
#include "common/math/two_doubles.h"

namespace wick::math {
namespace {

/// erfc(x), x >= 0.47.
double erfc_positive(double x) {
  if (x > 27.3) return 0;
  double scaled;  // exp(x^2) erfc(x)
  if (x < 1) {
    scaled = horner(x - 0.75, kErfcx0);
  } else if (x < 2) {
    scaled = horner(x - 1.5, kErfcx1);
  } else if (x < 4) {
    scaled = horner(x - 3, kErfcx2);
  } else {
    scaled = horner(1 / (x * x), kErfcxTail) / x;
  }
  const TwoDoubles square = two_product(x, x);
  if (square.hi < 700) return exp_of_sum(-square.hi, -square.lo) * scaled;
  // Multiplied by 2^204 before the result becomes subnormal.
  const TwoDoubles shifted = two_sum(141.40202483422885, -square.hi);
  return scale_by_power_of_two(exp_of_sum(shifted.hi, shifted.lo - square.lo - 1.081226684450574e-14) * scaled, -204);
}

}  // namespace

double erf(double x) {
  const double magnitude = abs(x);
  if (is_nan(x)) return x;
  if (magnitude < 1) return x * horner(x * x, kErf);
  return copy_sign(magnitude > 6 ? 1 : 1 - erfc_positive(magnitude), x);
}

double erfc(double x) {
  if (is_nan(x)) return x;
  if (abs(x) < 0.47) return 1 - x * horner(x * x, kErf);
  if (x > 0) return erfc_positive(x);
  return x < -6 ? 2 : 2 - erfc_positive(-x);
}

}  // namespace wick::math
