#include "backends/cortex_m/compile/ops/attention_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cortex_m/compile/quantized.h"
#include "compiler/layout/constant_elements.h"

namespace wick::cortex_m {

using compiler::Value;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kScoreBits = 28;     // scores with the mask's bits stay below 2^28, words below 2^30
constexpr double kVanishing = 32;  // exp(-32) of the largest weight is 0 in the kernel
constexpr double kFineUnit = 1.0 / 4096, kCoarsestUnit = 1.0 / 512;
// From here on f32 has no bits left for scores beside the mask: eager loses them.
constexpr double kMostOfRow = 8192;
constexpr double kMostElements = 1 << 24;

// The size of the scores in the mask's dimension rank - 1 - `back`; shapes are aligned at the last dimension.
int64_t wanted_size(const Value& q, const AttentionScores& scores, size_t back) {
  if (back == 0) return scores.keys;
  if (back == 1) return scores.queries;
  return q.sizes()[q.rank() - 1 - back].value();
}

// The largest magnitude of a score, in real numbers.
double score_bound(const AttentionScores& s) { return s.most * s.unit; }

// Finds the batch and the rows that the kernel's mask needs. Leading dimensions that are all 1 make one batch.
Refusal read_sizes(const Value& mask, const Value& q, const AttentionScores& scores, AttentionMaskElements* to) {
  if (mask.rank() > q.rank())
    return {"its mask has more dimensions than the query", "give the mask the dimensions of the scores"};
  for (size_t back = 0; back < mask.rank(); ++back) {
    const int64_t size = mask.sizes()[mask.rank() - 1 - back].value(), wanted = wanted_size(q, scores, back);
    if (size != 1 && size != wanted)
      return {"the sizes of its mask are not those of its scores", "give the mask the sizes of the scores, or 1"};
    if (back == 1 && size != 1) to->rows = scores.queries;
    if (back > 1 && size != 1) to->batch = scores.batch;
  }
  return {};
}

// The index of the mask's element for a key of a row, with broadcasting.
size_t source_index(const Value& mask, const Value& q, const AttentionScores& scores, int64_t batch, int64_t row,
                    int64_t key) {
  size_t index = 0, step = 1;
  int64_t rest = batch;
  for (size_t back = 0; back < mask.rank(); ++back) {
    const int64_t size = mask.sizes()[mask.rank() - 1 - back].value(), all = wanted_size(q, scores, back);
    int64_t at = back == 0 ? key : row;
    if (back > 1) {
      at = rest % all;
      rest /= all;
    }
    index += static_cast<size_t>(size == 1 ? 0 : at) * step;
    step *= static_cast<size_t>(size);
  }
  return index;
}

// The mask's numbers as [batch, rows, keys]; empty if there are too many, or if numbers() does not read its dtype.
std::vector<double> spread(const Value& mask, const Value& q, const AttentionScores& scores,
                           const AttentionMaskElements& to) {
  const std::vector<double> from = numbers(mask);
  const double count = static_cast<double>(to.batch) * static_cast<double>(to.rows) * static_cast<double>(scores.keys);
  std::vector<double> out;
  if (from.empty() || count > kMostElements) return out;
  for (int64_t b = 0; b < to.batch; ++b) {
    for (int64_t row = 0; row < to.rows; ++row) {
      for (int64_t key = 0; key < scores.keys; ++key) out.push_back(from[source_index(mask, q, scores, b, row, key)]);
    }
  }
  return out;
}

// Replaces numbers by -inf where they are so far below the largest one of their row that the key's weight is 0 whatever
// its score is.
Refusal hide_keys(std::vector<double>& values, const AttentionScores& scores) {
  const size_t keys = static_cast<size_t>(scores.keys);
  for (size_t row = 0; row < values.size(); row += keys) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row),
               end = begin + static_cast<std::ptrdiff_t>(keys);
    if (std::any_of(begin, end, [](double value) { return std::isnan(value) || value == kInfinity; }))
      return {"its mask has elements that are not numbers", "mask with booleans, or with numbers and -inf"};
    const double most = *std::max_element(begin, end);
    if (most == -kInfinity) continue;
    if (std::abs(most) > kMostOfRow)
      return {"a row of its mask lies so far from 0 that f32 has no room for scores",
              "mask with booleans or -inf, or subtract the largest number of the row from it"};
    for (auto at = begin; at != end; ++at) {
      if (*at < most - 2 * score_bound(scores) - kVanishing) *at = -kInfinity;
    }
  }
  return {};
}

