// The upsample operators. They differ in their arguments only; resample does the work.   Source: aten::upsample_*,
// aten::_upsample_*.
#include "runtime/kernels/neural/resize/resample.h"

namespace wick {
namespace kernels {
namespace {

/// (self, output_size, [align_corners], scale for each dimension, out).
void upsample(KernelContext& context, Span<EValue*> args, Filter filter, int dims, bool has_align_corners) {
  ResampleRequest r = {};
  r.filter = filter;
  r.dims = dims;
  r.align_corners = has_align_corners && args[2]->boolean;
  const size_t scales = has_align_corners ? 3 : 2;
  if (!read_window(context, *args[1], dims, 1, 1, nullptr,
                   "upsample: wanted one positive output size for each dimension", r.output))
    return;
  for (int d = 0; d < dims; ++d) {
    const EValue& scale = *args[scales + static_cast<size_t>(d)];
    r.scale[3 - dims + d] = scale.is_none() ? 0 : scale.real;
  }
  resample(context, r, *args[0]->tensor, *args[scales + static_cast<size_t>(dims)]->tensor);
}

/// (input, output_size?, [align_corners], scale_factors?, out): exactly one of sizes and factors.
void upsample_vec(KernelContext& context, Span<EValue*> args, Filter filter, int dims, bool has_align_corners) {
  const Tensor& input = *args[0]->tensor;
  const EValue &sizes = *args[1], &factors = *args[has_align_corners ? 3 : 2];
  ResampleRequest r = {};
  r.filter = filter;
  r.dims = dims;
  r.align_corners = has_align_corners && args[2]->boolean;
  for (int d = 0; d < 3; ++d) r.output[d] = 1;
  if (!require(context, sizes.is_none() != factors.is_none(), Error::InvalidArgument,
               "upsample: wanted output_size or scale_factors, not both"))
    return;
  if (!require(context, input.rank == dims + 2, Error::InvalidArgument, "upsample: wrong rank")) return;
  if (!sizes.is_none()) {
    if (!read_window(context, sizes, dims, 1, 1, nullptr,
                     "upsample: wanted one positive output size for each dimension", r.output))
      return;
  } else {
    const Span<const double> list = factors.reals();
    if (!require(context, list.size() == static_cast<size_t>(dims), Error::InvalidArgument,
                 "upsample: wanted one scale factor for each dimension"))
      return;
    for (int d = 0; d < dims; ++d) {
      const double size = static_cast<double>(input.sizes[2 + d]) * list[static_cast<size_t>(d)];
      if (!require(context, size >= 1 && size <= INT32_MAX, Error::InvalidArgument,
                   "upsample: scaled size out of range"))
        return;
      r.output[3 - dims + d] = static_cast<int64_t>(size);
      r.scale[3 - dims + d] = list[static_cast<size_t>(d)];
    }
  }
  resample(context, r, input, *args[has_align_corners ? 4 : 3]->tensor);
}

}  // namespace

#define UPSAMPLE(name, form, filter, dims, align) \
  void name(KernelContext& context, Span<EValue*> args) { form(context, args, Filter::filter, dims, align); }
UPSAMPLE(upsample_nearest1d, upsample, nearest, 1, false)
UPSAMPLE(upsample_nearest2d, upsample, nearest, 2, false)
UPSAMPLE(upsample_nearest3d, upsample, nearest, 3, false)
UPSAMPLE(upsample_nearest_exact1d, upsample, nearest_exact, 1, false)
UPSAMPLE(upsample_nearest_exact2d, upsample, nearest_exact, 2, false)
UPSAMPLE(upsample_nearest_exact3d, upsample, nearest_exact, 3, false)
UPSAMPLE(upsample_linear1d, upsample, linear, 1, true)
UPSAMPLE(upsample_bilinear2d, upsample, linear, 2, true)
UPSAMPLE(upsample_trilinear3d, upsample, linear, 3, true)
UPSAMPLE(upsample_bicubic2d, upsample, cubic, 2, true)
UPSAMPLE(upsample_bilinear2d_aa, upsample, linear_antialias, 2, true)
UPSAMPLE(upsample_bicubic2d_aa, upsample, cubic_antialias, 2, true)
UPSAMPLE(upsample_bilinear2d_vec, upsample_vec, linear, 2, true)
UPSAMPLE(upsample_nearest2d_vec, upsample_vec, nearest, 2, false)
#undef UPSAMPLE

}  // namespace kernels
}  // namespace wick
