// One pass of Stockham's Fourier transform in double. Included inside the namespace of one instruction set.

constexpr double kHalfRootOfThree = 0.86602540378443864676;
constexpr double kCos72 = 0.30901699437494742410, kSin72 = 0.95105651629515357212;
constexpr double kCos144 = -0.80901699437494742410, kSin144 = 0.58778525229247312917;

/// Transforms of R elements, in place. Forward: exp(-2 pi i j k / R).
template <int R>
struct Butterfly;
template <>
struct Butterfly<2> {
  static WICK_HOT_INLINE void run(double* re, double* im) {
    const double a = re[0], b = im[0];
    re[0] = a + re[1];
    im[0] = b + im[1];
    re[1] = a - re[1];
    im[1] = b - im[1];
  }
};
template <>
struct Butterfly<3> {
  static WICK_HOT_INLINE void run(double* re, double* im) {
    const double sum_re = re[1] + re[2], sum_im = im[1] + im[2];
    const double turn_re = kHalfRootOfThree * (im[1] - im[2]), turn_im = kHalfRootOfThree * (re[2] - re[1]);
    const double middle_re = re[0] - 0.5 * sum_re, middle_im = im[0] - 0.5 * sum_im;
    re[0] += sum_re;
    im[0] += sum_im;
    re[1] = middle_re + turn_re;
    im[1] = middle_im + turn_im;
    re[2] = middle_re - turn_re;
    im[2] = middle_im - turn_im;
  }
};
template <>
struct Butterfly<4> {
  static WICK_HOT_INLINE void run(double* re, double* im) {
    const double even_re = re[0] + re[2], even_im = im[0] + im[2], half_re = re[0] - re[2], half_im = im[0] - im[2];
    const double odd_re = re[1] + re[3], odd_im = im[1] + im[3], turn_re = im[1] - im[3], turn_im = re[3] - re[1];
    re[0] = even_re + odd_re;
    im[0] = even_im + odd_im;
    re[1] = half_re + turn_re;
    im[1] = half_im + turn_im;
    re[2] = even_re - odd_re;
    im[2] = even_im - odd_im;
    re[3] = half_re - turn_re;
    im[3] = half_im - turn_im;
  }
};
template <>
struct Butterfly<5> {
  static WICK_HOT_INLINE void run(double* re, double* im) {
    const double near_re = re[1] + re[4], near_im = im[1] + im[4], far_re = re[2] + re[3], far_im = im[2] + im[3];
    const double near_turn_re = im[1] - im[4], near_turn_im = re[4] - re[1];
    const double far_turn_re = im[2] - im[3], far_turn_im = re[3] - re[2];
    const double a_re = re[0] + kCos72 * near_re + kCos144 * far_re, a_im = im[0] + kCos72 * near_im + kCos144 * far_im;
    const double b_re = re[0] + kCos144 * near_re + kCos72 * far_re, b_im = im[0] + kCos144 * near_im + kCos72 * far_im;
    const double c_re = kSin72 * near_turn_re + kSin144 * far_turn_re;
    const double c_im = kSin72 * near_turn_im + kSin144 * far_turn_im;
    const double d_re = kSin144 * near_turn_re - kSin72 * far_turn_re;
    const double d_im = kSin144 * near_turn_im - kSin72 * far_turn_im;
    re[0] += near_re + far_re;
    im[0] += near_im + far_im;
    re[1] = a_re + c_re;
    im[1] = a_im + c_im;
    re[2] = b_re + d_re;
    im[2] = b_im + d_im;
    re[3] = b_re - d_re;
    im[3] = b_im - d_im;
    re[4] = a_re - c_re;
    im[4] = a_im - c_im;
  }
};

/// `count` butterflies on adjacent elements. The inputs of each are `step` elements apart, its results `count`. Not
/// `turned`: the roots are 1, and an infinity in one part does not reach the other.
template <int R, bool turned>
WICK_HOT_INLINE void butterflies(const double* __restrict re, const double* __restrict im, double* __restrict out_re,
                                 double* __restrict out_im, int64_t count, int64_t step, const double (&root_re)[R],
                                 const double (&root_im)[R]) {
  for (int64_t q = 0; q < count; ++q) {
    double a[R], b[R];
#pragma GCC unroll 5
    for (int j = 0; j < R; ++j) {
      a[j] = re[q + j * step];
      b[j] = im[q + j * step];
    }
    Butterfly<R>::run(a, b);
    out_re[q] = a[0];
    out_im[q] = b[0];
#pragma GCC unroll 4
    for (int j = 1; j < R; ++j) {
      out_re[q + j * count] = turned ? a[j] * root_re[j] - b[j] * root_im[j] : a[j];
      out_im[q + j * count] = turned ? a[j] * root_im[j] + b[j] * root_re[j] : b[j];
    }
  }
}

template <int R>
void fourier_pass_of(const FourierPass& p) {
  const int64_t groups = p.n / R, step = groups * p.stride;
  double root_re[R] = {}, root_im[R] = {};
  butterflies<R, false>(p.re, p.im, p.out_re, p.out_im, p.stride, step, root_re, root_im);
  for (int64_t k = 1; k < groups; ++k) {
    for (int j = 1; j < R; ++j) {
      root_re[j] = p.root_re[j * k * p.root_step];
      root_im[j] = p.root_im[j * k * p.root_step];
    }
    butterflies<R, true>(p.re + k * p.stride, p.im + k * p.stride, p.out_re + R * k * p.stride,
                         p.out_im + R * k * p.stride, p.stride, step, root_re, root_im);
  }
}

/// Any radix, by the definition.
void fourier_pass_by_definition(const FourierPass& p) {
  const int64_t groups = p.n / p.radix, step = groups * p.stride, length = p.n * p.root_step;
  for (int64_t k = 0; k < groups; ++k)
    for (int64_t i = 0; i < p.radix; ++i) {
      double* __restrict out_re = p.out_re + (p.radix * k + i) * p.stride;
      double* __restrict out_im = p.out_im + (p.radix * k + i) * p.stride;
      for (int64_t q = 0; q < p.stride; ++q) out_re[q] = out_im[q] = 0;
      for (int64_t j = 0; j < p.radix; ++j) {
        // The root of the butterfly, exp(-2 pi i (i j / radix)), times that of the pass, exp(-2 pi i (i k / n)).
        const int64_t at = (i * j % p.radix * groups + i * k) * p.root_step % length;
        const double w_re = p.root_re[at], w_im = p.root_im[at];
        const double* __restrict re = p.re + k * p.stride + j * step;
        const double* __restrict im = p.im + k * p.stride + j * step;
        if (at == 0) {  // the root 1: an infinity times 0 would be NaN
          for (int64_t q = 0; q < p.stride; ++q) {
            out_re[q] += re[q];
            out_im[q] += im[q];
          }
          continue;
        }
        for (int64_t q = 0; q < p.stride; ++q) {
          out_re[q] += re[q] * w_re - im[q] * w_im;
          out_im[q] += re[q] * w_im + im[q] * w_re;
        }
      }
    }
}

void fourier_pass(const FourierPass& p) {
  switch (p.radix) {
    case 2: return fourier_pass_of<2>(p);
    case 3: return fourier_pass_of<3>(p);
    case 4: return fourier_pass_of<4>(p);
    case 5: return fourier_pass_of<5>(p);
    default: return fourier_pass_by_definition(p);
  }
}
