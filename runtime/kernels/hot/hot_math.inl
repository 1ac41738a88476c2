// Elementary functions of floats, computed in vectors of doubles without branches and rounded once: within 0.51 units in
// the last place. Polynomials are Chebyshev interpolants with a relative error below 2^-35 of the result. Arguments far
// outside the usual range go through the scalar functions of common/math. Included inside the namespace of one instruction set.

typedef double Wide __attribute__((vector_size(WICK_HOT_LANES * 8)));
typedef uint64_t WideBits __attribute__((vector_size(WICK_HOT_LANES * 8)));

WICK_HOT_INLINE Wide wide(double value) { return value - Wide{}; }
WICK_HOT_INLINE WideBits wide_bits(uint64_t value) { return value - WideBits{}; }
WICK_HOT_INLINE Wide widen(Vec v) { return __builtin_convertvector(v, Wide); }
WICK_HOT_INLINE Vec narrow(Wide v) { return __builtin_convertvector(v, Vec); }
WICK_HOT_INLINE WideBits bits_of(Wide v) {
  WideBits result;
  __builtin_memcpy(&result, &v, sizeof result);
  return result;
}
WICK_HOT_INLINE Wide from_bits(WideBits v) {
  Wide result;
  __builtin_memcpy(&result, &v, sizeof result);
  return result;
}
template <typename Mask>
WICK_HOT_INLINE Wide choose(Mask mask, Wide yes, Wide no) {
  WideBits lanes;
  __builtin_memcpy(&lanes, &mask, sizeof lanes);
  return from_bits((bits_of(yes) & lanes) | (bits_of(no) & ~lanes));
}
WICK_HOT_INLINE Wide magnitude_of(Wide v) { return from_bits(bits_of(v) & wide_bits(0x7fffffffffffffffu)); }
WICK_HOT_INLINE Wide signed_like(Wide magnitude, Wide sign) {
  return from_bits(bits_of(magnitude) | (bits_of(sign) & wide_bits(0x8000000000000000u)));
}
WICK_HOT_INLINE Wide square_root(Wide v) {
#if defined(__clang__) && __has_builtin(__builtin_elementwise_sqrt)
  return __builtin_elementwise_sqrt(v);
#else
  for (int64_t i = 0; i < kLanes; ++i) v[i] = __builtin_sqrt(v[i]);
  return v;
#endif
}
WICK_HOT_INLINE bool any_lane(IntVec mask) {
  uint64_t parts[kLanes / 2];
  __builtin_memcpy(parts, &mask, sizeof parts);
  uint64_t all = 0;
  for (uint64_t part : parts) all |= part;
  return all != 0;
}
/// c[0] + x * (c[1] + x * (c[2] ..)).
template <int N>
WICK_HOT_INLINE Wide polynomial(Wide x, const double (&c)[N]) {
  Wide p = wide(c[N - 1]);
#pragma GCC unroll 16
  for (int i = N - 2; i >= 0; --i) p = p * x + wide(c[i]);
  return p;
}

constexpr double kWideShift = 0x1.8p52;  // a sum with it holds the rounded integer in its low bits
constexpr double kLn2 = 0x1.62e42fefa39efp-1, kHalfPi = 0x1.921fb54442d18p0;
// (log(1 + f) - f) / f^2, sqrt(1/2) - 1 <= f <= sqrt(2) - 1.
constexpr double kLogPart[] = {-0.49999999999820705, 0.3333333332674602,   -0.25000000137028106, 0.20000001919978497,
                               -0.1666665070394823,  0.14285548798558848,  -0.12500610205369486, 0.11117336334911962,
                               -0.09992412115497984, 0.0897747491074773,   -0.08298787919108902, 0.08637944223751945,
                               -0.08455622952110388, 0.04401409864965619};
// (exp(r) - 1 - r) / r^2, |r| <= ln(2) / 2.
constexpr double kExpPart[] = {0.5, 0.16666666719028936, 0.04166666671901226, 0.00833329846980059, 0.001388885403566671,
                               0.00019899285575896282, 2.4859589834589056e-05};
