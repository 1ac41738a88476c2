// Poisson, binomial and gamma distributions: one parameter for each element. Element i draws from a stream of its own,
// keyed by block number offset + i. Not the numbers eager draws. Ours: eager's also take a generator.
// Source: Hormann, "The transformed rejection method for generating Poisson random variables" (1993) and "The
// generation of binomial random variates" (1993); Marsaglia and Tsang, "A simple method for generating gamma variables"
// (2000).
#include "common/math/math.h"
#include "common/random.h"
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

class Stream {
 public:
  explicit Stream(const RandomBlock& key) : key_(uint64_t{key.words[0]} << 32 | key.words[1]) {}
  /// In [0, 1).
  double uniform() {
    if (!has_second_) block_ = philox4x32(key_, counter_++);
    has_second_ = !has_second_;
    return has_second_ ? uniform_double(block_.words[0], block_.words[1])
                       : uniform_double(block_.words[2], block_.words[3]);
  }
  /// By Box and Muller.
  double normal() {
    const double radius = math::sqrt(-2 * math::log(1 - uniform()));
    return radius * math::cos(2 * math::kPi * uniform());
  }

 private:
  uint64_t key_, counter_ = 0;
  RandomBlock block_{};
  bool has_second_ = false;
};

/// The parameter as row-major doubles; null after a failure.
double* read_doubles(KernelContext& context, const Tensor& tensor) {
  double* out = context.allocate_temp_array<double>(tensor.numel);
  if (!out) return nullptr;
  const View from = view_of(tensor);
  convert_view(context, contiguous_view(out, from.sizes, from.rank), DType::f64, from, tensor.dtype);
  return out;
}

bool require_floats(KernelContext& context, const Tensor& parameter, const Tensor& out) {
  if (is_floating(parameter.dtype) && is_floating(out.dtype) && dtype_size_bytes(out.dtype) >= 2) return true;
  context.fail(Error::InvalidType, "the distribution is one of floating tensors");
  return false;
}

/// out[i] = draw(stream of i, i), as large as `like`.
template <typename Draw>
void draw_each(KernelContext& context, const Tensor& like, Tensor& out, const Draw& draw) {
  if (!resize_like(context, out, like) || out.numel == 0) return;
  const int64_t count = static_cast<int64_t>(out.numel), size = static_cast<int64_t>(dtype_size_bytes(out.dtype));
  uint8_t* target = static_cast<uint8_t*>(contiguous_target(context, out));
  if (!target) return;
  RandomState& random = context.random();
  const uint64_t first = random.offset, seed = random.seed;
  random.offset += static_cast<uint64_t>(count);
  const DType dtype = out.dtype;
  context.parallel_for(count, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Stream stream(philox4x32(seed, first + static_cast<uint64_t>(i)));
      const double value = draw(stream, i);
      convert_elements(target + i * size, dtype, 1, &value, DType::f64, 1, 1);
    }
  });
  store_contiguous(context, out, target);
}

double draw_poisson_few(Stream& stream, double rate) {
  const double least = math::exp(-rate);
  double product = stream.uniform(), count = 0;
  for (; product > least; product *= stream.uniform()) ++count;
  return count;
}

double draw_poisson(Stream& stream, double rate) {
  if (rate < 10) return rate == 0 ? 0 : draw_poisson_few(stream, rate);
  const double b = 0.931 + 2.53 * math::sqrt(rate), a = -0.059 + 0.02483 * b, log_rate = math::log(rate);
  const double log_inverse_alpha = math::log(1.1239 + 1.1328 / (b - 3.4)), sure = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = stream.uniform() - 0.5, v = stream.uniform(), us = 0.5 - math::abs(u);
    const double k = math::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= sure) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double height = math::log(v) + log_inverse_alpha - math::log(a / (us * us) + b);
    if (height <= k * log_rate - rate - math::lgamma(k + 1)) return k;
  }
}

/// Counts the successes by the number of trials up to each.
double draw_binomial_few(Stream& stream, double count, double chance) {
  const double log_failure = math::log1p(-chance);
  double trials = 0, successes = 0;
  for (;; ++successes) {
    trials += math::ceil(math::log(stream.uniform()) / log_failure);
    if (!(trials <= count)) return successes;
  }
}

