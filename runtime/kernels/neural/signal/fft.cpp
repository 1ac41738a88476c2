// Fourier transforms over several dimensions.   Source: aten::_fft_r2c, aten::_fft_c2r, aten::_fft_c2c.
// normalization 0: none, 1: divided by sqrt(n), 2: divided by n, n the product of the transformed sizes.
#include <string.h>

#include <algorithm>
#include <complex>

#include "common/math/math.h"
#include "runtime/kernels/neural/signal/fourier.h"
#include "runtime/kernels/neural/window.h"

namespace wick {
namespace kernels {
namespace {

/// The lines along `dim`, one for each position in the other dimensions.
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

// A gap between arrays, in numbers: at distances of a power of two they would share cache sets. It also has room for
// one more number per lane.
constexpr int64_t kArrayGap = 24;

constexpr int64_t kMostLanes = 8;

/// How many lines are transformed side by side: as many as a vector has numbers, but fewer if long lines would exceed
/// the caches or there is little temp memory.
int64_t choose_lanes(const KernelContext& context, const FourierPlan& plan, int64_t lines, int64_t tasks) {
  constexpr int64_t kMostNumbers = 8192;
  const uint64_t available = context.temp_available() / (4 * sizeof(double));
  int64_t lanes = kMostLanes;
  const auto fits = [&] {
    const uint64_t numbers = static_cast<uint64_t>(fourier_numbers(plan, lanes) + kArrayGap);
    return lanes / 2 < lines && numbers <= kMostNumbers && numbers * static_cast<uint64_t>(tasks) <= available;
  };
  while (lanes > 1 && !fits()) lanes /= 2;
  return lanes;
}

/// Up to these lengths eager computes even lengths by the definition: a number that is not finite reaches exactly those
/// results in which its factor is not 0. For longer ones this depends on how eager factors a length.
constexpr int64_t kDefinedReal = 16, kDefinedComplex = 14;

/// The results of a line that contains numbers that are not finite.
struct DefinedLine {
  double re[kDefinedReal], im[kDefinedReal];
  bool is_used = false;
};

/// line[k] <- sum_j x[j] exp(-+ 2 pi i j k / n) for k < count, without terms whose factor is 0.
void transform_by_definition(const double* re, const double* im, int64_t n, bool forward, int64_t count,
                             DefinedLine* line) {
  for (int64_t k = 0; k < count; ++k) {
    line->re[k] = line->im[k] = 0;
    for (int64_t j = 0; j < n; ++j) {
      double cosine, sine;
      root_of_unity(j * k % n, n, &cosine, &sine);
      if (!forward) sine = -sine;
      if (cosine != 0) {
        line->re[k] += re[j] * cosine;
        line->im[k] += im[j] * cosine;
      }
      if (sine != 0) {
        line->re[k] -= im[j] * sine;
        line->im[k] += re[j] * sine;
      }
    }
  }
}

/// Moves lines between memory and the lanes of a transform. In and Out are real or complex elements of type F. A real
/// input has no imaginary part; a real output drops it; a half spectrum (complex in, real out) is completed by
/// symmetry. Lines with an even number of real elements use a complex transform of half the length.
template <typename In, typename Out, typename F>
struct LineTransform {
  static constexpr bool kRealIn = sizeof(In) == sizeof(F), kRealOut = sizeof(Out) == sizeof(F);
  const Pass& pass;
  const Tensor& from;
  Tensor& to;
  const int64_t n = pass.n, half = n / 2;
  const bool halved = (kRealIn || kRealOut) && n % 2 == 0;
  const Lines in = {&from, pass.dim}, out = {&to, pass.dim};
  const int64_t in_step = from.strides[pass.dim], out_step = to.strides[pass.dim];
  const int64_t available = from.sizes[pass.dim], written = to.sizes[pass.dim];
  int64_t lanes = 1;

  const F* source(int64_t line) const { return reinterpret_cast<const F*>(from.as<In>() + in.offset(to, line)); }
  F* target(int64_t line) const { return reinterpret_cast<F*>(to.as<Out>() + out.offset(to, line)); }
  double real_at(const F* x, int64_t k) const { return k < available ? static_cast<double>(x[k * in_step]) : 0; }