// (sin(x) - x) / x^3 and (cos(x) - 1 + z / 2) / z^2 in z = x^2, |x| <= pi / 4.
constexpr double kSinPart[] = {-0.16666666663853044, 0.008333331873837089, -0.00019840086263755443, 2.7249864655139585e-06};
constexpr double kCosPart[] = {0.04166666666431933, -0.0013888887671288108, 2.480059998353171e-05, -2.7300908167996537e-07};
// (atan(x) - x) / x^3 in z = x^2, |x| <= tan(pi / 8).
constexpr double kAtanPart[] = {-0.33333333333266146, 0.19999999949822453,  -0.1428570810699188,  0.11110819586603747,
                                -0.09084099522493076, 0.07604778003555679,  -0.06027206570111165, 0.03295499114305327};
// (asin(x) - x) / x^3 in z = x^2, |x| <= 1 / 2.
constexpr double kAsinPart[] = {0.16666666665495086,  0.07500000598829049,  0.044642358484883196,  0.030397634130580702,
                                0.022132443623426794, 0.019306260869368045, 0.0054431851027481075, 0.02930523970533579};

/// x = 2^exponent (1 + fraction), 1 + fraction in [sqrt(1/2), sqrt(2)). x a positive normal double.
WICK_HOT_INLINE void split_wide(Wide x, Wide* exponent, Wide* fraction) {
  constexpr uint64_t kRootHalf = 0x3fe6a09e667f3bcdu, kOne = 0x3ff0000000000000u, kTwo52 = 0x4330000000000000u;
  const WideBits bits = bits_of(x) + wide_bits(kOne - kRootHalf);
  *exponent = from_bits((bits >> 52) | wide_bits(kTwo52)) - wide(0x1p52 + 1023);
  *fraction = from_bits((bits & wide_bits(0x000fffffffffffffu)) + wide_bits(kRootHalf)) - wide(1.0);
}
WICK_HOT_INLINE Wide log_of_fraction(Wide f) { return f + f * f * polynomial(f, kLogPart); }

/// exponent * per_octave + log(1 + fraction) * per_e; without the special cases.
WICK_HOT_INLINE Wide scaled_log(Wide x, double per_octave, double per_e) {
  Wide k, f;
  split_wide(x, &k, &f);
  return k * wide(per_octave) + log_of_fraction(f) * wide(per_e);
}
/// log(1 + x), x > -1 and finite.
WICK_HOT_INLINE Wide log1p_wide(Wide x) {
  Wide k, f;
  split_wide(wide(1.0) + x, &k, &f);
  const auto near = (x > wide(-0.29)) & (x < wide(0.41));
  f = choose(near, x, f);
  k = choose(near, wide(0.0), k);
  return signed_like(magnitude_of(k * wide(kLn2) + log_of_fraction(f)), x);
}
/// exp(x) - 1 = 2^n (1 + p) - 1, |x| <= 700; gives p and 2^n.
WICK_HOT_INLINE Wide exp_parts(Wide x, Wide* power) {
  const Wide shifted = x * wide(1.4426950408889634) + wide(kWideShift);
  const Wide r = x - (shifted - wide(kWideShift)) * wide(kLn2);
  *power = from_bits((bits_of(shifted) + wide_bits(1023)) << 52);
  return r + r * r * polynomial(r, kExpPart);
}
/// exp(x) - 1, |x| <= 700.
WICK_HOT_INLINE Wide expm1_wide(Wide x) {
  Wide power;
  const Wide p = exp_parts(x, &power);
  return power * p + (power - wide(1.0));
}
WICK_HOT_INLINE Wide exp_wide(Wide x) {
  Wide power;
  const Wide p = exp_parts(x, &power);
  return power + power * p;
}
WICK_HOT_INLINE Wide clamp_wide(Wide x, double lower, double upper) {
  x = choose(x < wide(lower), wide(lower), x);
  return choose(x > wide(upper), wide(upper), x);
}

