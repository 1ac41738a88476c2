// Fourier transforms over several dimensions.   Source: aten::_fft_r2c, aten::_fft_c2r, aten::_fft_c2c.
// normalization 0: none, 1: divided by sqrt(n), 2: divided by n, n the product of the transformed sizes.
#include <complex>

#include "common/math/math.h"
#include "runtime/kernels/neural/signal/fourier.h"
#include "runtime/kernels/neural/window.h"

namespace wick {
namespace kernels {
namespace {

/// Elements along `dim` for every position of the other dimensions.
struct Lines {
  const Tensor* tensor;
  int dim;
  int64_t offset(const Tensor& shape, int64_t line) const {
    int64_t at = 0;
    for (int d = tensor->rank - 1; d >= 0; --d) {
      if (d == dim) continue;
      at += line % shape.sizes[d] * tensor->strides[d];
      line /= shape.sizes[d];
    }
    return at;
  }
};

struct Pass {
  int dim;
  int64_t n;  // transform length
  bool forward;
  double scale;  // of the result
};

bool read_dims(KernelContext& context, const Tensor& self, Span<const int64_t> list, int* dims) {
  bool used[kMaxRank] = {};
  if (!require(context, !list.empty() && list.size() <= self.rank, Error::InvalidArgument,
               "fft: wanted one or more dimensions"))
    return false;
  for (size_t i = 0; i < list.size(); ++i) {
    const int64_t dim = list[i] < 0 ? list[i] + self.rank : list[i];
    if (!require(context, dim >= 0 && dim < self.rank && !used[dim], Error::InvalidArgument,
                 "fft: dimension out of range or repeated"))
      return false;
    used[dim] = true;
    dims[i] = static_cast<int>(dim);
  }
  return true;
}

double scale_of(int64_t normalization, double count) {
  return normalization == 0 ? 1 : normalization == 1 ? 1 / math::sqrt(count) : 1 / count;
}

/// from -> to along pass.dim, line by line. In and Out are real or complex elements of type F. A real input has no
/// imaginary part; a real output drops it; a half spectrum (complex in, real out) is completed by symmetry.
template <typename In, typename Out, typename F>
void transform(KernelContext& context, const Pass& pass, const Tensor& from, Tensor& to) {
  constexpr bool real_in = sizeof(In) == sizeof(F), real_out = sizeof(Out) == sizeof(F);
  FourierPlan plan;
  if (!make_fourier_plan(context, pass.n, &plan)) return;
  const int64_t tasks = context.num_threads() < 1 ? 1 : context.num_threads(), each = plan.n + plan.scratch();
  Complex* memory = context.allocate_temp_array<Complex>(static_cast<size_t>(tasks) * static_cast<size_t>(each));
  if (!memory) return;
  const Lines in = {&from, pass.dim}, out = {&to, pass.dim};
  const int64_t in_step = from.strides[pass.dim], out_step = to.strides[pass.dim];
  const int64_t available = from.sizes[pass.dim], written = to.sizes[pass.dim];
  const int64_t lines = static_cast<int64_t>(to.numel) / written;
  context.parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      Complex* line = memory + task * each;
      for (int64_t index = lines * task / tasks; index < lines * (task + 1) / tasks; ++index) {
        const F* x = reinterpret_cast<const F*>(from.as<In>() + in.offset(to, index));
        F* y = reinterpret_cast<F*>(to.as<Out>() + out.offset(to, index));
        for (int64_t k = 0; k < plan.n; ++k) {
          const bool mirrored = real_out && k > plan.n / 2;
          const int64_t at = mirrored ? plan.n - k : k;
          if (at >= available) {
            line[k] = {0, 0};
          } else if (real_in) {
            line[k] = {static_cast<double>(x[at * in_step]), 0};
          } else {
            const double im = static_cast<double>(x[2 * at * in_step + 1]);
            line[k] = {static_cast<double>(x[2 * at * in_step]), mirrored                                  ? -im
                                                                 : real_out && (k == 0 || 2 * k == plan.n) ? 0
                                                                                                           : im};
          }
        }
        fourier_transform(plan, pass.forward, line, line + plan.n);
        for (int64_t k = 0; k < written; ++k) {
          if (real_out) {
            y[k * out_step] = static_cast<F>(line[k].re * pass.scale);
          } else {
            y[2 * k * out_step] = static_cast<F>(line[k].re * pass.scale);
            y[2 * k * out_step + 1] = static_cast<F>(line[k].im * pass.scale);
          }
        }
      }
    }
  });
}

template <typename F>
void transform_as(KernelContext& context, const Pass& pass, bool real_in, bool real_out, const Tensor& from,
                  Tensor& to) {
  using C = std::complex<F>;
  if (real_in) return transform<F, C, F>(context, pass, from, to);
  if (real_out) return transform<C, F, F>(context, pass, from, to);
  transform<C, C, F>(context, pass, from, to);
}

