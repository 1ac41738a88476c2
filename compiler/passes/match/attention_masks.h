// Attention masks: selects between scores and minus infinity or a very low number, and masks in sums of scores.
#pragma once
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// A finite number in place of minus infinity. Adding a score to it neither overflows nor comes near other scores.
double lowest_score(DType dtype);
/// The largest finite number, above all scores.
double highest_score(DType dtype);

bool is_lowest(const Arg& arg, DType dtype);
bool is_minus_infinity(const Arg& arg, DType dtype);

/// A select between scores and the lowest number.
struct MaskSelect {
  Value* condition = nullptr;
  Value* scores = nullptr;
  bool keeps = true;      // scores where the condition is true
  bool infinite = false;  // the other number is minus infinity
};

std::optional<MaskSelect> match_select(const Node& node);

/// min(scores, mask), as additive_masks writes it.
bool is_masking(const Node& node);

/// The terms of a sum of scores that are masks or hold one: selects, constants with minus infinity, the caller's
/// tensors.
void find_masks(Value* value, int depth, std::vector<Value*>& out);

/// Whether the value comes from a matmul, as scores do.
bool is_scores(const Value* value);

/// The kinds of masks in a sum of scores. Minus infinity must stay below the lowest finite numbers of other masks. Two
/// lowest numbers must not be added where the model had one.
struct MaskKinds {
  bool infinite = false, finite = false;
  bool unknown = false;  // a summand that may be a mask of any kind
  bool nested = false;   // a select whose scores hold a mask
  int masks = 0;         // summands that may be masks, except unknown ones
  bool can_be_added() const { return !nested && !(infinite && (finite || unknown)); }
};

void collect_mask_kinds(Value* value, int depth, MaskKinds& kinds);

/// A bool for each score, or for each row of scores, that distinguishes -inf from other numbers.
struct LiveScores {
  const Value* scores = nullptr;
  bool of_rows = false;  // for each row: whether it has a score that is not -inf
  bool is_live = true;   // false: the opposite
};

/// Recognises comparisons with -inf, negations, and any or all over the last dim. A row of one score is that score.
std::optional<LiveScores> live_scores(const Value* condition, int depth = 0);

/// True if no row of the mask consists only of minus infinity.
bool is_never_empty(const Value& mask);

/// Whether the mask is a select between a finite lowest number and scores without a mask.
bool is_finite_choice(const Value& mask);

}  // namespace wick::compiler
