// Kernel vocabulary: recurrences, in which each step needs the one before.
namespace wick_text {
namespace {

/// y[i + order - 1] = x[i] - sum over k < order of y[i + k] * a[k], after the order - 1 samples that y holds.
template <u32 kThreads, typename T>
WICK_FUNCTION void recursive_filter(T* y, const T* x, const T* a, i64 y_step, i64 x_step, i64 a_step, i64 samples,
                                    i64 order) {
  for (i64 i = 0; i < samples && thread_x() == 0; ++i) {
    T sum = x[i * x_step];
    for (i64 k = 0; k < order; ++k) sum -= y[(i + k) * y_step] * a[k * a_step];
    y[(i + order - 1) * y_step] = sum;
  }
}

/// One head of linear attention by the gated delta rule. For each position:
///   state *= decay;  state += key (value - key^T state) beta;  out = query^T state
/// Columns of the state do not depend on each other. `group` query heads share a key head.
template <u32 kThreads>
WICK_FUNCTION void gated_delta_rule(f32* out, f32* state, const f32* query, const f32* key, const f32* value,
                                    const f32* decay, const f32* beta, i64 length, i64 keys, i64 values, i64 group,
                                    i64 state_key, i64 state_value, i64 query_head, i64 query_time, i64 query_key,
                                    i64 key_time, i64 key_key, i64 value_time, i64 value_value, i64 decay_time,
                                    i64 decay_key, i64 beta_time) {
  for (i64 j = static_cast<i64>(thread_x()); j < values; j += kThreads) {
    f32* const column = state + j * state_value;
    for (i64 t = 0; t < length; ++t) {
      const f32* const k = key + t * key_time;
      f32 error = 0;
      for (i64 i = 0; i < keys; ++i) {
        const f32 decayed = column[i * state_key] * decay[t * decay_time + i * decay_key];
        column[i * state_key] = decayed;
        error += k[i * key_key] * decayed;
      }
      error = (value[t * value_time + j * value_value] - error) * beta[t * beta_time];
      for (i64 i = 0; i < keys; ++i) column[i * state_key] += k[i * key_key] * error;
      for (i64 head = 0; head < group; ++head) {
        const f32* const q = query + head * query_head + t * query_time;
        f32 sum = 0;
        for (i64 i = 0; i < keys; ++i) sum += q[i * query_key] * column[i * state_key];
        out[(head * length + t) * values + j] = sum;
      }
    }
  }
}

}  // namespace
}  // namespace wick_text
