#include <string.h>

#include "tests/toy_backend/target.h"

namespace wick::toy {
namespace {

bool fits(KernelContext& context, const Tensor& a, const Tensor& b, const Tensor& out) {
  const bool same = a.dtype == DType::f32 && b.dtype == DType::f32 && out.dtype == DType::f32 && same_layout(a, b) &&
                    same_layout(a, out);
  if (!same) context.fail(Error::InvalidArgument, "toy takes f32 tensors of equal sizes");
  return same;
}

void add_out(KernelContext& context, Span<EValue*> args) {
  const Tensor &a = *args[0]->tensor, &b = *args[1]->tensor;
  Tensor& out = *args[2]->tensor;
  if (!fits(context, a, b, out)) return;
  for (size_t i = 0; i < out.numel; ++i) out.as<float>()[i] = a.as<const float>()[i] + b.as<const float>()[i];
}

void mul_out(KernelContext& context, Span<EValue*> args) {
  const Tensor &a = *args[0]->tensor, &b = *args[1]->tensor, &scratch = *args[2]->tensor;
  Tensor& out = *args[3]->tensor;
  if (!fits(context, a, b, out) || !fits(context, a, scratch, out)) return;
  if (scratch.read_only) return context.fail(Error::InvalidArgument, "toy: scratch memory is constant");
  for (size_t i = 0; i < out.numel; ++i) scratch.as<float>()[i] = a.as<const float>()[i] * b.as<const float>()[i];
  if (out.numel > 0) memcpy(out.data, scratch.data, out.nbytes());
}

constexpr Kernel kKernels[] = {
    {"toy::add.out", "TTo", add_out}, {"toy::mul.out", "TTTo", mul_out}, {"toy::conv2d.out", "TTo", conv2d_out}};

}  // namespace

KernelTable kernels() { return kKernels; }

}  // namespace wick::toy
