// The discrete Fourier transform of one line, any length, in double. C++17, freestanding.
#pragma once
#include "wick/kernel.h"

namespace wick {

struct Complex {
  double re, im;
};

/// Tables for length n. Powers of two use radix 2, short lengths the definition, the rest Bluestein's convolution of
/// length m.
struct FourierPlan {
  int64_t n = 0, m = 0;        // m: power of two, 0 for the definition
  Complex* twiddle = nullptr;  // exp(-2 pi i k / m), or / n for the definition
  Complex* chirp = nullptr;    // Bluestein: exp(-pi i k^2 / n)
  Complex* filter = nullptr;   // Bluestein: transform of the conjugate chirp

  bool bluestein() const { return chirp != nullptr; }
  /// Complex numbers of scratch that a transform needs.
  int64_t scratch() const { return bluestein() ? m : n; }
};

/// Tables come from the context's temp memory; false (failed) if there is too little. n >= 1.
bool make_fourier_plan(KernelContext& context, int64_t n, FourierPlan* plan);

/// line[k] <- sum_j line[j] exp(-+ 2 pi i j k / n), without scaling. `forward` is the minus sign.
void fourier_transform(const FourierPlan& plan, bool forward, Complex* line, Complex* scratch);

}  // namespace wick
