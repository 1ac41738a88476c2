#include <math.h>
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

struct Affine {
  float scale;
  int64_t zero;
};
Affine affine(Span<EValue*> args, size_t at) { return {static_cast<float>(args[at]->real), args[at + 1]->integer}; }

void quantized_add_out(KernelContext& context, Span<EValue*> args) {
  const Tensor &a = *args[0]->tensor, &b = *args[1]->tensor;
  Tensor& out = *args[8]->tensor;
  if (a.dtype != DType::i8 || b.dtype != DType::i8 || out.dtype != DType::i8 || !same_layout(a, b) ||
      !same_layout(a, out))
    return context.fail(Error::InvalidArgument, "toy takes int8 tensors of equal sizes");
  const Affine of_a = affine(args, 2), of_b = affine(args, 4), of_out = affine(args, 6);
  const auto number = [](const Tensor& tensor, size_t i, const Affine& q) {
    return static_cast<float>(tensor.as<const int8_t>()[i] - q.zero) * q.scale;
  };
  for (size_t i = 0; i < out.numel; ++i) {
    const float sum = number(a, i, of_a) + number(b, i, of_b);
    const float steps = nearbyintf(sum * (1 / of_out.scale)) + static_cast<float>(of_out.zero);
    out.as<int8_t>()[i] = static_cast<int8_t>(steps < -128 ? -128.0f : steps > 127 ? 127.0f : steps);
  }
}

constexpr Kernel kKernels[] = {{"toy::add.out", "TTo", add_out},
                               {"toy::mul.out", "TTTo", mul_out},
                               {"toy::conv2d.out", "TTo", conv2d_out},
                               {"toy::quantized_add.out", "TTfififio", quantized_add_out}};

}  // namespace

KernelTable kernels() { return kKernels; }

}  // namespace wick::toy
