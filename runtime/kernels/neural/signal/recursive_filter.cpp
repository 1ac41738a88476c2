// An infinite impulse response filter: each sample depends on earlier results.   Source:
// torchaudio::_lfilter_core_loop.
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/neural/normalization/normalization.h"
#include "runtime/kernels/neural/pooling/pool_geometry.h"

namespace wick {
namespace kernels {

/// (input [batch, channels, samples], coefficients [channels, order], start [batch, channels, samples + order - 1],
/// out): out begins as `start`; then, sample by sample,
///   out[i + order - 1] = input[i] - sum over k < order of out[i + k] * coefficients[k].
void recursive_filter(KernelContext& context, Span<EValue*> args) {
  const Tensor &input = *args[0]->tensor, &coefficients = *args[1]->tensor, &start = *args[2]->tensor;
  Tensor& out = *args[3]->tensor;
  Planes from, before, to;
  if (!require(context, input.rank == 3 && start.rank == 3 && coefficients.rank == 2, Error::InvalidArgument,
               "recursive filter: wrong rank"))
    return;
  const DType dtype = input.dtype;
  if (!require(context, coefficients.dtype == dtype && start.dtype == dtype && out.dtype == dtype, Error::InvalidType,
               "recursive filter: the tensors differ in dtype"))
    return;
  const int64_t order = coefficients.sizes[1], samples = input.sizes[2];
  const bool fits = order >= 1 && coefficients.sizes[0] == input.sizes[1] && start.sizes[0] == input.sizes[0] &&
                    start.sizes[1] == input.sizes[1] && start.sizes[2] == samples + order - 1;
  if (!require(context, fits, Error::InvalidArgument, "recursive filter: the sizes do not fit")) return;
  if (!resize_or_fail(context, out, start.sizes, 3, "recursive filter: out has a different shape")) return;
  if (out.numel == 0) return;
  planes_of(input, 1, &from);
  planes_of(start, 1, &before);
  planes_of(out, 1, &to);
  const int64_t step_in = from.stride[2], step_before = before.stride[2], step = to.stride[2];
  const auto filter = [&](auto zero) {
    using T = decltype(zero);
    for_each_plane(context, to, samples * order, [&](int64_t plane) {
      const T* x = input.as<T>() + from.plane_offset(plane);
      const T* first = start.as<T>() + before.plane_offset(plane);
      T* y = out.as<T>() + to.plane_offset(plane);
      const int64_t channel = plane % to.channels;
      for (int64_t i = 0; i < to.size[2]; ++i) y[i * step] = first[i * step_before];
      for (int64_t i = 0; i < samples; ++i) {
        T sum = x[i * step_in];
        for (int64_t k = 0; k < order; ++k)
          sum -= y[(i + k) * step] * coefficients.as<T>()[memory_offset(coefficients, channel * order + k)];
        y[(i + order - 1) * step] = sum;
      }
    });
  };
  if (dtype == DType::f32) return filter(0.0f);
  if (dtype == DType::f64) return filter(0.0);
  context.fail(Error::InvalidType, "recursive filter of this dtype is not defined");
}

}  // namespace kernels
}  // namespace wick
