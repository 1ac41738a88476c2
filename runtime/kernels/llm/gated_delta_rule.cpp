// The recurrence of linear attention with a gated delta rule. A key head has a state [K, V]; for each position
//   state = state * decay;  state = state + key (value - key^T state) beta;  out = query^T state
//   query [batch, own heads, length, K]; key and value [batch, heads, length, K or V]; decay like key (for each row of
//   the state) or without K; beta [batch, heads, length]; states [batch, heads, K, V]; out [batch, own heads, length,
//   V]. All f32, row-major. Query heads in a row share a key head. Source: llama::gated_delta_rule of ExecuTorch's
//   library of LLM operators, and its older name.
#include <string.h>

#include "runtime/kernels/neural/window.h"

namespace wick {
namespace {

struct GatedDelta {
  const Tensor *query, *key, *value, *decay, *beta, *initial_state;
  Tensor *out, *final_state;
};

bool sizes_are(const Tensor& t, int32_t a, int32_t b, int32_t c, int32_t d) {
  return t.rank == 4 && t.sizes[0] == a && t.sizes[1] == b && t.sizes[2] == c && t.sizes[3] == d;
}

bool check(KernelContext& context, const GatedDelta& g) {
  for (const Tensor* t : {g.query, g.key, g.value, g.decay, g.beta, g.initial_state, static_cast<const Tensor*>(g.out),
                          static_cast<const Tensor*>(g.final_state)}) {
    if (!require(context, t->dtype == DType::f32, Error::InvalidType, "gated_delta_rule: wanted f32 tensors"))
      return false;
  }
  for (const Tensor* t : {g.query, g.key, g.value, g.decay, g.beta, g.initial_state}) {
    if (!require(context, is_contiguous(*t), Error::NotSupported, "gated_delta_rule: tensors must be row-major"))
      return false;
  }
  const Tensor &k = *g.key, &v = *g.value, &decay = *g.decay, &beta = *g.beta;
  if (!require(context, g.query->rank == 4 && k.rank == 4 && v.rank == 4, Error::InvalidArgument,
               "gated_delta_rule: wanted query, key and value of rank 4"))
    return false;
  const int32_t batch = k.sizes[0], heads = k.sizes[1], length = k.sizes[2];
  bool fits = sizes_are(*g.query, batch, g.query->sizes[1], length, k.sizes[3]) &&
              sizes_are(v, batch, heads, length, v.sizes[3]) &&
              sizes_are(*g.initial_state, batch, heads, k.sizes[3], v.sizes[3]);
  const Tensor* const gates[] = {&decay, &beta};
  for (const Tensor* gate : gates) {
    fits = fits && (gate->rank == 3 || (gate == &decay && gate->rank == 4 && gate->sizes[3] == k.sizes[3])) &&
           gate->sizes[0] == batch && gate->sizes[1] == heads && gate->sizes[2] == length;
  }
  if (!require(context, fits, Error::InvalidArgument, "gated_delta_rule: the operands do not agree in size"))
    return false;
  const bool multiple = heads > 0 ? g.query->sizes[1] % heads == 0 : g.query->sizes[1] == 0;
  return require(context, multiple, Error::InvalidArgument,
                 "gated_delta_rule: the query heads are not a multiple of the key heads");
}

/// One position: the state of a head, and what the query heads read from it. `error` has room for a row of the state.
struct Step {
  const float *query, *key, *value, *decay;
  int64_t group, query_stride, decay_stride, keys, values;
  float beta;
  float *out, *state, *error;
  int64_t out_stride;

  void run() const {
    for (int64_t j = 0; j < values; ++j) error[j] = 0;
    for (int64_t i = 0; i < keys; ++i) {
      float* row = state + i * values;
      const float factor = decay[i * decay_stride], k = key[i];
      for (int64_t j = 0; j < values; ++j) {
        row[j] *= factor;
        error[j] += k * row[j];
      }
    }
    for (int64_t j = 0; j < values; ++j) error[j] = (value[j] - error[j]) * beta;
    for (int64_t i = 0; i < keys; ++i) {
      float* row = state + i * values;
      for (int64_t j = 0; j < values; ++j) row[j] += key[i] * error[j];
    }
    for (int64_t head = 0; head < group; ++head) read(query + head * query_stride, out + head * out_stride);
  }

 private:
  void read(const float* q, float* to) const {
    for (int64_t j = 0; j < values; ++j) to[j] = 0;
    for (int64_t i = 0; i < keys; ++i) {
      const float* row = state + i * values;
      for (int64_t j = 0; j < values; ++j) to[j] += q[i] * row[j];
    }
  }
};

void run_head(const GatedDelta& g, int64_t head, int64_t group, float* error) {
  const int64_t length = g.key->sizes[2], keys = g.key->sizes[3], values = g.value->sizes[3];
  const bool by_row = g.decay->rank == 4;
  const int64_t decay_length = by_row ? keys : 1;
  for (int64_t t = 0; t < length; ++t) {
    const int64_t position = head * length + t, own = head * group * length + t;
    Step step;
    step.query = g.query->as<float>() + own * keys;
    step.key = g.key->as<float>() + position * keys;
    step.value = g.value->as<float>() + position * values;
    step.decay = g.decay->as<float>() + position * decay_length;
    step.group = group;
    step.query_stride = length * keys;
    step.decay_stride = by_row ? 1 : 0;
    step.keys = keys;
    step.values = values;
    step.beta = g.beta->as<float>()[position];
    step.out = g.out->as<float>() + own * values;
    step.state = g.final_state->as<float>() + head * keys * values;
    step.error = error + head * values;
    step.out_stride = length * values;
    step.run();
  }
}

}  // namespace

namespace kernels {

// (query, key, value, decay, beta, initial_state, out, final_state_out). The final state may overwrite the initial one.
void gated_delta_rule(KernelContext& context, Span<EValue*> args) {
  const GatedDelta g{args[0]->tensor, args[1]->tensor, args[2]->tensor, args[3]->tensor,
                     args[4]->tensor, args[5]->tensor, args[6]->tensor, args[7]->tensor};
  if (!check(context, g)) return;
  const int32_t heads = g.key->sizes[1], values = g.value->sizes[3];
  const int32_t sizes[] = {g.query->sizes[0], g.query->sizes[1], g.query->sizes[2], values};
  if (!resize_or_fail(context, *g.out, sizes, 4, "gated_delta_rule: out has a different shape") ||
      !resize_or_fail(context, *g.final_state, g.initial_state->sizes, 4,
                      "gated_delta_rule: the final state has a different shape") ||
      !require(context, is_contiguous(*g.out) && is_contiguous(*g.final_state), Error::NotSupported,
               "gated_delta_rule: tensors must be row-major"))
    return;
  const size_t rows = g.value->numel == 0 ? 0 : static_cast<size_t>(sizes[0]) * static_cast<size_t>(heads);
  float* error = context.allocate_temp_array<float>(rows * static_cast<size_t>(values));
  if (!error) return;
  if (g.initial_state->numel != 0)
    memmove(g.final_state->as<float>(), g.initial_state->as<float>(), g.initial_state->numel * sizeof(float));
  if (rows == 0) return;
  const int64_t group = sizes[1] / heads;
  context.parallel_for(static_cast<int64_t>(rows), 1, [&](int64_t begin, int64_t end) {
    for (int64_t head = begin; head < end; ++head) run_head(g, head, group, error);
  });
}

void channelwise_gated_delta_rule(KernelContext& context, Span<EValue*> args) { gated_delta_rule(context, args); }

}  // namespace kernels
}  // namespace wick