  void load_halves(const F* x, const ComplexArray& data) const {
    for (int64_t k = 0; k < half; ++k) {
      data.re[k * lanes] = real_at(x, 2 * k);
      data.im[k * lanes] = real_at(x, 2 * k + 1);
    }
  }
  /// Loads the first `count` numbers, `step` apart. If a half spectrum has fewer, the rest are their mirror image.
  void load(const F* x, int64_t count, int64_t step, const ComplexArray& data) const {
    for (int64_t k = 0; k < count; ++k) {
      const bool mirrored = kRealOut && k > half;
      const int64_t at = mirrored ? n - k : k;
      double re = 0, im = 0;
      if (kRealIn) {
        re = real_at(x, at);
      } else if (at < available) {
        re = static_cast<double>(x[2 * at * in_step]);
        im = static_cast<double>(x[2 * at * in_step + 1]);
        if (kRealOut && (k == 0 || 2 * k == n)) im = 0;
      }
      data.re[k * step] = re;
      data.im[k * step] = mirrored ? -im : im;
    }
  }
  bool may_be_defined() const { return n % 2 == 0 && n <= (halved ? kDefinedReal : kDefinedComplex); }
  void define(const F* x, DefinedLine* line) const {
    double re[kDefinedReal], im[kDefinedReal];
    bool is_finite = true;
    load(x, n, 1, {re, im});
    for (int64_t k = 0; k < n; ++k) is_finite = is_finite && math::is_finite(re[k]) && math::is_finite(im[k]);
    line->is_used = !is_finite;
    if (!is_finite) transform_by_definition(re, im, n, pass.forward, written, line);
  }
  void store_defined(const DefinedLine& line, F* y) const {
    for (int64_t k = 0; k < written; ++k) {
      if (kRealOut) {
        y[k * out_step] = static_cast<F>(line.re[k] * pass.scale);
      } else {
        y[2 * k * out_step] = static_cast<F>(line.re[k] * pass.scale);
        y[2 * k * out_step + 1] = static_cast<F>(line.im[k] * pass.scale);
      }
    }
  }
  void store(const ComplexArray& data, F* y) const {
    for (int64_t k = 0; k < written; ++k) {
      const bool mirrored = halved && k > half;
      const int64_t at = (mirrored ? n - k : k) * lanes;
      if (kRealOut) {
        const double number = !halved ? data.re[at] : (k % 2 == 0 ? data.re : data.im)[k / 2 * lanes];
        y[k * out_step] = static_cast<F>(number * pass.scale);
      } else {
        y[2 * k * out_step] = static_cast<F>(data.re[at] * pass.scale);
        y[2 * k * out_step + 1] = static_cast<F>((mirrored ? -data.im[at] : data.im[at]) * pass.scale);
      }
    }
  }

  /// Lines [first, first + count), count <= lanes.
  void run(const HotKernels& kernels, const FourierPlan& plan, const ComplexArray& turns, int64_t first, int64_t count,
           const ComplexArray& data, const ComplexArray& scratch) const {
    DefinedLine defined[kMostLanes];
    for (int64_t l = 0; l < count; ++l) {
      const ComplexArray lane = {data.re + l, data.im + l};
      if (may_be_defined()) define(source(first + l), &defined[l]);
      if (halved && kRealIn) {
        load_halves(source(first + l), lane);
      } else if (halved) {
        load(source(first + l), half + 1, lanes, {scratch.re + l, scratch.im + l});
      } else {
        load(source(first + l), n, lanes, lane);
      }
    }
    if (halved && kRealOut) halves_of_spectrum(scratch, turns, half, lanes, data);
    fourier_transform(kernels, plan, pass.forward, lanes, data, scratch);
    if (halved && kRealIn) spectrum_of_halves(data, turns, half, lanes, scratch);
    const ComplexArray& result = halved && kRealIn ? scratch : data;
    for (int64_t l = 0; l < count; ++l) {
      if (defined[l].is_used)
        store_defined(defined[l], target(first + l));
      else
        store({result.re + l, result.im + l}, target(first + l));
    }
  }
};

/// from -> to along pass.dim, line by line.
template <typename In, typename Out, typename F>
void transform(KernelContext& context, const Pass& pass, const Tensor& from, Tensor& to) {
  LineTransform<In, Out, F> t = {pass, from, to};
  FourierPlan plan;
  if (!make_fourier_plan(context, t.halved ? t.half : t.n, &plan)) return;
  const ComplexArray turns = t.halved ? make_roots(context, t.n, t.half / 2 + 1) : ComplexArray();
  const int64_t lines = static_cast<int64_t>(to.numel) / t.written;
  int64_t tasks = std::min<int64_t>(std::max<int64_t>(context.num_threads(), 1), std::max<int64_t>(lines, 1));
  t.lanes = choose_lanes(context, plan, lines, tasks);
  const int64_t groups = (lines + t.lanes - 1) / t.lanes;
  tasks = std::min(tasks, std::max<int64_t>(groups, 1));
  const int64_t numbers = fourier_numbers(plan, t.lanes) + kArrayGap;
  double* memory = context.allocate_temp_array<double>(static_cast<size_t>(4 * numbers * tasks));
  if (!memory || !context.ok()) return;
  const HotKernels& kernels = hot(context.isa());
  context.parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      double* base = memory + task * 4 * numbers;
      const ComplexArray data = {base, base + numbers}, scratch = {base + 2 * numbers, base + 3 * numbers};
      memset(base, 0, static_cast<size_t>(4 * numbers) * sizeof(double));  // lanes without a line in the last group
      for (int64_t group = groups * task / tasks; group < groups * (task + 1) / tasks; ++group) {
        const int64_t first = group * t.lanes, count = lines - first < t.lanes ? lines - first : t.lanes;
        t.run(kernels, plan, turns, first, count, data, scratch);
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
  int dims[kMaxRank] = {};
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
  int dims[kMaxRank] = {};
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
  int dims[kMaxRank] = {};
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
