// Random tensors. Element i (in logical order) uses block offset + i / 4, or + i / 2 where it needs two words, so the
// values depend on the seed and the blocks drawn before, never on threads or memory order. The numbers differ from
// eager's.
#include "common/random.h"

#include <type_traits>

#include "common/math/math.h"
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

/// Takes the blocks for `count` elements, `each` of them per block. Returns the first.
uint64_t take_blocks(RandomState& random, int64_t count, int64_t each) {
  const uint64_t first = random.offset;
  random.offset += static_cast<uint64_t>((count + each - 1) / each);
  return first;
}

/// out[i] = draw(block, lane of the block, i) with `each` lanes a block; draw gives double or int64.
template <typename Draw>
void generate(KernelContext& context, Tensor& out, int64_t each, const Draw& draw) {
  const int64_t count = static_cast<int64_t>(out.numel);
  const DType dtype = out.dtype;
  const int64_t size = static_cast<int64_t>(dtype_size_bytes(dtype));
  if (count == 0) return;
  uint8_t* target = static_cast<uint8_t*>(contiguous_target(context, out));
  if (!target) return;
  const uint64_t seed = context.random().seed;
  const uint64_t first = take_blocks(context.random(), count, each);
  context.parallel_for((count + each - 1) / each, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const RandomBlock block = philox4x32(seed, first + static_cast<uint64_t>(b));
      decltype(draw(block, int64_t{0}, int64_t{0})) values[4] = {};
      const DType drawn =
          std::is_floating_point<decltype(draw(block, int64_t{0}, int64_t{0}))>::value ? DType::f64 : DType::i64;
      const int64_t n = count - b * each < each ? count - b * each : each;
      for (int64_t lane = 0; lane < n; ++lane) values[lane] = draw(block, lane, b * each + lane);
      convert_elements(target + b * each * size, dtype, 1, values, drawn, 1, n);
    }
  });
  store_contiguous(context, out, target);
}

bool require_floating(KernelContext& context, const Tensor& out) {
  if (is_floating(out.dtype) && dtype_size_bytes(out.dtype) >= 2) return true;
  context.fail(Error::InvalidType, "out must be floating");
  return false;
}

/// Uniform in [from, to), with no more bits than the dtype has so that rounding never gives `to`.
void draw_uniform(KernelContext& context, double from, double to, Tensor& out) {
  if (!require_floating(context, out)) return;
  if (out.dtype == DType::f64) {
    generate(context, out, 2, [&](const RandomBlock& block, int64_t lane, int64_t) {
      return from + (to - from) * uniform_double(block.words[2 * lane], block.words[2 * lane + 1]);
    });
    return;
  }
  const int drop = out.dtype == DType::f32 ? 8 : out.dtype == DType::f16 ? 21 : 24;
  const double unit = 1.0 / static_cast<double>(uint64_t{1} << (32 - drop));
  generate(context, out, 4, [&](const RandomBlock& block, int64_t lane, int64_t) {
    return from + (to - from) * (static_cast<double>(block.words[lane] >> drop) * unit);
  });
}

double normal(const RandomBlock& block, int64_t lane) {
  const int64_t pair = lane / 2 * 2;
  return normal_double(block.words[pair], block.words[pair + 1], lane % 2);
}

void draw_normal(KernelContext& context, double mean, double deviation, Tensor& out) {
  if (!require_floating(context, out) || !require(context, deviation >= 0, "the standard deviation is negative"))
    return;
  generate(context, out, 4,
           [&](const RandomBlock& block, int64_t lane, int64_t) { return mean + deviation * normal(block, lane); });
}

/// Uniform integers in [low, high).
void draw_integers(KernelContext& context, int64_t low, int64_t high, Tensor& out) {
  if (!require(context, low < high, "low must be less than high")) return;
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  generate(context, out, 2, [&](const RandomBlock& block, int64_t lane, int64_t) {
    const uint64_t word = uint64_t{block.words[2 * lane]} << 32 | block.words[2 * lane + 1];
    return static_cast<int64_t>(static_cast<uint64_t>(low) + word % range);
  });
}

