// Kernel vocabulary: functions that the runtime's kernels compute in double, by the same text, and random numbers.
namespace wick_text {
namespace {

#define WICK_SPECIAL(name, function)                                                                    \
  WICK_FUNCTION f32 name(f32 x) { return static_cast<f32>(wick::math::function(static_cast<f64>(x))); } \
  WICK_FUNCTION f64 name(f64 x) { return wick::math::function(x); }
WICK_SPECIAL(digamma, digamma)
WICK_SPECIAL(erfinv, erfinv)
WICK_SPECIAL(ndtri, ndtri)
WICK_SPECIAL(erfcx, erfcx)
WICK_SPECIAL(log_ndtr, log_ndtr)
WICK_SPECIAL(i0, bessel_i0)
WICK_SPECIAL(i0e, scaled_bessel_i0)
WICK_SPECIAL(i1, bessel_i1)
WICK_SPECIAL(i1e, scaled_bessel_i1)
WICK_SPECIAL(modified_bessel_k0, bessel_k0)
WICK_SPECIAL(modified_bessel_k1, bessel_k1)
WICK_SPECIAL(scaled_modified_bessel_k0, scaled_bessel_k0)
WICK_SPECIAL(scaled_modified_bessel_k1, scaled_bessel_k1)
WICK_SPECIAL(bessel_j0, bessel_j0)
WICK_SPECIAL(bessel_j1, bessel_j1)
WICK_SPECIAL(bessel_y0, bessel_y0)
WICK_SPECIAL(bessel_y1, bessel_y1)
WICK_SPECIAL(spherical_bessel_j0, spherical_bessel_j0)
WICK_SPECIAL(airy_ai, airy_ai)
#undef WICK_SPECIAL
#define WICK_SPECIAL(name, function)                                                         \
  WICK_FUNCTION f32 name(f32 a, f32 b) {                                                     \
    return static_cast<f32>(wick::math::function(static_cast<f64>(a), static_cast<f64>(b))); \
  }                                                                                          \
  WICK_FUNCTION f64 name(f64 a, f64 b) { return wick::math::function(a, b); }
WICK_SPECIAL(zeta, zeta)
WICK_SPECIAL(igamma, gamma_lower)
WICK_SPECIAL(igammac, gamma_upper)
/// (order, x)
WICK_SPECIAL(polygamma, polygamma)
#undef WICK_SPECIAL
WICK_FUNCTION f64 ndtr(f64 x) { return (1 + wick::math::erf(x / 1.41421356237309504880)) * 0.5; }
WICK_FUNCTION f32 ndtr(f32 x) {
  return (1 + static_cast<f32>(wick::math::erf(static_cast<f64>(x / 1.41421356f)))) * 0.5f;
}

// Orthogonal polynomials of (x, degree), computed in the type of x.
#define WICK_POLYNOMIAL(name, type)                                                                            \
  WICK_FUNCTION f32 name(f32 x, f32 degree) { return wick::math::polynomial_at<wick::math::type>(x, degree); } \
  WICK_FUNCTION f64 name(f64 x, f64 degree) { return wick::math::polynomial_at<wick::math::type>(x, degree); }
WICK_POLYNOMIAL(chebyshev_polynomial_t, ChebyshevT)
WICK_POLYNOMIAL(chebyshev_polynomial_u, ChebyshevU)
WICK_POLYNOMIAL(chebyshev_polynomial_v, ChebyshevV)
WICK_POLYNOMIAL(chebyshev_polynomial_w, ChebyshevW)
WICK_POLYNOMIAL(shifted_chebyshev_polynomial_t, Shifted<wick::math::ChebyshevT>)
WICK_POLYNOMIAL(shifted_chebyshev_polynomial_u, Shifted<wick::math::ChebyshevU>)
WICK_POLYNOMIAL(shifted_chebyshev_polynomial_v, Shifted<wick::math::ChebyshevV>)
WICK_POLYNOMIAL(shifted_chebyshev_polynomial_w, Shifted<wick::math::ChebyshevW>)
WICK_POLYNOMIAL(hermite_polynomial_h, HermiteH)
WICK_POLYNOMIAL(hermite_polynomial_he, HermiteHe)
WICK_POLYNOMIAL(laguerre_polynomial_l, LaguerreL)
WICK_POLYNOMIAL(legendre_polynomial_p, LegendreP)
#undef WICK_POLYNOMIAL

/// Four words of the stream of `seed`, as common/random.h gives them to the runtime's kernels.
WICK_FUNCTION Words4 random_words(u64 seed, u64 counter) {
  const wick::RandomBlock block = wick::philox4x32(seed, counter);
  return {{block.words[0], block.words[1], block.words[2], block.words[3]}};
}
/// Word number `lane` of the four words of a block.
WICK_FUNCTION i64 random_word(i64 seed, i64 counter, i64 lane) {
  const wick::RandomBlock b = wick::philox4x32(static_cast<u64>(seed), static_cast<u64>(counter));
  return lane < 2 ? (lane == 0 ? b.words[0] : b.words[1]) : (lane == 2 ? b.words[2] : b.words[3]);
}
/// A number in [0, 1): a multiple of 2^-(32 - drop) from one word, or of 2^-53 from the first or second half of a
/// block.
WICK_FUNCTION f32 uniform_of_word(i64 word, int drop) {
  return static_cast<f32>(word >> drop) / static_cast<f32>(1u << (32 - drop));
}
WICK_FUNCTION f64 uniform_of_words(i64 seed, i64 counter, i64 half) {
  const wick::RandomBlock b = wick::philox4x32(static_cast<u64>(seed), static_cast<u64>(counter));
  return wick::uniform_double(half == 0 ? b.words[0] : b.words[2], half == 0 ? b.words[1] : b.words[3]);
}
/// Normal number `lane` of the four that a block gives.
WICK_FUNCTION f64 normal_of_words(i64 seed, i64 counter, i64 lane) {
  const wick::RandomBlock b = wick::philox4x32(static_cast<u64>(seed), static_cast<u64>(counter));
  return wick::normal_double(lane < 2 ? b.words[0] : b.words[2], lane < 2 ? b.words[1] : b.words[3], lane % 2);
}

// Numbers of other distributions. Each draws from a stream of its own, which its block identifies.
#define WICK_DISTRIBUTION(name)                                                 \
  WICK_FUNCTION f64 name(i64 seed, i64 block, f64 parameter) {                  \
    wick::RandomStream stream(static_cast<u64>(seed), static_cast<u64>(block)); \
    return wick::name(stream, parameter);                                       \
  }
WICK_DISTRIBUTION(draw_poisson)
WICK_DISTRIBUTION(draw_gamma)
#undef WICK_DISTRIBUTION
WICK_FUNCTION f64 draw_binomial(i64 seed, i64 block, f64 count, f64 chance) {
  wick::RandomStream stream(static_cast<u64>(seed), static_cast<u64>(block));
  return wick::draw_binomial(stream, count, chance);
}

}  // namespace
}  // namespace wick_text
