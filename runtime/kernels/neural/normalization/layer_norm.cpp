// y = (x - mean) / sqrt(variance + eps) * weight + bias over the last dimensions; also gives mean and 1 / sqrt(variance
// + eps). Source: aten::native_layer_norm, Core ATen IR.
#include "runtime/kernels/movement/strided.h"
#include "runtime/kernels/neural/normalization/normalization.h"

namespace wick {
namespace kernels {
namespace {

struct LayerNorm {
  const Tensor* in;
  const Tensor* weight;
  const Tensor* bias;
  double epsilon;
  Tensor* out;
  Tensor* mean;
  Tensor* deviation;  // inverse
  int64_t rows, size;
};

template <typename T>
void store(Tensor& to, int64_t row, T value) {
  to.as<T>()[memory_offset(to, row)] = value;
}

void normalize_f32(KernelContext& context, const LayerNorm& n) {
  const HotKernels& kernels = hot(context.isa());
  const float* weight = n.weight ? n.weight->as<float>() : nullptr;
  const float* bias = n.bias ? n.bias->as<float>() : nullptr;
  context.parallel_for(n.rows, 4096 / (n.size + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* x = n.in->as<float>() + row * n.size;
      float mean, deviation;
      kernels.moments_row(x, n.size, static_cast<float>(n.epsilon), &mean, &deviation);
      kernels.normalize_row(x, mean, deviation, weight, bias, n.out->as<float>() + row * n.size, n.size);
      store(*n.mean, row, mean);
      store(*n.deviation, row, deviation);
    }
  });
}

template <typename T>
void normalize_any(KernelContext& context, const LayerNorm& n) {
  using Sum = NormSum<T>;
  context.parallel_for(n.rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto at = [&](int64_t i) {
        return static_cast<Sum>(n.in->as<T>()[memory_offset(*n.in, row * n.size + i)]);
      };
      Sum mean, deviation;
      moments<Sum>(n.size, static_cast<Sum>(n.epsilon), at, &mean, &deviation);
      for (int64_t i = 0; i < n.size; ++i) {
        const Sum y =
            (at(i) - mean) * deviation * element_or<T>(n.weight, i, Sum(1)) + element_or<T>(n.bias, i, Sum(0));
        n.out->as<T>()[memory_offset(*n.out, row * n.size + i)] = T(y);
      }
      store(*n.mean, row, T(mean));
      store(*n.deviation, row, T(deviation));
    }
  });
}

/// `count` elements at `from` as f32 in temp memory.
float* widened(KernelContext& context, const void* from, DType dtype, int64_t count) {
  float* copy = context.allocate_temp_array<float>(static_cast<size_t>(count));
  if (!copy) return nullptr;
  const View source = contiguous_view(const_cast<void*>(from), &count, 1);
  convert_view(context, contiguous_view(copy, &count, 1), DType::f32, source, dtype);
  return copy;
}

/// Contiguous 16-bit floats, computed on an f32 copy. False, with nothing done, if temp memory has no room for it.
template <typename T>
bool normalize_half(KernelContext& context, const LayerNorm& n) {
  const int64_t count = n.rows * n.size;
  const uint64_t floats = static_cast<uint64_t>(count) + 2 * static_cast<uint64_t>(n.size);
  if (floats * sizeof(float) + 256 > context.temp_available()) return false;
  const HotKernels& kernels = hot(context.isa());
  float* copy = widened(context, n.in->data, n.in->dtype, count);
  const float* weight = n.weight ? widened(context, n.weight->data, n.in->dtype, n.size) : nullptr;
  const float* bias = n.bias ? widened(context, n.bias->data, n.in->dtype, n.size) : nullptr;
  if (!context.ok()) return true;
  context.parallel_for(n.rows, 4096 / (n.size + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* x = copy + row * n.size;
      float mean, deviation;
      kernels.moments_row(x, n.size, static_cast<float>(n.epsilon), &mean, &deviation);
      kernels.normalize_row(x, mean, deviation, weight, bias, x, n.size);
      store(*n.mean, row, T(mean));
      store(*n.deviation, row, T(deviation));
    }
  });
  convert_view(context, contiguous_view(n.out->data, &count, 1), n.out->dtype, contiguous_view(copy, &count, 1),
               DType::f32);
  return true;
}

}  // namespace

void native_layer_norm(KernelContext& context, Span<EValue*> args) {
  LayerNorm n = {args[0]->tensor,
                 optional(args[2]),
                 optional(args[3]),
                 args[4]->real,
                 args[5]->tensor,
                 args[6]->tensor,
                 args[7]->tensor,
                 1,
                 1};
  const Span<const int64_t> shape = args[1]->ints();
  const int first = n.in->rank - static_cast<int>(shape.size());
  if (!require(context, !shape.empty() && shape.size() <= n.in->rank, Error::InvalidArgument,
               "layer norm: normalized_shape has a wrong rank"))
    return;
  int32_t sizes[kMaxRank];
  for (int d = 0; d < n.in->rank; ++d) {
    sizes[d] = d < first ? n.in->sizes[d] : 1;
    (d < first ? n.rows : n.size) *= n.in->sizes[d];
    if (!require(context, d < first || n.in->sizes[d] == shape[static_cast<size_t>(d - first)], Error::InvalidArgument,
                 "layer norm: normalized_shape must be the input's last sizes"))
      return;
  }
  const DType dtype = n.in->dtype;
  const bool types = n.out->dtype == dtype && n.mean->dtype == dtype && n.deviation->dtype == dtype;
  if (!require(context, types && is_vector(n.weight, dtype, n.size) && is_vector(n.bias, dtype, n.size),
               Error::InvalidArgument, "layer norm: weight and bias must have normalized_shape, all tensors one dtype"))
    return;
  if (!resize_or_fail(context, *n.out, n.in->sizes, n.in->rank, "layer norm: out has a different shape") ||
      !resize_or_fail(context, *n.mean, sizes, n.in->rank, "layer norm: mean has a different shape") ||
      !resize_or_fail(context, *n.deviation, sizes, n.in->rank, "layer norm: rstd has a different shape") ||
      n.rows == 0)
    return;
  if (dtype == DType::f32 && n.size > 0 && is_contiguous(*n.in) && is_contiguous(*n.out))
    return normalize_f32(context, n);
  if (n.size > 0 && is_contiguous(*n.in) && is_contiguous(*n.out)) {
    if (dtype == DType::f16 && normalize_half<Half>(context, n)) return;
    if (dtype == DType::bf16 && normalize_half<BFloat16>(context, n)) return;
  }
  require(context, dispatch_floating(dtype, [&](auto zero) { normalize_any<decltype(zero)>(context, n); }),
          Error::InvalidType, "layer norm of this dtype is not defined");
}

}  // namespace kernels
}  // namespace wick