/// The limits of a logarithm: -infinity at `zero`, NaN below it; infinity and NaN stay.
WICK_HOT_INLINE Vec log_limits(Vec result, Vec x, float zero) {
  result = select(x == splat(zero), splat(-__builtin_inff()), result);
  result = select(x < splat(zero), splat(__builtin_nanf("")), result);
  return select(x < splat(__builtin_inff()), result, x);
}
WICK_HOT_INLINE Vec log_vec(Vec x) { return log_limits(narrow(scaled_log(widen(x), kLn2, 1.0)), x, 0.0f); }
WICK_HOT_INLINE Vec log2_vec(Vec x) {
  return log_limits(narrow(scaled_log(widen(x), 1.0, 1.4426950408889634)), x, 0.0f);
}
WICK_HOT_INLINE Vec log10_vec(Vec x) {
  return log_limits(narrow(scaled_log(widen(x), 0.3010299956639812, 0.4342944819032518)), x, 0.0f);
}
WICK_HOT_INLINE Vec log1p_vec(Vec x) { return log_limits(narrow(log1p_wide(widen(x))), x, -1.0f); }
WICK_HOT_INLINE Vec expm1_vec(Vec x) {
  const Vec result = narrow(expm1_wide(clamp_wide(widen(x), -40.0, 90.0)));
  return select(x == splat(0.0f), x, result);
}
WICK_HOT_INLINE Vec sinh_vec(Vec x) {
  const Wide p = expm1_wide(clamp_wide(magnitude_of(widen(x)), 0.0, 100.0));
  return with_sign_of(narrow((p + p / (p + wide(1.0))) * wide(0.5)), x);
}
WICK_HOT_INLINE Vec cosh_vec(Vec x) {
  const Wide e = exp_wide(clamp_wide(magnitude_of(widen(x)), 0.0, 100.0));
  return narrow((e + wide(1.0) / e) * wide(0.5));
}
WICK_HOT_INLINE Vec asinh_vec(Vec x) {
  const Wide t = magnitude_of(widen(x)), square = t * t;
  const Vec result = narrow(log1p_wide(t + square / (wide(1.0) + square_root(square + wide(1.0)))));
  return select(absolute(x) < splat(__builtin_inff()), with_sign_of(result, x), x);
}
WICK_HOT_INLINE Vec acosh_vec(Vec x) {
  const Wide t = widen(x) - wide(1.0);
  const Vec result = narrow(log1p_wide(t + square_root(t * (t + wide(2.0)))));
  return select(x < splat(1.0f), splat(__builtin_nanf("")), select(x < splat(__builtin_inff()), result, x));
}
WICK_HOT_INLINE Vec atanh_vec(Vec x) {
  const Wide t = magnitude_of(widen(x));
  const Vec result = with_sign_of(narrow(wide(0.5) * log1p_wide(wide(2.0) * t / (wide(1.0) - t))), x);
  const Vec edge = with_sign_of(splat(__builtin_inff()), x);
  return select(absolute(x) < splat(1.0f), result,
                select(absolute(x) == splat(1.0f), edge, x + splat(__builtin_nanf(""))));
}