/// chance in (0, 0.5].
double draw_binomial_half(Stream& stream, double n, double chance) {
  if (n * chance < 10) return draw_binomial_few(stream, n, chance);
  const double deviation = math::sqrt(n * chance * (1 - chance)), b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * chance, sure = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation;
  const double top = math::floor((n + 1) * chance), log_odds = math::log(chance / (1 - chance));
  const double at_top = math::lgamma(top + 1) + math::lgamma(n - top + 1);
  for (;;) {
    const double u = stream.uniform() - 0.5, v = stream.uniform(), us = 0.5 - math::abs(u);
    const double k = math::floor((2 * a / us + b) * u + n * chance + 0.5);
    if (us >= 0.07 && v <= sure) return k;
    if (!(k >= 0 && k <= n)) continue;
    const double height = math::log(v * alpha / (a / (us * us) + b));
    if (height <= at_top - math::lgamma(k + 1) - math::lgamma(n - k + 1) + (k - top) * log_odds) return k;
  }
}

double draw_binomial(Stream& stream, double count, double chance) {
  if (math::is_nan(chance)) return math::kNaN;
  if (count <= 0 || chance <= 0) return 0;
  if (chance >= 1) return count;
  return chance <= 0.5 ? draw_binomial_half(stream, count, chance)
                       : count - draw_binomial_half(stream, count, 1 - chance);
}

double draw_gamma(Stream& stream, double alpha) {
  if (alpha == 0) return 0;
  double scale = 1;
  if (alpha < 1) {
    scale = math::pow(1 - stream.uniform(), 1 / alpha);
    alpha += 1;
  }
  const double d = alpha - 1.0 / 3, c = 1 / math::sqrt(9 * d);
  for (;;) {
    const double x = stream.normal(), y = 1 + c * x;
    if (y <= 0) continue;
    const double v = y * y * y, u = 1 - stream.uniform(), square = x * x;
    if (u < 1 - 0.0331 * square * square || math::log(u) < 0.5 * square + d * (1 - v + math::log(v)))
      return scale * d * v;
  }
}

/// Whether each parameter is a number of at least 0.
bool require_parameters(KernelContext& context, const double* values, size_t count, const char* message) {
  for (size_t i = 0; i < count; ++i) {
    if (!require(context, values[i] >= 0 && math::is_finite(values[i]), message)) return false;
  }
  return true;
}

}  // namespace

void poisson_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& rates = *args[0]->tensor;
  Tensor& out = *args[1]->tensor;
  if (!require_floats(context, rates, out)) return;
  const double* rate = read_doubles(context, rates);
  if (!rate || !require_parameters(context, rate, rates.numel, "a rate is negative or not finite")) return;
  draw_each(context, rates, out, [&](Stream& stream, int64_t i) { return draw_poisson(stream, rate[i]); });
}

void binomial_out(KernelContext& context, Span<EValue*> args) {
  const Tensor &counts = *args[0]->tensor, &chances = *args[1]->tensor;
  Tensor& out = *args[2]->tensor;
  if (!require_floats(context, counts, out) || !require_floats(context, chances, out)) return;
  bool same = counts.rank == chances.rank;
  for (int d = 0; same && d < counts.rank; ++d) same = counts.sizes[d] == chances.sizes[d];
  if (!require(context, same, "counts and chances have different sizes")) return;
  const double* count = read_doubles(context, counts);
  const double* chance = count ? read_doubles(context, chances) : nullptr;
  if (!chance || !require_parameters(context, count, counts.numel, "a count is negative or not finite")) return;
  draw_each(context, counts, out,
            [&](Stream& stream, int64_t i) { return draw_binomial(stream, math::floor(count[i]), chance[i]); });
}

void standard_gamma_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& shapes = *args[0]->tensor;
  Tensor& out = *args[1]->tensor;
  if (!require_floats(context, shapes, out)) return;
  const double* alpha = read_doubles(context, shapes);
  if (!alpha || !require_parameters(context, alpha, shapes.numel, "a shape is negative or not finite")) return;
  draw_each(context, shapes, out, [&](Stream& stream, int64_t i) { return draw_gamma(stream, alpha[i]); });
}

}  // namespace kernels
}  // namespace wick
