// Vectors of WICK_HOT_LANES floats in the compiler's vector extension. Included inside the namespace of one instruction set.

constexpr int64_t kLanes = WICK_HOT_LANES;
typedef float Vec __attribute__((vector_size(WICK_HOT_LANES * 4)));
typedef int32_t IntVec __attribute__((vector_size(WICK_HOT_LANES * 4)));

#define WICK_HOT_INLINE inline __attribute__((always_inline))

WICK_HOT_INLINE Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
WICK_HOT_INLINE void store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }
WICK_HOT_INLINE Vec splat(float value) { return value - Vec{}; }
WICK_HOT_INLINE IntVec splat_int(int32_t value) { return value - IntVec{}; }
/// The first `count` floats, the rest `fill`.
WICK_HOT_INLINE Vec load_part(const float* p, int64_t count, float fill) {
  float lanes[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) lanes[i] = i < count ? p[i] : fill;
  return load(lanes);
}
WICK_HOT_INLINE void store_part(float* p, Vec v, int64_t count) {
  float lanes[kLanes];
  store(lanes, v);
  for (int64_t i = 0; i < count; ++i) p[i] = lanes[i];
}
WICK_HOT_INLINE Vec as_float(IntVec v) {
  Vec result;
  __builtin_memcpy(&result, &v, sizeof result);
  return result;
}
WICK_HOT_INLINE IntVec as_int(Vec v) {
  IntVec result;
  __builtin_memcpy(&result, &v, sizeof result);
  return result;
}
/// Lanes of `yes` where mask is all ones, else of `no`.
WICK_HOT_INLINE Vec select(IntVec mask, Vec yes, Vec no) { return as_float((as_int(yes) & mask) | (as_int(no) & ~mask)); }
WICK_HOT_INLINE Vec absolute(Vec v) { return as_float(as_int(v) & splat_int(0x7fffffff)); }
WICK_HOT_INLINE Vec with_sign_of(Vec magnitude, Vec sign) {
  return as_float(as_int(magnitude) | (as_int(sign) & splat_int(INT32_MIN)));
}
/// Adds the lanes pairwise in a fixed tree.
WICK_HOT_INLINE float sum_lanes(Vec v) {
  float lanes[kLanes];
  store(lanes, v);
  for (int64_t width = kLanes / 2; width > 0; width /= 2)
    for (int64_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  return lanes[0];
}

/// e^x; 0 below -104, infinity above 89, NaN for NaN. Cody-Waite reduction to [-ln2/2, ln2/2] and a polynomial.
WICK_HOT_INLINE Vec exp_vec(Vec x) {
  x = select(x < splat(-104.0f), splat(-104.0f), x);
  x = select(x > splat(89.0f), splat(89.0f), x);
  const Vec magic = splat(12582912.0f);  // 1.5 * 2^23: the sum holds round(x / ln2) in its low bits
  const Vec shifted = x * splat(1.44269504f) + magic;
  const Vec n = shifted - magic;
  const IntVec power = as_int(shifted) - as_int(magic);
  const Vec r = (x - n * splat(0.693145752f)) - n * splat(1.42860677e-6f);
  Vec p = splat(0.00139412f);
  p = p * r + splat(0.00836321f);
  p = p * r + splat(0.04166637f);
  p = p * r + splat(0.16666577f);
  p = p * r + splat(0.5f);
  p = (p * r) * r + r + splat(1.0f);
  const IntVec half = power >> 1;
  const IntVec rest = power - half;
  return p * as_float((half + splat_int(127)) << 23) * as_float((rest + splat_int(127)) << 23);
}

WICK_HOT_INLINE Vec tanh_vec(Vec x) {
  const Vec t = absolute(x);
  const Vec s = x * x;
  Vec p = splat(-0.00548215f);
  p = p * s + splat(0.02042988f);
  p = p * s + splat(-0.05367072f);
  p = p * s + splat(0.13330497f);
  p = p * s + splat(-0.33333234f);
  const Vec small = (p * s) * x + x;
  const Vec large = splat(1.0f) - splat(2.0f) / (exp_vec(t + t) + splat(1.0f));
  return select(t < splat(0.65f), with_sign_of(small, x), with_sign_of(large, x));
}

WICK_HOT_INLINE Vec sigmoid_vec(Vec x) { return splat(1.0f) / (splat(1.0f) + exp_vec(-x)); }

WICK_HOT_INLINE Vec erf_vec(Vec x) {
  const Vec t = absolute(x);
  const Vec s = x * x;
  Vec p = splat(8.21542371e-05f);
  p = p * s + splat(-8.10596512e-04f);
  p = p * s + splat(5.19779717e-03f);
  p = p * s + splat(-2.68581043e-02f);
  p = p * s + splat(1.12836725e-01f);
  p = p * s + splat(-3.76126323e-01f);
  p = p * s + splat(1.12837917f);
  const Vec small = p * x;
  const Vec u = select(t > splat(3.95f), splat(3.95f), t);
  Vec q = splat(4.31435468e-06f);
  q = q * u + splat(-3.79315950e-05f);
  q = q * u + splat(-8.88398740e-05f);
  q = q * u + splat(3.03945153e-03f);
  q = q * u + splat(-2.28525321e-02f);
  q = q * u + splat(1.05433478e-01f);
  q = q * u + splat(6.35536435e-01f);
  q = q * u + splat(1.12857113f);
  const Vec large = splat(1.0f) - exp_vec(-(q * u));
  const Vec result = select(t < splat(0.95f), small, with_sign_of(large, x));
  return select(x == x, result, x);
}

WICK_HOT_INLINE Vec gelu_vec(Vec x) {
  return splat(0.5f) * x * (splat(1.0f) + erf_vec(x * splat(0.707106781f)));
}
