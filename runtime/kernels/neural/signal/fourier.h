// The discrete Fourier transform of lines of one length, any length, in double. C++17, freestanding.
#pragma once
#include "runtime/kernels/hot/hot_kernels.h"
#include "wick/kernel.h"

namespace wick {

/// Complex numbers as two arrays: real parts and imaginary parts.
struct ComplexArray {
  double* re = nullptr;
  double* im = nullptr;
};

/// Tables for length n. If all prime factors are at most 31, there is one pass for each factor. Other lengths use
/// Bluestein's convolution of length m.
struct FourierPlan {
  static constexpr int kMostPasses = 64;
  int64_t n = 0, m = 0;  // m: length of the passes; n except for Bluestein's
  int passes = 0;
  uint8_t radix[kMostPasses];
  ComplexArray roots;   // exp(-2 pi i k / m)
  ComplexArray chirp;   // Bluestein: exp(-pi i k^2 / n)
  ComplexArray filter;  // Bluestein: transform of the conjugate chirp

  bool bluestein() const { return chirp.re != nullptr; }
};

/// Tables come from the context's temp memory; false (failed) if there is too little. n >= 1.
bool make_fourier_plan(KernelContext& context, int64_t n, FourierPlan* plan);

/// exp(-2 pi i k / n) for 0 <= k < n, exact at the quarters.
void root_of_unity(int64_t k, int64_t n, double* re, double* im);

/// exp(-2 pi i k / n) for k < count <= n, from temp memory; re is null (and the context failed) if there is too little.
ComplexArray make_roots(KernelContext& context, int64_t n, int64_t count);

/// The numbers that `lanes` lines side by side need in `data` and in `scratch`, each.
inline int64_t fourier_numbers(const FourierPlan& plan, int64_t lanes) { return plan.m * lanes; }

/// data[k * lanes + l] <- sum_j data[j * lanes + l] exp(-+ 2 pi i j k / n) for each lane l, without scaling. `forward`
/// is the minus sign. Lanes do not change each other.
void fourier_transform(const HotKernels& kernels, const FourierPlan& plan, bool forward, int64_t lanes,
                       const ComplexArray& data, const ComplexArray& scratch);

/// Turns the transform of h complex numbers into that of n = 2 h real ones, whose even elements were the real parts and
/// whose odd elements were the imaginary parts: spectrum[k] for k <= h, from data[k] for k < h. `turns` are exp(-2 pi i
/// k / n) for k <= h / 2.
void spectrum_of_halves(const ComplexArray& data, const ComplexArray& turns, int64_t h, int64_t lanes,
                        const ComplexArray& spectrum);
/// The inverse: gives `data` whose transform without scaling is that of the spectrum. The first and the last number of
/// the spectrum count as real.
void halves_of_spectrum(const ComplexArray& spectrum, const ComplexArray& turns, int64_t h, int64_t lanes,
                        const ComplexArray& data);

}  // namespace wick
