// The checked arguments of attention, the arithmetic between scores and sums that its variants share, and what
// attention_int16 shares with it. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

constexpr int32_t kWeightBits = 22;  // the weights of a row add up to 2^22
constexpr int32_t kMostKeys = 1 << 15, kMostFeatures = 1 << 15;
/// The score of a key that is hidden from a query, in a mask and in `weights`.
constexpr int32_t kHidden = INT32_MIN;

/// A mask that is added to scores: a word for each key, or a byte that is 0 if the key is hidden. Null: no mask.
struct AttentionMask {
  const int32_t* added = nullptr;
  const uint8_t* seen = nullptr;
  int32_t batch_step = 0, query_step = 0;  // 0 if all have the same row
  int32_t bits = 0;                        // words count units of 2^-bits of a score
};

/// The part of attention that does not depend on the dtype of the elements.
struct AttentionForm {
  int32_t batch = 0, queries = 0, keys = 0, features = 0, outputs = 0;
  int32_t group = 1;                  // how many query batches read the same keys and values
  int32_t multiplier = 0, shift = 0;  // from differences of scores to exponents with 5 integer bits
  bool is_causal = false;
  AttentionMask mask;
  OutputStage stage;
  int32_t* weights = nullptr;  // scratch: [keys], followed by whatever else the operator needs

  /// How many keys a query sees: keys 0 to the result - 1.
  int32_t seen_by(int32_t query) const { return is_causal && query < keys ? query + 1 : keys; }
};
/// Reads sizes. Requires: q, k, v and out have the dtype.
bool read_attention_sizes(KernelContext& context, Span<EValue*> args, const Tensor& out, DType dtype,
                          AttentionForm* form);
/// Reads the mask: None, or one with matching sizes.
bool read_attention_mask(KernelContext& context, const EValue& value, int32_t bits, AttentionForm* form);
/// Reads the factor of scores, which must not be negative.
bool read_score_factor(KernelContext& context, const EValue& multiplier, const EValue& shift, AttentionForm* form);

struct Attention : AttentionForm {
  const int8_t *q = nullptr, *k = nullptr, *v = nullptr;
  int8_t* y = nullptr;
  int32_t query_offset = 0, value_offset = 0;

  const int8_t* keys_of(int32_t of_batch) const { return k + of_batch / group * keys * features; }
  const int8_t* values_of(int32_t of_batch) const { return v + of_batch / group * keys * outputs; }
};
/// Words of scratch for one query's features, behind its weights: `features`, rounded up to a multiple of four.
inline int64_t feature_words(int64_t features) { return (features + 3) / 4 * 4; }
bool read_attention(KernelContext& context, Span<EValue*> args, Attention* attention);

/// a - b, saturating.
inline int32_t saturating_sub(int32_t a, int32_t b) {
  const int64_t wide = int64_t{a} - b;
  return wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : static_cast<int32_t>(wide);
}
/// value * 2^shift, saturating; shift in [0, 30].
inline int32_t saturating_shift(int32_t value, int32_t shift) {
  const int64_t wide = static_cast<int64_t>(value) * (int64_t{1} << shift);
  return wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : static_cast<int32_t>(wide);
}

/// Converts exp(score - max) to weights: multiply by `inverse` / 2^31, then shift right by `bits`.
struct WeightScale {
  int32_t inverse, bits;
};
/// The scale for exponentials with this sum. Exponentials have no integer bits; there are at most 2^15 of them, one of
/// which is the largest possible. The weights then add up to 2^weight_bits, at most 2^30.
inline WeightScale scale_of_weights(int64_t sum, int32_t weight_bits) {
  const int32_t more = 33 - __builtin_clzll(static_cast<uint64_t>(sum));  // bits beyond 31
  const int64_t head = more > 0 ? sum >> more : sum;                      // in [2^30, 2^31)
  const int64_t inverse = (int64_t{1} << 61) / head;
  return {inverse > INT32_MAX ? INT32_MAX : static_cast<int32_t>(inverse), 30 - weight_bits + (more > 0 ? more : 0)};
}

/// Adds a query's row of the mask to its scores. Sums saturate above kHidden.
void mask_scores(const AttentionForm& attention, int32_t batch, int32_t query, int32_t* scores, int32_t count);

/// Converts scores[0 .. count) to weights that add up to about 2^kWeightBits, or to 0 if all keys are hidden. Returns
/// their sum. Uses softmax's exp_of_negative.
int32_t weights_of_scores(const Attention& attention, int32_t* scores, int32_t count);

}  // namespace wick::cortex_m
