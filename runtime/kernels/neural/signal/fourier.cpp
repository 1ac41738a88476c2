#include "runtime/kernels/neural/signal/fourier.h"

#include "common/math/math.h"

namespace wick {
namespace {

constexpr int64_t kDirect = 32;  // up to here the definition is as good as anything

Complex times(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/// exp(-2 pi i k / n) for 0 <= k < n, exact at the quarters.
Complex root(int64_t k, int64_t n) {
  if (k == 0) return {1, 0};
  if (2 * k == n) return {-1, 0};
  if (4 * k == n) return {0, -1};
  if (4 * k == 3 * n) return {0, 1};
  const double angle = 2 * math::kPi * static_cast<double>(k) / static_cast<double>(n);
  return {math::cos(angle), -math::sin(angle)};
}

/// In place, n a power of two, twiddle[k] = exp(-2 pi i k / n).
void radix2(Complex* x, int64_t n, const Complex* twiddle) {
  for (int64_t i = 1, j = 0; i < n; ++i) {
    int64_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const Complex t = x[i];
      x[i] = x[j];
      x[j] = t;
    }
  }
  for (int64_t half = 1; half < n; half *= 2) {
    const int64_t step = n / (2 * half);
    for (int64_t base = 0; base < n; base += 2 * half)
      for (int64_t k = 0; k < half; ++k) {
        const Complex a = x[base + k], b = times(x[base + k + half], twiddle[k * step]);
        x[base + k] = {a.re + b.re, a.im + b.im};
        x[base + k + half] = {a.re - b.re, a.im - b.im};
      }
  }
}

void by_definition(const FourierPlan& p, Complex* line, Complex* scratch) {
  for (int64_t k = 0; k < p.n; ++k) {
    Complex sum = {0, 0};
    for (int64_t j = 0; j < p.n; ++j) {
      const Complex t = times(line[j], p.twiddle[j * k % p.n]);
      sum.re += t.re;
      sum.im += t.im;
    }
    scratch[k] = sum;
  }
  for (int64_t k = 0; k < p.n; ++k) line[k] = scratch[k];
}

void by_convolution(const FourierPlan& p, Complex* line, Complex* scratch) {
  for (int64_t k = 0; k < p.m; ++k) scratch[k] = k < p.n ? times(line[k], p.chirp[k]) : Complex{0, 0};
  radix2(scratch, p.m, p.twiddle);
  // The inverse transform is the forward one between two conjugations.
  for (int64_t k = 0; k < p.m; ++k) {
    const Complex t = times(scratch[k], p.filter[k]);
    scratch[k] = {t.re, -t.im};
  }
  radix2(scratch, p.m, p.twiddle);
  const double scale = 1 / static_cast<double>(p.m);
  for (int64_t k = 0; k < p.n; ++k) line[k] = times({scratch[k].re * scale, -scratch[k].im * scale}, p.chirp[k]);
}

}  // namespace

bool make_fourier_plan(KernelContext& context, int64_t n, FourierPlan* plan) {
  plan->n = n;
  const bool power = (n & (n - 1)) == 0;
  if (!power && n > kDirect) {
    plan->m = 1;
    while (plan->m < 2 * n - 1) plan->m *= 2;
    plan->chirp = context.allocate_temp_array<Complex>(static_cast<size_t>(n));
    plan->filter = context.allocate_temp_array<Complex>(static_cast<size_t>(plan->m));
    if (!plan->chirp || !plan->filter) return false;
  } else {
    plan->m = power ? n : 0;
  }
  const int64_t length = plan->m ? plan->m : n;
  plan->twiddle = context.allocate_temp_array<Complex>(static_cast<size_t>(length));
  if (!plan->twiddle) return false;
  for (int64_t k = 0; k < length; ++k) plan->twiddle[k] = root(k, length);
  if (!plan->chirp) return true;
  for (int64_t k = 0; k < plan->m; ++k) plan->filter[k] = {0, 0};
  for (int64_t k = 0; k < n; ++k) {
    plan->chirp[k] = root(k * k % (2 * n), 2 * n);
    plan->filter[k] = plan->filter[k ? plan->m - k : 0] = {plan->chirp[k].re, -plan->chirp[k].im};
  }
  radix2(plan->filter, plan->m, plan->twiddle);
  return true;
}

void fourier_transform(const FourierPlan& plan, bool forward, Complex* line, Complex* scratch) {
  const auto conjugate = [&] {
    for (int64_t k = 0; k < plan.n && !forward; ++k) line[k].im = -line[k].im;
  };
  conjugate();
  if (plan.bluestein()) {
    by_convolution(plan, line, scratch);
  } else if (plan.m) {
    radix2(line, plan.n, plan.twiddle);
  } else {
    by_definition(plan, line, scratch);
  }
  conjugate();
}

}  // namespace wick