/// x = quadrant pi / 2 + rest, |rest| <= pi / 4; |x| <= kReducedLimit.
constexpr float kReducedLimit = 1e6f;
struct Angle {
  Wide rest;
  WideBits quadrant;
};
WICK_HOT_INLINE Angle reduce_angle(Wide x) {
  const Wide shifted = x * wide(0.6366197723675814) + wide(kWideShift);
  const Wide n = shifted - wide(kWideShift);
  return {(x - n * wide(0x1.921fb544p0)) - n * wide(0x1.0b4611a626331p-34), bits_of(shifted)};
}
WICK_HOT_INLINE Wide sin_of_rest(Wide x) {
  const Wide z = x * x;
  return x * (wide(1.0) + z * polynomial(z, kSinPart));
}
WICK_HOT_INLINE Wide cos_of_rest(Wide x) {
  const Wide z = x * x;
  return (wide(1.0) - wide(0.5) * z) + z * z * polynomial(z, kCosPart);
}
/// sin(x + shift pi / 2).
WICK_HOT_INLINE Vec sine(Vec x, uint64_t shift) {
  const Angle angle = reduce_angle(widen(x));
  const WideBits quadrant = angle.quadrant + wide_bits(shift);
  const Wide value = choose(wide_bits(0) - (quadrant & wide_bits(1)), cos_of_rest(angle.rest), sin_of_rest(angle.rest));
  return narrow(from_bits(bits_of(value) ^ ((quadrant & wide_bits(2)) << 62)));
}
WICK_HOT_INLINE Vec sin_near(Vec x) { return sine(x, 0); }
WICK_HOT_INLINE Vec cos_near(Vec x) { return sine(x, 1); }
WICK_HOT_INLINE Vec tan_near(Vec x) {
  const Angle angle = reduce_angle(widen(x));
  const Wide s = sin_of_rest(angle.rest), c = cos_of_rest(angle.rest);
  const WideBits odd = wide_bits(0) - (angle.quadrant & wide_bits(1));
  return narrow(choose(odd, -c, s) / choose(odd, s, c));
}
/// Near(x), and Far for the lanes that are too far out.
template <Vec (*Near)(Vec), double (*Far)(double)>
WICK_HOT_INLINE Vec periodic(Vec x) {
  Vec result = Near(x);
  if (any_lane(absolute(x) > splat(kReducedLimit))) {
    float from[kLanes], to[kLanes];
    store(from, x);
    store(to, result);
    for (int64_t i = 0; i < kLanes; ++i) {
      if (from[i] > kReducedLimit || from[i] < -kReducedLimit) to[i] = static_cast<float>(Far(static_cast<double>(from[i])));
    }
    result = load(to);
  }
  return result;
}

/// atan(t), t >= 0 (infinity too).
WICK_HOT_INLINE Wide atan_positive(Wide t) {
  const auto steep = t > wide(1.0);
  Wide u = choose(steep, wide(1.0) / t, t);
  const auto upper = u > wide(0.41421356237309503);
  u = choose(upper, (u - wide(1.0)) / (u + wide(1.0)), u);
  const Wide z = u * u;
  Wide angle = u * (wide(1.0) + z * polynomial(z, kAtanPart));
  angle = choose(upper, angle + wide(kHalfPi / 2), angle);
  return choose(steep, wide(kHalfPi) - angle, angle);
}
WICK_HOT_INLINE Vec atan_vec(Vec x) { return with_sign_of(narrow(atan_positive(magnitude_of(widen(x)))), x); }
/// asin(t), 0 <= t <= 1, or pi / 2 minus it.
WICK_HOT_INLINE Wide arc_positive(Wide t, bool sine) {
  const auto upper = t > wide(0.5);
  const Wide rest = (wide(1.0) - t) * wide(0.5);
  const Wide z = choose(upper, rest, t * t);
  const Wide u = choose(upper, square_root(rest), t);
  const Wide angle = u * (wide(1.0) + z * polynomial(z, kAsinPart));
  if (sine) return choose(upper, wide(kHalfPi) - (angle + angle), angle);
  return choose(upper, angle + angle, wide(kHalfPi) - angle);
}
WICK_HOT_INLINE Vec asin_vec(Vec x) { return with_sign_of(narrow(arc_positive(magnitude_of(widen(x)), true)), x); }
WICK_HOT_INLINE Vec acos_vec(Vec x) {
  const Wide t = widen(x), angle = arc_positive(magnitude_of(t), false);
  return narrow(choose(t < wide(0.0), wide(2 * kHalfPi) - angle, angle));
}

