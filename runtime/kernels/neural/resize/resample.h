// Interpolation as a weighted sum of few input positions along each axis. C++17, freestanding.
#pragma once
#include "runtime/kernels/neural/pooling/pool_geometry.h"

namespace wick {

enum class Filter : uint8_t { nearest, nearest_exact, linear, cubic, linear_antialias, cubic_antialias };

/// Output o along an axis is the sum over t < taps of weight[o * taps + t] * input[index[o * taps + t]]. Every index is
/// inside.
struct ResampleAxis {
  int64_t taps = 1;
  int32_t* index = nullptr;
  double* weight = nullptr;
};

/// How sizes are given: `scale` is the caller's output / input, or 0 if the caller gave sizes only.
struct ResampleRequest {
  Filter filter;
  int dims;
  bool align_corners;
  int64_t output[3];
  double scale[3];
};

/// Interpolates every plane of `input` into `out`, which is resized. Nearest filters take any dtype, the others floats
/// and, in two dimensions, u8. As in eager, positions and weights are computed in float, but in double for f64 and u8.
/// For u8, weights are integers and each axis is rounded to bytes, which gives the same bits as eager.
void resample(KernelContext& context, const ResampleRequest& request, const Tensor& input, Tensor& out);

/// The four weights of cubic convolution at distances 1 + t, t, 1 - t, 2 - t; `a` is the free parameter.
template <typename Real>
void cubic_weights(Real t, Real a, Real* weights) {
  const auto near = [a](Real x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [a](Real x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  weights[0] = far(t + 1);
  weights[1] = near(t);
  weights[2] = near(1 - t);
  weights[3] = far(2 - t);
}

}  // namespace wick
