// Poisson, binomial and gamma distributions: one parameter for each element. Element i draws from a stream of its own,
// keyed by block number offset + i. The numbers differ from eager's. Wick's own operators: eager's also take a
// generator.
#include "common/distributions.h"

#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

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
      RandomStream stream(seed, first + static_cast<uint64_t>(i));
      const double value = draw(stream, i);
      convert_elements(target + i * size, dtype, 1, &value, DType::f64, 1, 1);
    }
  });
  store_contiguous(context, out, target);
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
  draw_each(context, rates, out, [&](RandomStream& stream, int64_t i) { return draw_poisson(stream, rate[i]); });
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
            [&](RandomStream& stream, int64_t i) { return draw_binomial(stream, count[i], chance[i]); });
}

void standard_gamma_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& shapes = *args[0]->tensor;
  Tensor& out = *args[1]->tensor;
  if (!require_floats(context, shapes, out)) return;
  const double* alpha = read_doubles(context, shapes);
  if (!alpha || !require_parameters(context, alpha, shapes.numel, "a shape is negative or not finite")) return;
  draw_each(context, shapes, out, [&](RandomStream& stream, int64_t i) { return draw_gamma(stream, alpha[i]); });
}

}  // namespace kernels
}  // namespace wick
