// Keeps each element with probability 1 - p and scales what is kept by 1 / (1 - p); gives the mask.
// Source: aten::native_dropout. The random numbers are Wick's (Philox), not eager's.
#include "common/random.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/neural/normalization/normalization.h"

namespace wick {
namespace kernels {

void native_dropout(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  const double p = args[1]->real;
  if (!require(context, args[2]->is_none() || args[2]->tag == Tag::boolean, Error::InvalidType,
               "dropout: train must be a bool or None"))
    return;
  const bool train = args[2]->is_none() || args[2]->boolean;
  Tensor &out = *args[3]->tensor, &mask = *args[4]->tensor;
  if (!require(context, p >= 0 && p <= 1, Error::InvalidArgument, "dropout: p must lie in [0, 1]")) return;
  if (!require(context, out.dtype == in.dtype && mask.dtype == DType::boolean, Error::InvalidType,
               "dropout: wrong dtype of out or mask"))
    return;
  if (!resize_or_fail(context, out, in.sizes, in.rank, "dropout: out has a different shape") ||
      !resize_or_fail(context, mask, in.sizes, in.rank, "dropout: mask has a different shape"))
    return;
  RandomState& random = context.random();
  const uint64_t base = random.offset;
  if (train) random.offset += (in.numel + 3) / 4;
  const bool known = dispatch_floating(in.dtype, [&](auto zero) {
    using T = decltype(zero);
    const NormSum<T> scale = p == 1.0 ? NormSum<T>(0) : NormSum<T>(1) / static_cast<NormSum<T>>(1.0 - p);
    RandomBlock block = {};
    for (int64_t i = 0; i < static_cast<int64_t>(in.numel); ++i) {
      if (train && i % 4 == 0) block = philox4x32(random.seed, base + static_cast<uint64_t>(i / 4));
      const bool keep = !train || static_cast<double>(block.words[i % 4]) * 0x1p-32 >= p;
      const NormSum<T> x = static_cast<NormSum<T>>(in.as<T>()[memory_offset(in, i)]);
      out.as<T>()[memory_offset(out, i)] = T(!train ? x : keep ? x * scale : NormSum<T>(0));
      mask.as<bool>()[memory_offset(mask, i)] = keep;
    }
  });
  require(context, known, Error::InvalidType, "dropout of this dtype is not defined");
}

}  // namespace kernels
}  // namespace wick