void transform_any(KernelContext& context, const Pass& pass, const Tensor& from, Tensor& to) {
  const bool real_in = !is_complex(from.dtype), real_out = !is_complex(to.dtype);
  const bool single = to.dtype == DType::f32 || to.dtype == DType::c64;
  single ? transform_as<float>(context, pass, real_in, real_out, from, to)
         : transform_as<double>(context, pass, real_in, real_out, from, to);
}

/// Is `complex` the complex dtype of `real`?
bool belong(DType real, DType complex) {
  return (real == DType::f32 && complex == DType::c64) || (real == DType::f64 && complex == DType::c128);
}

bool prepare(KernelContext& context, const Tensor& self, const EValue& dim_list, int64_t normalization, int* dims,
             int32_t* sizes) {
  if (!require(context, normalization >= 0 && normalization <= 2, Error::InvalidArgument, "fft: unknown normalization"))
    return false;
  for (int d = 0; d < self.rank; ++d) sizes[d] = self.sizes[d];
  return read_dims(context, self, dim_list.ints(), dims);
}

}  // namespace

void fft_c2c(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  Tensor& out = *args[4]->tensor;
  int dims[kMaxRank];
  int32_t sizes[kMaxRank];
  const int64_t normalization = args[2]->integer;
  if (!prepare(context, self, *args[1], normalization, dims, sizes)) return;
  if (!require(context, (self.dtype == DType::c64 || self.dtype == DType::c128) && out.dtype == self.dtype,
               Error::InvalidType, "fft: wanted c64 or c128 in and out"))
    return;
  if (!resize_or_fail(context, out, sizes, self.rank, "fft: out has a different shape") || out.numel == 0) return;
  const Tensor* from = &self;
  for (size_t i = args[1]->ints().size(); i-- > 0 && context.ok();) {
    const int64_t n = self.sizes[dims[i]];
    transform_any(context, {dims[i], n, args[3]->boolean, scale_of(normalization, static_cast<double>(n))}, *from, out);
    from = &out;
  }
}

void fft_r2c(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  Tensor& out = *args[4]->tensor;
  int dims[kMaxRank];
  int32_t sizes[kMaxRank];
  const int64_t normalization = args[2]->integer;
  if (!prepare(context, self, *args[1], normalization, dims, sizes)) return;
  if (!require(context, belong(self.dtype, out.dtype), Error::InvalidType, "fft: wanted f32 to c64 or f64 to c128"))
    return;
  const size_t count = args[1]->ints().size();
  const int last = dims[count - 1];
  if (args[3]->boolean && sizes[last] > 0) sizes[last] = sizes[last] / 2 + 1;
  if (!resize_or_fail(context, out, sizes, self.rank, "fft: out has a different shape") || out.numel == 0) return;
  for (size_t i = count; i-- > 0 && context.ok();) {
    const int64_t n = self.sizes[dims[i]];
    transform_any(context, {dims[i], n, true, scale_of(normalization, static_cast<double>(n))},
                  i + 1 == count ? self : out, out);
  }
}

void fft_c2r(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const int64_t last_size = args[3]->integer, normalization = args[2]->integer;
  Tensor& out = *args[4]->tensor;
  int dims[kMaxRank];
  int32_t sizes[kMaxRank];
  if (!prepare(context, self, *args[1], normalization, dims, sizes)) return;
  if (!require(context, belong(out.dtype, self.dtype), Error::InvalidType, "fft: wanted c64 to f32 or c128 to f64"))
    return;
  const size_t count = args[1]->ints().size();
  const int last = dims[count - 1];
  if (!require(context, last_size >= 1 && last_size <= INT32_MAX, Error::InvalidArgument,
               "fft: last size must be positive"))
    return;
  sizes[last] = static_cast<int32_t>(last_size);
  if (!resize_or_fail(context, out, sizes, self.rank, "fft: out has a different shape") || out.numel == 0) return;
  if (!require(context, self.numel > 0, Error::InvalidArgument, "fft: empty input")) return;
  Tensor spectrum = self;
  if (count > 1) {
    spectrum.data = context.allocate_temp(self.nbytes());
    if (!spectrum.data) return;
  }
  const Tensor* from = &self;
  for (size_t i = 0; i + 1 < count && context.ok(); ++i) {
    const int64_t n = self.sizes[dims[i]];
    transform_any(context, {dims[i], n, false, scale_of(normalization, static_cast<double>(n))}, *from, spectrum);
    from = &spectrum;
  }
  if (context.ok())
    transform_any(context, {last, last_size, false, scale_of(normalization, static_cast<double>(last_size))}, *from,
                  out);
}

}  // namespace kernels
}  // namespace wick
