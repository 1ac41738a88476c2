// Special functions: each element is computed in double.
#include "common/math/special.h"

#include <string.h>

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

void special_ndtr_out(KernelContext& context, Args args) {
  float_unary<kFloat>(context, operand(args, 0), out_tensor(args, 1), [](auto x) {
    return static_cast<decltype(x)>(math::erfc(static_cast<double>(x) * -0.70710678118654752440) / 2);
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

namespace {

uint64_t magnitude(int64_t x) { return x < 0 ? ~static_cast<uint64_t>(x) + 1 : static_cast<uint64_t>(x); }
uint64_t common_divisor(int64_t a, int64_t b) {
  uint64_t x = magnitude(a), y = magnitude(b);
  while (y != 0) {
    const uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return x;
}

/// The neighbour of `from` in the direction of `to`, in the bits of the type.
template <typename T, typename Bits>
T neighbour(T from, T to) {
  if (from != from || to != to) return from + to;
  if (from == to) return to;
  Bits bits;
  memcpy(&bits, &from, sizeof bits);
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  if (from == 0)
    bits = to > 0 ? 1 : kSign | 1;
  else
    bits += (from < to) == (from > 0) ? 1 : static_cast<Bits>(-1);
  memcpy(&from, &bits, sizeof bits);
  return from;
}

}  // namespace

void gcd_out(KernelContext& context, Args args) {
  binary<kInt>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2),
               [](int64_t a, int64_t b) { return static_cast<int64_t>(common_divisor(a, b)); });
}
void lcm_out(KernelContext& context, Args args) {
  binary<kInt>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2), [](int64_t a, int64_t b) {
    const uint64_t divisor = common_divisor(a, b);
    return divisor == 0 ? int64_t{0} : static_cast<int64_t>(magnitude(a) / divisor * magnitude(b));
  });
}
void nextafter_out(KernelContext& context, Args args) {
  binary<kFloat>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2), [](auto a, auto b) {
    if constexpr (sizeof a == sizeof(float)) {
      return neighbour<float, uint32_t>(a, b);
    } else {
      return neighbour<double, uint64_t>(a, b);
    }
  });
}

namespace {
/// x = mantissa * 2^exponent with |mantissa| in [0.5, 1); zero, infinity and NaN stay and have exponent 0.
double split_exponent(double x, int32_t* exponent) {
  *exponent = 0;
  if (x == 0 || !math::is_finite(x)) return x;
  double scaled = x;
  if (math::abs(x) < 0x1p-1000) {
    scaled *= 0x1p100;
    *exponent = -100;
  }
  const uint64_t bits = math::bits_of(scaled);
  *exponent += static_cast<int32_t>(bits >> 52 & 0x7ff) - 1022;
  return math::double_of((bits & ~(uint64_t{0x7ff} << 52)) | uint64_t{1022} << 52);
}
}  // namespace

/// (self; mantissa, exponent i32)
void frexp_out(KernelContext& context, Args args) {
  unary<kFloat>(context, operand(args, 0), out_tensor(args, 1), [](auto x) {
    int32_t exponent;
    return static_cast<decltype(x)>(split_exponent(static_cast<double>(x), &exponent));
  });
  auto exponent_of = [](auto x) {
    int32_t exponent;
    split_exponent(static_cast<double>(x), &exponent);
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