/// x^y. Lanes with a NaN or an infinite exponent go through the scalar function.
WICK_HOT_INLINE Vec power_vec(Vec x, Vec y) {
  const Wide base = magnitude_of(widen(x)), exponent = widen(y);
  Wide log2 = scaled_log(base, 1.0, 1.4426950408889634);
  log2 = choose(base == wide(0.0), wide(-1e60), log2);
  log2 = choose(base == wide(static_cast<double>(__builtin_inff())), wide(1e60), log2);
  const Wide t = clamp_wide(exponent * log2, -200.0, 200.0) * wide(kLn2);
  const Wide size = magnitude_of(exponent);
  const Wide shifted = size + wide(kWideShift);
  const auto integer = (size >= wide(16777216.0)) | ((shifted - wide(kWideShift)) == size);
  const auto small = size < wide(16777216.0);
  const WideBits parity = (bits_of(shifted) & wide_bits(1)) << 63;
  const Wide sign = from_bits(parity & bits_of(widen(x)));
  Wide result = exp_wide(t);
  result = choose(integer & small, signed_like(result, sign), result);
  const auto undefined = (widen(x) < wide(0.0)) & (base < wide(static_cast<double>(__builtin_inff()))) & ~integer;
  return narrow(choose(undefined, wide(__builtin_nan("")), result));
}
void power(const float* x, const float* y, float* out, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t left = count - i;
    const bool whole = left >= kLanes;
    const Vec base = whole ? load(x + i) : load_part(x + i, left, 1.0f);
    const Vec exponent = whole ? load(y + i) : load_part(y + i, left, 1.0f);
    Vec result = power_vec(base, exponent);
    if (any_lane(~((base == base) & (absolute(exponent) < splat(__builtin_inff()))))) {
      for (int64_t lane = 0; lane < kLanes; ++lane)
        result[lane] = static_cast<float>(math::pow(static_cast<double>(base[lane]), static_cast<double>(exponent[lane])));
    }
    whole ? store(out + i, result) : store_part(out + i, result, left);
  }
}
/// atan2(y, x). Lanes with a NaN, or with both zero or both infinite, go through the scalar function.
void atan2(const float* y, const float* x, float* out, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t left = count - i;
    const bool whole = left >= kLanes;
    const Vec up = whole ? load(y + i) : load_part(y + i, left, 1.0f);
    const Vec right = whole ? load(x + i) : load_part(x + i, left, 1.0f);
    const Wide angle = atan_positive(magnitude_of(widen(up)) / magnitude_of(widen(right)));
    Vec result = with_sign_of(narrow(choose(widen(right) < wide(0.0), wide(2 * kHalfPi) - angle, angle)), up);
    const Vec infinity = splat(__builtin_inff());
    const IntVec both_zero = (up == splat(0.0f)) & (right == splat(0.0f));
    if (any_lane(both_zero | ~((absolute(up) < infinity) & (absolute(right) < infinity)))) {
      for (int64_t lane = 0; lane < kLanes; ++lane)
        result[lane] = static_cast<float>(math::atan2(static_cast<double>(up[lane]), static_cast<double>(right[lane])));
    }
    whole ? store(out + i, result) : store_part(out + i, result, left);
  }
}

WICK_HOT_INLINE Vec gelu_tanh_vec(Vec x) {
  const Vec inner = splat(0.79788456f) * (x + splat(0.044715f) * (x * x * x));
  return splat(0.5f) * x * (splat(1.0f) + tanh_vec(inner));
}
WICK_HOT_INLINE Vec silu_vec(Vec x) { return x / (splat(1.0f) + exp_vec(-x)); }
/// log(1 + exp(x)); above 60 that is x.
WICK_HOT_INLINE Wide softplus_wide(Wide x) {
  return choose(x < wide(60.0), log1p_wide(exp_wide(clamp_wide(x, -200.0, 60.0))), x);
}
WICK_HOT_INLINE Vec softplus_vec(Vec x) { return narrow(softplus_wide(widen(x))); }
WICK_HOT_INLINE Vec log_sigmoid_vec(Vec x) { return narrow(-softplus_wide(-widen(x))); }
WICK_HOT_INLINE Vec mish_vec(Vec x) { return x * tanh_vec(softplus_vec(x)); }