Refusal read_numbers(const Value& mask, const Value& q, const AttentionScores& scores, AttentionMaskElements* to) {
  std::vector<double> values = spread(mask, q, scores, *to);
  if (values.empty())
    return {"its mask takes more than 64 MB, or its dtype is neither boolean, f32 nor f64",
            "use a boolean mask, or one that broadcasts over batches and heads"};
  if (mask.dtype() == DType::boolean) {
    for (const double value : values) to->seen.push_back(value != 0);
    return {};
  }
  Refusal reason = hide_keys(values, scores);
  if (!reason.empty()) return reason;
  if (std::all_of(values.begin(), values.end(), [](double value) { return value == 0 || value == -kInfinity; })) {
    for (const double value : values) to->seen.push_back(value == 0);
    return {};
  }
  double unit = scores.unit;
  while (unit > kFineUnit && std::ldexp(scores.most, static_cast<int>(to->bits) + 1) <= std::ldexp(1.0, kScoreBits)) {
    ++to->bits;
    unit /= 2;
  }
  if (unit > kCoarsestUnit)
    return {"its scores are too coarse to add a mask to", "use a boolean mask, or smaller scales of query and key"};
  for (const double value : values) {
    const double word = std::nearbyint(value / unit);
    if (value != -kInfinity && std::abs(word) > 0x1p30)
      return {"its scores are too fine to add this mask to", "use a boolean mask, or -inf for keys that are hidden"};
    to->words.push_back(value == -kInfinity ? INT32_MIN : static_cast<int32_t>(word));
  }
  return {};
}

}  // namespace

Refusal read_attention_mask(const compiler::Node& node, const AttentionScores& scores, AttentionMaskElements* to) {
  const Value *mask = node.optional_tensor("attn_mask"), *q = node.tensor("query");
  if (!mask) return {};
  if (node.boolean("is_causal")) return {"it has a mask beside the causal one", "put both into one boolean mask"};
  Refusal reason = read_sizes(*mask, *q, scores, to);
  if (!reason.empty()) return reason;
  if (!mask->is_constant()) {
    to->computed = true;
    return mask->dtype() == DType::boolean ? Refusal{}
                                           : Refusal{"its mask is of numbers that are computed when the program runs",
                                                     "compute a boolean mask instead, or make it a constant"};
  }
  return read_numbers(*mask, *q, scores, to);
}

Value* attention_mask(compiler::Builder& b, const compiler::Node& node, const AttentionScores& scores,
                      const AttentionMaskElements& mask) {
  const compiler::Sizes sizes = {mask.batch, mask.rows, scores.keys};
  if (!mask.words.empty()) return constant(b, sizes, mask.words, "mask");
  if (!mask.seen.empty())
    return b.constant(compiler::TensorType{DType::boolean, sizes, {}}, compiler::layout::own(mask.seen), "mask");
  if (!mask.computed) return nullptr;
  const Value* q = node.tensor("query");
  compiler::Sizes whole;
  for (size_t back = q->rank(); back-- > 2;) whole.push_back(mask.batch == 1 ? 1 : wanted_size(*q, scores, back));
  whole.push_back(mask.rows);
  whole.push_back(scores.keys);
  return b.reshape(b.expand(node.optional_tensor("attn_mask"), whole), sizes);
}

}  // namespace wick::cortex_m
