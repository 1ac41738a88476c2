// attention(q, k, v, mask?, mask_bits, query_zero_point, value_zero_point, score_multiplier, score_shift, is_causal,
// output_zero_point, output_multiplier, output_shift, scratch): int8 q [B, M, D], k [G, N, D], v [G, N, E] -> [B, M,
// E]. B is a multiple of G; B / G consecutive batches of the query read the same keys. For each query:
//   s[n] = sum_d (q[d] - query_zero_point) k[n][d]         the zero point of k adds the same to all, and cancels out
//   s[n] = 2^mask_bits s[n] + mask[n]                      for an int32 mask; saturates. INT32_MIN hides the key
//   e[n] = exp((s[n] - max s) multiplier 2^(shift - 31 - 26)), a number without integer bits (softmax's)
//   p[n] = round(2^22 e[n] / sum of e)
//   y[e] = clamp(requantize(sum_n p[n] (v[n][e] - value_zero_point)) + output_zero_point)
// With is_causal, query m sees the keys 0 .. m; a boolean mask hides keys where it is false. If a query sees no key,
// all its weights are 0. Scores and sums are exact in 32 bits, so the result is rounded once, apart from the errors of
// the N weights: half a unit of 2^-22 each, and a few units of 2^-31 because of exp.
#include "backends/cortex_m/kernels/attention/attention.h"

namespace wick::cortex_m::reference {
namespace {

void attend(const Attention& a, int32_t batch, int32_t query) {
  const int32_t row = batch * a.queries + query, count = a.seen_by(query);
  const int8_t *q = a.q + row * a.features, *k = a.keys_of(batch), *v = a.values_of(batch);
  int8_t* y = a.y + row * a.outputs;
  for (int32_t n = 0; n < count; ++n) {
    int32_t sum = 0;
    for (int32_t d = 0; d < a.features; ++d) sum += (q[d] + a.query_offset) * k[n * a.features + d];
    a.weights[n] = sum;
  }
  mask_scores(a, batch, query, a.weights, count);
  const int32_t total = weights_of_scores(a, a.weights, count);
  for (int32_t e = 0; e < a.outputs; ++e) {
    int32_t sum = total * a.value_offset;
    for (int32_t n = 0; n < count; ++n) sum += a.weights[n] * v[n * a.outputs + e];
    y[e] = a.stage(sum);
  }
}

}  // namespace

void attention(KernelContext& context, Span<EValue*> args) {
  Attention a;
  if (!read_attention(context, args, &a)) return;
  for (int32_t b = 0; b < a.batch; ++b) {
    for (int32_t m = 0; m < a.queries; ++m) attend(a, b, m);
  }
}

}  // namespace wick::cortex_m::reference