bool resize_to(KernelContext& context, Tensor& out, Span<const int64_t> sizes) {
  return require(context, sizes.size() <= kMaxRank, "the result has more than 16 dimensions") &&
         resize_out(context, out, sizes.data(), static_cast<int>(sizes.size()));
}

}  // namespace

void rand_out(KernelContext& context, Span<EValue*> args) {
  if (resize_to(context, *args[1]->tensor, args[0]->ints())) draw_uniform(context, 0, 1, *args[1]->tensor);
}
void rand_like_out(KernelContext& context, Span<EValue*> args) {
  if (resize_like(context, *args[2]->tensor, *args[0]->tensor)) draw_uniform(context, 0, 1, *args[2]->tensor);
}
void uniform_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[4]->tensor;
  const double from = args[1]->real, to = args[2]->real;
  if (!require(context, from <= to && to - from < math::kInfinity, "uniform needs finite bounds in order")) return;
  if (resize_like(context, out, *args[0]->tensor)) draw_uniform(context, from, to, out);
}
void randn_out(KernelContext& context, Span<EValue*> args) {
  if (resize_to(context, *args[1]->tensor, args[0]->ints())) draw_normal(context, 0, 1, *args[1]->tensor);
}
void randn_like_out(KernelContext& context, Span<EValue*> args) {
  if (resize_like(context, *args[2]->tensor, *args[0]->tensor)) draw_normal(context, 0, 1, *args[2]->tensor);
}
void normal_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[4]->tensor;
  if (resize_like(context, out, *args[0]->tensor)) draw_normal(context, args[1]->real, args[2]->real, out);
}
void randint_out(KernelContext& context, Span<EValue*> args) {
  if (resize_to(context, *args[2]->tensor, args[1]->ints()))
    draw_integers(context, 0, args[0]->integer, *args[2]->tensor);
}
void randint_low_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[3]->tensor;
  if (resize_to(context, out, args[2]->ints())) draw_integers(context, args[0]->integer, args[1]->integer, out);
}
void randint_like_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[3]->tensor;
  if (resize_like(context, out, *args[0]->tensor)) draw_integers(context, 0, args[1]->integer, out);
}
void randint_like_low_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[4]->tensor;
  if (resize_like(context, out, *args[0]->tensor)) draw_integers(context, args[1]->integer, args[2]->integer, out);
}

/// -log(1 - u) / lambda.
void exponential_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[3]->tensor;
  const double lambda = args[1]->real;
  if (!require(context, lambda > 0, "lambda must be positive") || !require_floating(context, out)) return;
  if (!resize_like(context, out, *args[0]->tensor)) return;
  generate(context, out, 2, [&](const RandomBlock& block, int64_t lane, int64_t) {
    return -math::log1p(-uniform_double(block.words[2 * lane], block.words[2 * lane + 1])) / lambda;
  });
}

namespace {
/// 1 with the probability of each element of p (row-major doubles), else 0.
void draw_bernoulli(KernelContext& context, const Tensor& p, Tensor& out) {
  const View src = view_of(p);
  const int64_t count = static_cast<int64_t>(p.numel);
  double* chances = context.allocate_temp_array<double>(p.numel);
  if (!chances || !require_real(context, p, "probabilities must be real")) return;
  convert_view(context, contiguous_view(chances, src.sizes, src.rank), DType::f64, src, p.dtype);
  for (int64_t i = 0; i < count; ++i) {
    if (!require(context, chances[i] >= 0 && chances[i] <= 1, "a probability is outside [0, 1]")) return;
  }
  if (!resize_out(context, out, src.sizes, src.rank)) return;
  generate(context, out, 2, [&](const RandomBlock& block, int64_t lane, int64_t i) {
    return static_cast<int64_t>(uniform_double(block.words[2 * lane], block.words[2 * lane + 1]) < chances[i]);
  });
}
}  // namespace

