// Gradients of aten::convolution by input, weight and bias, as one loop that scatters all products.   Source:
// aten::convolution_backward.
#include <string.h>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/neural/convolution/conv_geometry.h"
#include "runtime/kernels/neural/normalization/normalization.h"

namespace wick {
namespace kernels {
namespace {

/// fn(input position, output position, tap) as memory offsets for every product of one (input, output) plane pair.
template <typename F>
void for_each_product(const ConvGeometry& g, F&& fn) {
  int64_t o[3], t[3];
  for (o[0] = 0; o[0] < g.output[0]; ++o[0])
    for (o[1] = 0; o[1] < g.output[1]; ++o[1])
      for (o[2] = 0; o[2] < g.output[2]; ++o[2])
        for (t[0] = 0; t[0] < g.kernel[0]; ++t[0])
          for (t[1] = 0; t[1] < g.kernel[1]; ++t[1])
            for (t[2] = 0; t[2] < g.kernel[2]; ++t[2]) {
              int64_t in = 0, out = 0, tap = 0;
              bool inside = true;
              for (int d = 0; d < 3 && inside; ++d) {
                const int64_t x = o[d] * g.out_step[d] + g.origin[d] + t[d] * g.tap_step[d];
                inside = x >= 0 && x % g.divisor[d] == 0 && x / g.divisor[d] < g.input[d];
                if (!inside) break;
                in += x / g.divisor[d] * g.input_stride[d];
                out += o[d] * g.output_stride[d];
                tap += t[d] * g.weight_stride[d];
              }
              if (inside) fn(in, out, tap);
            }
}

struct Gradients {
  const Tensor *gradient, *input, *weight;
  Tensor *by_input, *by_weight, *by_bias;  // null: not asked for
};

template <typename T>
void add_products(const ConvGeometry& g, const Gradients& t) {
  using Sum = NormSum<T>;
  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t channel = 0; channel < g.groups * g.out_channels; ++channel)
      for (int64_t i = 0; i < g.in_channels; ++i) {
        const int64_t group = channel / g.out_channels;
        const int64_t in_base = n * g.input_batch_stride + (group * g.in_channels + i) * g.input_channel_stride;
        const int64_t out_base = n * g.output_batch_stride + channel * g.output_channel_stride;
        const int64_t weight_base =
            group * g.weight_group_stride() + channel % g.out_channels * g.weight_out_stride + i * g.weight_in_stride;
        for_each_product(g, [&](int64_t in, int64_t out, int64_t tap) {
          const Sum gradient = static_cast<Sum>(t.gradient->as<T>()[out_base + out]);
          if (t.by_input) {
            T& x = t.by_input->as<T>()[in_base + in];
            x = T(static_cast<Sum>(x) + gradient * static_cast<Sum>(t.weight->as<T>()[weight_base + tap]));
          }
          if (t.by_weight) {
            T& w = t.by_weight->as<T>()[weight_base + tap];
            w = T(static_cast<Sum>(w) + gradient * static_cast<Sum>(t.input->as<T>()[in_base + in]));
          }
        });
      }
}

template <typename T>
void sum_bias(const ConvGeometry& g, const Gradients& t) {
  using Sum = NormSum<T>;
  for (int64_t channel = 0; channel < g.groups * g.out_channels; ++channel) {
    Sum sum = 0;
    for (int64_t n = 0; n < g.batch; ++n)
      for (int64_t p = 0; p < g.positions(); ++p)
        sum += static_cast<Sum>(t.gradient->as<T>()[n * g.output_batch_stride + channel * g.output_channel_stride +
                                                    p / g.output[2] / g.output[1] * g.output_stride[0] +
                                                    p / g.output[2] % g.output[1] * g.output_stride[1] +
                                                    p % g.output[2] * g.output_stride[2]]);
    t.by_bias->as<T>()[channel] = T(sum);
  }
}

/// Gives a gradient the shape of `like` and zeros. The strides must be those of the operand: both are indexed alike.
bool prepare(KernelContext& context, const Tensor& like, Tensor& gradient) {
  if (!resize_or_fail(context, gradient, like.sizes, like.rank,
                      "convolution backward: a gradient has a different shape"))
    return false;
  if (!require(context, gradient.dtype == like.dtype && same_layout(gradient, like), Error::InvalidArgument,
               "convolution backward: a gradient must have dtype and dim order of what it is a gradient by"))
    return false;
  if (gradient.numel) memset(gradient.data, 0, gradient.nbytes());
  return true;
}

}  // namespace

void convolution_backward(KernelContext& context, Span<EValue*> args) {
  Gradients t = {args[0]->tensor,  args[1]->tensor,  args[2]->tensor,
                 args[11]->tensor, args[12]->tensor, args[13]->tensor};
  const Span<const bool> wanted = args[10]->bools();
  const ConvArguments arguments = {args[4], args[5], args[6], args[7]->boolean, args[8], args[9]->integer};
  ConvGeometry g;
  if (!require(context, wanted.size() == 3, Error::InvalidArgument,
               "convolution backward: output_mask must have three entries") ||
      !read_geometry(context, *t.input, *t.weight, arguments, &g))
    return;
  int32_t sizes[5];
  const int rank = output_sizes(g, sizes);
  const bool fits =
      t.gradient->rank == rank && memcmp(sizes, t.gradient->sizes, static_cast<size_t>(rank) * sizeof sizes[0]) == 0;
  if (!require(context, fits, Error::InvalidArgument,
               "convolution backward: grad_output has not the shape of the output") ||
      !require(context, t.gradient->dtype == t.input->dtype && t.input->dtype == t.weight->dtype, Error::InvalidType,
               "dtypes differ"))
    return;
  set_output_strides(g, *t.gradient);
  if (!wanted[0]) t.by_input = nullptr;
  if (!wanted[1]) t.by_weight = nullptr;
  if (!wanted[2]) t.by_bias = nullptr;
  if ((t.by_input && !prepare(context, *t.input, *t.by_input)) ||
      (t.by_weight && !prepare(context, *t.weight, *t.by_weight)))
    return;
  const int32_t channels = sizes[1];
  if (t.by_bias && (!resize_or_fail(context, *t.by_bias, &channels, 1,
                                    "convolution backward: bias gradient has a different shape") ||
                    !require(context, t.by_bias->dtype == t.input->dtype, Error::InvalidType, "dtypes differ")))
    return;
  const bool known = dispatch_floating(t.input->dtype, [&](auto zero) {
    add_products<decltype(zero)>(g, t);
    if (t.by_bias) sum_bias<decltype(zero)>(g, t);
  });
  require(context, known, Error::InvalidType, "convolution backward of this dtype is not defined");
}

}  // namespace kernels
}  // namespace wick
