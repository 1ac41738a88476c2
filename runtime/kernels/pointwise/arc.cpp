// Inverse trigonometric and hyperbolic functions of real and complex numbers.
#include "runtime/kernels/pointwise/hot_unary.h"
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {
namespace {

struct Complex {
  double re, im;
};

constexpr double kHalfPi = 1.57079632679489661923, kPi = 3.14159265358979323846;

bool has_nan(Complex z) { return z.re != z.re || z.im != z.im; }

/// The principal root of a finite number.
Complex root(Complex z) {
  const double x = math::abs(z.re), y = math::abs(z.im), big = x > y ? x : y;
  if (big == 0) return {0, z.im};
  const int exponent = (static_cast<int>(math::bits_of(big) >> 52) - 1023) & ~1;
  const double a = math::scale_by_power_of_two(x, -exponent), b = math::scale_by_power_of_two(y, -exponent);
  const double large = math::scale_by_power_of_two(math::sqrt((math::sqrt(a * a + b * b) + a) / 2), exponent / 2);
  const double small = y / (2 * large);
  return z.re >= 0 ? Complex{large, math::copy_sign(small, z.im)} : Complex{small, math::copy_sign(large, z.im)};
}

/// re(r s) and im(conj(r) s), where r and s are square roots of 1 - z and 1 + z.
double real_of_product(Complex r, Complex s) { return r.re * s.re - r.im * s.im; }
double imag_of_quotient(Complex r, Complex s) { return r.re * s.im - r.im * s.re; }

// The finite cases: W. Kahan, "Branch cuts for complex elementary functions" (1987). The others: C11, annex G.6.
Complex complex_asinh(Complex z);

Complex complex_asin(Complex z) {  // -i asinh(i z)
  const Complex w = complex_asinh({-z.im, z.re});
  return {w.im, -w.re};
}

Complex complex_asinh(Complex z) {
  if (math::is_finite(z.re) && math::is_finite(z.im)) {  // i asin(-i z)
    const Complex r = root({1 - z.im, z.re}), s = root({1 + z.im, -z.re});
    return {math::copy_sign(math::asinh(imag_of_quotient(r, s)), z.re),
            math::copy_sign(math::atan2(z.im, real_of_product(r, s)), z.im)};
  }
  if (math::is_inf(z.re)) {
    return {z.re, z.im != z.im ? z.im : math::copy_sign(math::is_inf(z.im) ? kPi / 4 : 0, z.im)};
  }
  if (math::is_inf(z.im)) {
    return {math::copy_sign(math::kInfinity, z.re), z.re != z.re ? z.re : math::copy_sign(kHalfPi, z.im)};
  }
  return {math::kNaN, z.im == 0 ? z.im : math::kNaN};
}

Complex complex_acos(Complex z) {
  if (math::is_finite(z.re) && math::is_finite(z.im)) {
    const Complex r = root({1 - z.re, -z.im}), s = root({1 + z.re, z.im});
    return {2 * math::atan2(r.re, s.re), math::copy_sign(math::asinh(imag_of_quotient(s, r)), -z.im)};
  }
  if (math::is_inf(z.im)) {
    const double angle = math::is_inf(z.re) ? (z.re > 0 ? kPi / 4 : 3 * kPi / 4) : kHalfPi;
    return {z.re != z.re ? z.re : angle, -z.im};
  }
  if (math::is_inf(z.re) && z.im == z.im) return {z.re > 0 ? 0 : kPi, math::copy_sign(math::kInfinity, -z.im)};
  if (math::is_inf(z.re)) return {math::kNaN, -z.re};
  return {z.re == 0 ? kHalfPi : math::kNaN, math::kNaN};
}

Complex complex_acosh(Complex z) {  // i acos(z) or -i acos(z), whose real part is not negative
  const Complex w = complex_acos(z);
  return {math::abs(w.im), math::copy_sign(w.re, z.im)};
}

Complex complex_atanh(Complex z) {
  if (math::is_inf(z.re) || math::is_inf(z.im)) {
    return {math::copy_sign(0, z.re), z.im != z.im ? z.im : math::copy_sign(kHalfPi, z.im)};
  }
  if (has_nan(z)) return {z.re == 0 ? z.re : math::kNaN, math::kNaN};
  const double x = math::abs(z.re), y = math::abs(z.im);
  constexpr double kLarge = 1e150;  // above it squares overflow, and adding 1 changes nothing
  if (x > kLarge || y > kLarge) {
    const double ratio = x > y ? y / x : x / y;
    const double part = x > y ? 1 / x / (1 + ratio * ratio) : ratio / y / (1 + ratio * ratio);
    return {math::copy_sign(part, z.re), math::copy_sign(kHalfPi, z.im)};
  }
  const double distance = (1 - x) * (1 - x) + y * y;
  const double part = distance == 0 ? math::kInfinity : math::log1p(4 * x / distance) / 4;
  return {math::copy_sign(part, z.re), math::copy_sign(math::atan2(2 * y, (1 - x) * (1 + x) - y * y) / 2, z.im)};
}

Complex complex_atan(Complex z) {  // -i atanh(i z)
  const Complex w = complex_atanh({-z.im, z.re});
  return {w.im, -w.re};
}

}  // namespace

#define WICK_ARC(name)                                                                                          \
  namespace {                                                                                                   \
  struct name##_function {                                                                                      \
    float operator()(float x) const { return math::name##_f(x); }                                               \
    double operator()(double x) const { return math::name(x); }                                                 \
    template <typename T>                                                                                       \
    T operator()(T x) const {                                                                                   \
      using Part = typename T::value_type;                                                                      \
      const Complex w = complex_##name({static_cast<double>(x.real()), static_cast<double>(x.imag())});         \
      return T(static_cast<Part>(w.re), static_cast<Part>(w.im));                                               \
    }                                                                                                           \
  };                                                                                                            \
  }                                                                                                             \
  void name##_out(KernelContext& context, Args args) {                                                          \
    float_unary_map<kFloat | kComplex>(context, operand(args, 0), out_tensor(args, 1), hot(context.isa()).name, \
                                       name##_function{});                                                      \
  }
WICK_ARC(acos)
WICK_ARC(acosh)
WICK_ARC(asin)
WICK_ARC(asinh)
WICK_ARC(atan)
WICK_ARC(atanh)
#undef WICK_ARC

}  // namespace kernels
}  // namespace wick
