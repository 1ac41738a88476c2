// Special functions: each element is computed in double.
#include "common/math/special.h"

#include "common/math/arithmetic.h"
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {

#define WICK_SPECIAL_UNARY(name, function)                                                                        \
  void name##_out(KernelContext& context, Args args) {                                                            \
    float_unary<kFloat>(context, operand(args, 0), out_tensor(args, 1),                                           \
                        [](auto x) { return static_cast<decltype(x)>(math::function(static_cast<double>(x))); }); \
  }
WICK_SPECIAL_UNARY(erfinv, erfinv)
WICK_SPECIAL_UNARY(special_ndtri, ndtri)
WICK_SPECIAL_UNARY(special_erfcx, erfcx)
WICK_SPECIAL_UNARY(special_log_ndtr, log_ndtr)
WICK_SPECIAL_UNARY(i0, bessel_i0)
WICK_SPECIAL_UNARY(special_i0e, scaled_bessel_i0)
WICK_SPECIAL_UNARY(special_i1, bessel_i1)
WICK_SPECIAL_UNARY(special_i1e, scaled_bessel_i1)
WICK_SPECIAL_UNARY(special_modified_bessel_k0, bessel_k0)
WICK_SPECIAL_UNARY(special_modified_bessel_k1, bessel_k1)
WICK_SPECIAL_UNARY(special_scaled_modified_bessel_k0, scaled_bessel_k0)
WICK_SPECIAL_UNARY(special_scaled_modified_bessel_k1, scaled_bessel_k1)
WICK_SPECIAL_UNARY(special_bessel_j0, bessel_j0)
WICK_SPECIAL_UNARY(special_bessel_j1, bessel_j1)
WICK_SPECIAL_UNARY(special_bessel_y0, bessel_y0)
WICK_SPECIAL_UNARY(special_bessel_y1, bessel_y1)
WICK_SPECIAL_UNARY(special_spherical_bessel_j0, spherical_bessel_j0)
#undef WICK_SPECIAL_UNARY

#define WICK_SPECIAL_BINARY(name, function)                                                                     \
  void name##_out(KernelContext& context, Args args) {                                                          \
    float_binary<kFloat>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2), [](auto a, auto b) { \
      return static_cast<decltype(a)>(math::function(static_cast<double>(a), static_cast<double>(b)));          \
    });                                                                                                         \
  }
WICK_SPECIAL_BINARY(special_zeta, zeta)
WICK_SPECIAL_BINARY(igamma, gamma_lower)
WICK_SPECIAL_BINARY(igammac, gamma_upper)
#undef WICK_SPECIAL_BINARY

/// As in eager, no digits remain where erf(x / sqrt(2)) is -1.
void special_ndtr_out(KernelContext& context, Args args) {
  float_unary<kFloat>(context, operand(args, 0), out_tensor(args, 1), [](auto x) {
    using T = decltype(x);
    const T scaled = x / static_cast<T>(1.41421356237309504880);
    return (1 + static_cast<T>(math::erf(static_cast<double>(scaled)))) * static_cast<T>(0.5);
  });
}

/// (n, self; out)
void polygamma_out(KernelContext& context, Args args) {
  const int64_t order = args[0]->integer;
  if (order < 0) return context.fail(Error::InvalidArgument, "polygamma: the order is negative");
  float_unary<kFloat>(context, operand(args, 1), out_tensor(args, 2), [order](auto x) {
    return static_cast<decltype(x)>(math::polygamma(static_cast<double>(order), static_cast<double>(x)));
  });
}

void gcd_out(KernelContext& context, Args args) {
  binary<kInt>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2),
               [](int64_t a, int64_t b) { return static_cast<int64_t>(math::greatest_common_divisor(a, b)); });
}
void lcm_out(KernelContext& context, Args args) {
  binary<kInt>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2),
               [](int64_t a, int64_t b) { return math::least_common_multiple(a, b); });
}
void nextafter_out(KernelContext& context, Args args) {
  binary<kFloat>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2),
                 [](auto a, auto b) { return math::next_after(a, b); });
}

/// (self; mantissa, exponent i32)
void frexp_out(KernelContext& context, Args args) {
  unary<kFloat>(context, operand(args, 0), out_tensor(args, 1), [](auto x) {
    int32_t exponent;
    return static_cast<decltype(x)>(math::split_exponent(static_cast<double>(x), &exponent));
  });
  auto exponent_of = [](auto x) {
    int32_t exponent;
    math::split_exponent(static_cast<double>(x), &exponent);
    return static_cast<int64_t>(exponent);
  };
  if (!context.ok()) return;
  if (tensor(args, 0).dtype == DType::f64)
    elementwise<int64_t, double>(context, exponent_of, {operand(args, 0)}, out_tensor(args, 2));
  else
    elementwise<int64_t, float>(context, exponent_of, {operand(args, 0)}, out_tensor(args, 2));
}

}  // namespace kernels
}  // namespace wick
