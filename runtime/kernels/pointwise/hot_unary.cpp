#include "runtime/kernels/pointwise/hot_unary.h"

namespace wick {
namespace kernels {

bool hot_unary(KernelContext& context, const Tensor& in, Tensor& out,
               void (*function)(const float* in, float* out, int64_t count)) {
  constexpr int64_t kGrain = 4096;
  if (in.dtype != DType::f32 || out.dtype != DType::f32 || in.rank != out.rank) return false;
  if (resize(out, in.shape()) != Error::Ok || !same_layout(in, out)) return false;
  const float* source = in.as<const float>();
  float* target = out.as<float>();
  context.parallel_for(static_cast<int64_t>(in.numel), kGrain,
                       [=](int64_t begin, int64_t end) { function(source + begin, target + begin, end - begin); });
  return true;
}

}  // namespace kernels
}  // namespace wick