void bernoulli_out(KernelContext& context, Span<EValue*> args) {
  draw_bernoulli(context, *args[0]->tensor, *args[2]->tensor);
}
void bernoulli_tensor_out(KernelContext& context, Span<EValue*> args) {
  draw_bernoulli(context, *args[1]->tensor, *args[3]->tensor);
}
void bernoulli_float_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[3]->tensor;
  const double p = args[1]->real;
  if (!require(context, p >= 0 && p <= 1, "a probability is outside [0, 1]")) return;
  if (!resize_like(context, out, *args[0]->tensor)) return;
  generate(context, out, 2, [&](const RandomBlock& block, int64_t lane, int64_t) {
    return static_cast<int64_t>(uniform_double(block.words[2 * lane], block.words[2 * lane + 1]) < p);
  });
}

/// The Fisher-Yates shuffle.
void randperm_out(KernelContext& context, Span<EValue*> args) {
  const int64_t n = args[0]->integer;
  Tensor& out = *args[1]->tensor;
  if (!resize_out(context, out, &n, 1) || n == 0) return;
  int64_t* order = context.allocate_temp_array<int64_t>(static_cast<size_t>(n));
  if (!order) return;
  const uint64_t first = take_blocks(context.random(), n, 1);
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  for (int64_t i = n - 1; i > 0; --i) {
    const RandomBlock block = philox4x32(context.random().seed, first + static_cast<uint64_t>(i));
    const uint64_t word = uint64_t{block.words[0]} << 32 | block.words[1];
    const int64_t other = static_cast<int64_t>(word % static_cast<uint64_t>(i + 1));
    const int64_t kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  convert_view(context, view_of(out), out.dtype, contiguous_view(order, &n, 1), DType::i64);
}

/// Draws columns of each row, with probabilities proportional to the weights. Without replacement, a drawn weight
/// becomes 0.
void multinomial_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const int64_t samples = args[1]->integer;
  const bool replacement = args[2]->boolean;
  Tensor& out = *args[4]->tensor;
  const View src = view_of(self);
  if (!require(context, (src.rank == 1 || src.rank == 2) && is_floating(self.dtype),
               "weights must be a floating vector or matrix"))
    return;
  const int64_t columns = src.sizes[src.rank - 1], rows = src.rank == 2 ? src.sizes[0] : 1;
  if (!require(context, samples > 0 && samples <= INT32_MAX && columns > 0, "the number of samples must be positive"))
    return;
  if (!require(context, replacement || samples <= columns, "too many samples without replacement")) return;
  if (!require_dtype(context, out, DType::i64, "out must be i64")) return;
  double* weights = context.allocate_temp_array<double>(self.numel);
  if (!weights) return;
  convert_view(context, contiguous_view(weights, src.sizes, src.rank), DType::f64, src, self.dtype);
  const int64_t sizes[2] = {rows, samples};
  if (!resize_out(context, out, src.rank == 2 ? sizes : sizes + 1, src.rank) || out.numel == 0) return;
  int64_t* target = static_cast<int64_t*>(contiguous_target(context, out));
  if (!target) return;
  const uint64_t first = take_blocks(context.random(), rows * samples, 1);
  for (int64_t i = 0; i < rows * samples; ++i) {
    double* row = weights + i / samples * columns;
    double total = 0;
    int64_t chosen = -1;
    for (int64_t c = 0; c < columns; ++c) {
      if (!require(context, row[c] >= 0 && math::is_finite(row[c]), "a weight is negative or not finite")) return;
      total += row[c];
    }
    if (!require(context, total > 0 && math::is_finite(total), "the weights of a row do not have a positive sum"))
      return;
    const RandomBlock block = philox4x32(context.random().seed, first + static_cast<uint64_t>(i));
    double left = uniform_double(block.words[0], block.words[1]) * total;
    for (int64_t c = 0; c < columns; ++c) {
      if (row[c] == 0) continue;
      chosen = c;
      left -= row[c];
      if (left < 0) break;
    }
    target[i] = chosen;
    if (!replacement) row[chosen] = 0;
  }
  store_contiguous(context, out, target);
}

}  // namespace kernels
}  // namespace wick
