#include "runtime/kernels/neural/signal/fourier.h"

#include <string.h>

#include "common/math/math.h"

namespace wick {

void root_of_unity(int64_t k, int64_t n, double* re, double* im) {
  const bool mirrored = 2 * k > n;
  if (mirrored) k = n - k;
  const bool turned = 4 * k > n;  // by a quarter more than (4 k - n) / (4 n)
  if (turned) {
    k = 4 * k - n;
    n *= 4;
  }
  const double angle = 2 * math::kPi * static_cast<double>(k) / static_cast<double>(n);
  const double cosine = k == 0 ? 1 : 4 * k == n ? 0 : math::cos(angle);
  const double sine = k == 0 ? 0 : 4 * k == n ? 1 : math::sin(angle);
  *re = turned ? -sine : cosine;
  *im = turned ? -cosine : -sine;
  if (mirrored) *im = -*im;
}

namespace {

constexpr int64_t kLargestRadix = 31;

ComplexArray allocate(KernelContext& context, int64_t count) {
  ComplexArray array;
  array.re = context.allocate_temp_array<double>(static_cast<size_t>(2 * count));
  if (array.re) array.im = array.re + count;
  return array;
}

/// table[k] = exp(-2 pi i k / n) for 0 <= k < n.
void fill_roots(int64_t n, const ComplexArray& table) {
  const int64_t half = n / 2, quarter = n % 4 == 0 ? n / 4 : half;
  for (int64_t k = 0; k <= quarter; ++k) root_of_unity(k, n, table.re + k, table.im + k);
  for (int64_t k = quarter + 1; k <= half; ++k) {
    table.re[k] = table.im[k - quarter];
    table.im[k] = -table.re[k - quarter];
  }
  for (int64_t k = half + 1; k < n; ++k) {
    table.re[k] = table.re[n - k];
    table.im[k] = -table.im[n - k];
  }
}

/// Factors `n` into radices up to kLargestRadix. False if that cannot be.
bool factor(int64_t n, FourierPlan* plan) {
  plan->passes = 0;
  const auto take = [&](int64_t radix) {
    for (; n % radix == 0; n /= radix) plan->radix[plan->passes++] = static_cast<uint8_t>(radix);
  };
  take(4);
  for (int64_t radix = 2; radix <= kLargestRadix; ++radix) take(radix);
  return n == 1;
}

/// Swaps the buffers between passes until the result is in `data`.
void run_passes(const HotKernels& kernels, const FourierPlan& plan, int64_t lanes, const ComplexArray& data,
                const ComplexArray& scratch) {
  ComplexArray from = data, to = scratch;
  FourierPass pass;
  pass.root_re = plan.roots.re;
  pass.root_im = plan.roots.im;
  pass.n = plan.m;
  pass.stride = lanes;
  pass.root_step = 1;
  for (int i = 0; i < plan.passes; ++i) {
    pass.re = from.re;
    pass.im = from.im;
    pass.out_re = to.re;
    pass.out_im = to.im;
    pass.radix = plan.radix[i];
    kernels.fourier_pass(pass);
    pass.n /= pass.radix;
    pass.stride *= pass.radix;
    pass.root_step *= pass.radix;
    const ComplexArray other = from;
    from = to;
    to = other;
  }
  if (from.re == data.re) return;
  const size_t bytes = static_cast<size_t>(plan.m * lanes) * sizeof(double);
  memcpy(data.re, from.re, bytes);
  memcpy(data.im, from.im, bytes);
}

/// data[k, lane] *= factors[k] for k < count, times `scale`. `conjugate`: the result's conjugate.
void multiply_lanes(const ComplexArray& data, const ComplexArray& factors, int64_t count, int64_t lanes, double scale,
                    bool conjugate) {
  const double sign = conjugate ? -1 : 1;
  for (int64_t k = 0; k < count; ++k) {
    const double w_re = factors.re[k] * scale, w_im = factors.im[k] * scale;
    double* re = data.re + k * lanes;
    double* im = data.im + k * lanes;
    for (int64_t l = 0; l < lanes; ++l) {
      const double a = re[l], b = im[l];
      re[l] = a * w_re - b * w_im;
      im[l] = sign * (a * w_im + b * w_re);
    }
  }
}

void by_convolution(const HotKernels& kernels, const FourierPlan& plan, int64_t lanes, const ComplexArray& data,
                    const ComplexArray& scratch) {
  multiply_lanes(data, plan.chirp, plan.n, lanes, 1, false);
  const size_t bytes = static_cast<size_t>((plan.m - plan.n) * lanes) * sizeof(double);
  memset(data.re + plan.n * lanes, 0, bytes);
  memset(data.im + plan.n * lanes, 0, bytes);
  run_passes(kernels, plan, lanes, data, scratch);
  // The inverse transform is the forward one between two conjugations.
  multiply_lanes(data, plan.filter, plan.m, lanes, 1, true);
  run_passes(kernels, plan, lanes, data, scratch);
  for (int64_t i = 0; i < plan.n * lanes; ++i) data.im[i] = -data.im[i];
  multiply_lanes(data, plan.chirp, plan.n, lanes, 1 / static_cast<double>(plan.m), false);
}

}  // namespace

ComplexArray make_roots(KernelContext& context, int64_t n, int64_t count) {
  const ComplexArray table = allocate(context, count);
  for (int64_t k = 0; table.re && k < count; ++k) root_of_unity(k, n, table.re + k, table.im + k);
  return table;
}

bool make_fourier_plan(KernelContext& context, int64_t n, FourierPlan* plan) {
  plan->n = plan->m = n;
  const bool smooth = factor(n, plan);
  if (!smooth) {
    plan->m = 1;
    while (plan->m < 2 * n - 1) plan->m *= 2;
    factor(plan->m, plan);
    plan->chirp = allocate(context, n);
    plan->filter = allocate(context, plan->m);
    if (!plan->chirp.re || !plan->filter.re) return false;
  }
  plan->roots = allocate(context, plan->m);
  if (!plan->roots.re) return false;
  fill_roots(plan->m, plan->roots);
  if (smooth) return true;
  const ComplexArray scratch = allocate(context, plan->m);
  if (!scratch.re) return false;
  memset(plan->filter.re, 0, static_cast<size_t>(2 * plan->m) * sizeof(double));
  for (int64_t k = 0; k < n; ++k) {
    root_of_unity(k * k % (2 * n), 2 * n, plan->chirp.re + k, plan->chirp.im + k);
    const int64_t mirrored = k ? plan->m - k : 0;
    plan->filter.re[k] = plan->filter.re[mirrored] = plan->chirp.re[k];
    plan->filter.im[k] = plan->filter.im[mirrored] = -plan->chirp.im[k];
  }
  run_passes(hot(context.isa()), *plan, 1, plan->filter, scratch);
  return true;
}

void fourier_transform(const HotKernels& kernels, const FourierPlan& plan, bool forward, int64_t lanes,
                       const ComplexArray& data, const ComplexArray& scratch) {
  const auto conjugate = [&] {
    for (int64_t i = 0; i < plan.n * lanes && !forward; ++i) data.im[i] = -data.im[i];
  };
  conjugate();
  if (plan.bluestein()) {
    by_convolution(kernels, plan, lanes, data, scratch);
  } else {
    run_passes(kernels, plan, lanes, data, scratch);
  }
  conjugate();
}

// The numbers at 0, h / 2 and h are their own mirror images. Their differences from these are 0, even for infinities.

void spectrum_of_halves(const ComplexArray& data, const ComplexArray& turns, int64_t h, int64_t lanes,
                        const ComplexArray& spectrum) {
  const int64_t middle = h / 2 * lanes, last = h * lanes;
  for (int64_t l = 0; l < lanes; ++l) {
    const double a = data.re[l], b = data.im[l];
    spectrum.re[l] = a + b;
    spectrum.re[last + l] = a - b;
    spectrum.im[l] = spectrum.im[last + l] = 0;
    if (h % 2 == 0) {
      spectrum.re[middle + l] = data.re[middle + l];
      spectrum.im[middle + l] = 0 - data.im[middle + l];
    }
  }
  for (int64_t k = 1; 2 * k < h; ++k) {
    const double w_re = turns.re[k], w_im = turns.im[k];
    const int64_t left = k * lanes, right = (h - k) * lanes;
    for (int64_t l = 0; l < lanes; ++l) {
      const double a = data.re[left + l], b = data.im[left + l], c = data.re[right + l], d = data.im[right + l];
      const double even_re = 0.5 * (a + c), even_im = 0.5 * (b - d), odd_re = 0.5 * (b + d), odd_im = 0.5 * (c - a);
      const double turned_re = odd_re * w_re - odd_im * w_im, turned_im = odd_re * w_im + odd_im * w_re;
      spectrum.re[right + l] = even_re - turned_re;
      spectrum.im[right + l] = turned_im - even_im;
      spectrum.re[left + l] = even_re + turned_re;
      spectrum.im[left + l] = even_im + turned_im;
    }
  }
}

void halves_of_spectrum(const ComplexArray& spectrum, const ComplexArray& turns, int64_t h, int64_t lanes,
                        const ComplexArray& data) {
  const int64_t middle = h / 2 * lanes, last = h * lanes;
  for (int64_t l = 0; l < lanes; ++l) {
    const double a = spectrum.re[l], c = spectrum.re[last + l];
    data.re[l] = a + c;
    data.im[l] = a - c;
    if (h % 2 == 0) {
      data.re[middle + l] = 2 * spectrum.re[middle + l];
      data.im[middle + l] = 0 - 2 * spectrum.im[middle + l];
    }
  }
  for (int64_t k = 1; 2 * k < h; ++k) {
    const double w_re = turns.re[k], w_im = turns.im[k];
    const int64_t left = k * lanes, right = (h - k) * lanes;
    for (int64_t l = 0; l < lanes; ++l) {
      const double a = spectrum.re[left + l], b = spectrum.im[left + l];
      const double c = spectrum.re[right + l], d = spectrum.im[right + l];
      const double even_re = a + c, even_im = b - d, turned_re = a - c, turned_im = b + d;
      const double odd_re = turned_re * w_re + turned_im * w_im, odd_im = turned_im * w_re - turned_re * w_im;
      data.re[right + l] = even_re + odd_im;
      data.im[right + l] = odd_re - even_im;
      data.re[left + l] = even_re - odd_im;
      data.im[left + l] = even_im + odd_re;
    }
  }
}

}  // namespace wick
