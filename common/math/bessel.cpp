// Bessel functions: power series and recurrences for small arguments, Hankel's asymptotic series for large ones.
#include "common/math/math.h"
#include "common/math/special.h"

namespace wick::math {
namespace {

constexpr double kEuler = 0.57721566490153286061;

/// I_order(x) exp(-x) for x >= 0.
double scaled_i(int order, double x) {
  if (x != x) return x;
  if (x < 30) {
    const double quarter = x * x / 4;
    double term = order == 0 ? 1 : x / 2, sum = term;
    for (int k = 1; k < 200 && term > sum * 1e-18; ++k) sum += term *= quarter / (static_cast<double>(k) * (k + order));
    return sum * exp(-x);
  }
  if (x == kInfinity) return 0;
  const double mu = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 30; ++k) {
    const double odd = 2 * k - 1;
    sum += term *= -(mu - odd * odd) / (8 * x * k);
  }
  return sum / sqrt(2 * kPi * x);
}

/// K_order(x) exp(x): the trapezoidal rule on exp(-x (cosh t - 1)) cosh(order t), which converges exponentially.
double scaled_k(int order, double x) {
  if (!(x >= 0)) return kNaN;
  if (x == 0) return kInfinity;
  if (x == kInfinity) return 0;
  const double step = x > 30 ? 0.7 / sqrt(x) : 0.125;
  double sum = 0.5;
  for (int i = 1; i < 7000; ++i) {
    const double t = i * step, half = sinh(t / 2), decay = exp(-2 * x * half * half);
    const double term = order == 0 ? decay : decay * cosh(t);
    sum += term;
    if (term < sum * 1e-19) break;
  }
  return sum * step;
}

/// J_0, J_1 and sums by downward recurrence from an order far above x, normalised by J_0 + 2 J_2 + 2 J_4 + .. = 1.
struct Downward {
  double j0 = 0, j1 = 0;
  double even = 0, odd = 0;  // sums over k > 0 of (-1)^k J_2k / k and of (-1)^k (2k + 1) / (k (k + 1)) J_2k+1
};
Downward recurrence(double x) {
  Downward result;
  double above = 0, here = 1e-280, norm = 0;
  for (int n = 110; n > 0; --n) {
    const double below = 2 * n / x * here - above;
    above = here;
    here = below;
    if (abs(here) > 1e200) {
      above *= 1e-200;
      here *= 1e-200;
      norm *= 1e-200;
      result.even *= 1e-200;
      result.odd *= 1e-200;
    }
    const int k = (n - 1) / 2;  // `here` has order n - 1
    const double sign = k % 2 ? -1 : 1;
    const bool is_even = (n - 1) % 2 == 0;
    if (is_even) norm += k == 0 ? here : 2 * here;
    if (k == 0) continue;
    if (is_even)
      result.even += sign * here / k;
    else
      result.odd += sign * (2 * k + 1) / (static_cast<double>(k) * (k + 1)) * here;
  }
  return {here / norm, above / norm, result.even / norm, result.odd / norm};
}

/// Hankel's series: J = sqrt(2 / (pi x)) (p cos(a) - q sin(a)), a = x - (order / 2 + 1 / 4) pi.
struct Hankel {
  double p = 1, q = 0, cosine = 0, sine = 0, scale = 0;
};
Hankel hankel(int order, double x) {
  Hankel h;
  const double mu = 4.0 * order * order;
  double term = 1;
  for (int k = 1; k < 40; ++k) {
    const double odd = 2 * k - 1, next = term * (mu - odd * odd) / (8 * x * k);
    if (abs(next) > abs(term) && k > 2) break;
    term = next;
    (k % 2 == 1 ? h.q : h.p) += k % 4 == 2 || k % 4 == 3 ? -term : term;
  }
  const double root = 0.70710678118654752440, c = cos(x) * root, s = sin(x) * root;
  h.cosine = order == 0 ? c + s : s - c;
  h.sine = order == 0 ? s - c : -(c + s);
  h.scale = sqrt(2 / (kPi * x));
  return h;
}
constexpr double kLarge = 25;

double bessel_j(int order, double x) {
  if (x == kInfinity) return 0;
  if (x > kLarge) {
    const Hankel h = hankel(order, x);
    return h.scale * (h.p * h.cosine - h.q * h.sine);
  }
  if (x < 1e-8) return order == 0 ? 1 : x / 2;
  const Downward j = recurrence(x);
  return order == 0 ? j.j0 : j.j1;
}

/// Neumann's series over the same recurrence.
double bessel_y(int order, double x) {
  if (!(x >= 0)) return kNaN;
  if (x == 0) return -kInfinity;
  if (x == kInfinity) return 0;
  if (x > kLarge) {
    const Hankel h = hankel(order, x);
    return h.scale * (h.p * h.sine + h.q * h.cosine);
  }
  const double logarithm = log(x / 2) + kEuler;
  if (x < 1e-8) return order == 0 ? 2 / kPi * logarithm : -2 / (kPi * x);
  const Downward j = recurrence(x);
  if (order == 0) return 2 / kPi * (logarithm * j.j0 - 2 * j.even);
  return -2 / (kPi * x) * j.j0 + 2 / kPi * ((logarithm - 1) * j.j1 - j.odd);
}

}  // namespace

double scaled_bessel_i0(double x) { return scaled_i(0, abs(x)); }
double scaled_bessel_i1(double x) { return is_nan(x) ? x : copy_sign(scaled_i(1, abs(x)), x); }
double bessel_i0(double x) {
  const double half = exp(abs(x) / 2);
  return is_inf(x) ? kInfinity : scaled_bessel_i0(x) * half * half;
}
double bessel_i1(double x) {
  const double half = exp(abs(x) / 2);
  return is_inf(x) ? x : scaled_bessel_i1(x) * half * half;
}
double scaled_bessel_k0(double x) { return scaled_k(0, x); }
double scaled_bessel_k1(double x) { return scaled_k(1, x); }
double bessel_k0(double x) { return scaled_k(0, x) * (x == 0 ? 1 : exp(-x)); }
double bessel_k1(double x) { return scaled_k(1, x) * (x == 0 ? 1 : exp(-x)); }
double bessel_j0(double x) { return is_nan(x) ? x : bessel_j(0, abs(x)); }
double bessel_j1(double x) { return is_nan(x) ? x : x < 0 ? -bessel_j(1, -x) : bessel_j(1, x); }
double bessel_y0(double x) { return bessel_y(0, x); }
double bessel_y1(double x) { return bessel_y(1, x); }
double spherical_bessel_j0(double x) {
  if (is_inf(x)) return 0;
  return abs(x) < 1e-4 ? 1 - x * x / 6 : sin(x) / x;
}

}  // namespace wick::math
