#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <unordered_set>

#include "compiler/analysis/data_movement.h"
#include "compiler/analysis/value_ranges.h"
#include "compiler/analysis/zero_signs.h"
#include "compiler/ir/quantization.h"
#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/constants/weights.h"
#include "compiler/passes/match/attention_masks.h"
#include "compiler/passes/match/bounds.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

constexpr int kMaxDepthOfSum = 16;
// Numbers from here on round to infinity in f16.
constexpr double kFirstInfiniteHalf = 65520;

Value* mask_operand(const Node& node, size_t index) { return node.arg(index).as<Value*>(); }

bool is_zero(const Arg& arg, DType dtype) {
  const auto element = number_of(arg, dtype);
  return element && element->is(0);
}

class Masker {
 public:
  explicit Masker(Graph& graph) : graph_(graph), ranges_(graph), bounds_(graph) {}

  Changed run() {
    std::vector<Node*> softmaxes, choices;
    for (const auto& node : graph_.nodes()) {
      if (is_last_softmax(*node)) softmaxes.push_back(node.get());
    }
    for (Node* node : softmaxes) prove_guards(*node);
    for (Node* node : softmaxes) make_additive(*node);
    for (const auto& node : graph_.nodes()) {
      if (node->is("aten.where.self")) choices.push_back(node.get());
    }
    for (Node* node : choices) multiply_guard(*node);
    for (Node* node : softmaxes) {
      if (safe_.count(node) != 0) give_zero_rows(*node);
    }
    erase_unread(graph_, left_);
    return changed_;
  }

 private:
  static bool is_last_softmax(const Node& node) {
    if (!node.is("aten._softmax.default")) return false;
    const Value* x = moved(node);
    return x->rank() > 0 && is_floating(x->dtype()) && node.result()->dtype() == x->dtype() &&
           static_cast<size_t>(wrap_dim(node.static_integer("dim"), x->rank())) + 1 == x->rank();
  }

  // Calls forget() on `value` and the values between it and a softmax: for an empty row they now hold other numbers.
  // Returns whether `value` is computed from a softmax.
  static bool forget_behind_softmax(Value* value, int depth, std::unordered_map<const Value*, bool>& known) {
    Node* node = value->producer;
    if (!node || depth > kMaxDepthOfSum) return false;
    if (const auto found = known.find(value); found != known.end()) return found->second;
    bool behind = is_last_softmax(*node);
    for (Value* mask_operand : node->operands())
      behind = forget_behind_softmax(mask_operand, depth + 1, known) || behind;
    if (behind) value->forget();
    return known[value] = behind;
  }

  // Replaces `node`, a guard, by `value`, which is `unguarded` or computed from it.
  void replace(Node& node, Value* value, Value* unguarded) {
    std::unordered_map<const Value*, bool> known;
    forget_behind_softmax(unguarded, 0, known);
    graph_.replace(node.result(), value);
    left_.push_back(&node);
    changed_ = Changed::yes;
  }

  // --- where(no score is above minus infinity, 0, softmax) ---

  // Whether `dead` is true exactly for the rows of `scores` that hold only minus infinity.
  static bool is_known_empty(const Value* dead, const Value* scores) {
    const auto live = live_scores(dead);
    return live && live->of_rows && !live->is_live && live->scores == scores;
  }

  // Masks that may leave a row empty, alone or in combination.
  static std::vector<Value*> emptying_masks(Value* scores) {
    std::vector<Value*> masks;
    find_masks(scores, 0, masks);
    // Two masks together may leave no element of a row, although each alone leaves one.
    std::erase_if(masks, [](const Value* mask) { return is_finite_choice(*mask); });
    return masks;
  }

  // Whether the model itself tests for the NaN of rows without a score.
  bool is_asked_for_nan(const Node& softmax) const {
    if (!ranges_.asks_for_nan(softmax.result())) return false;
    if (std::find(guarded_.begin(), guarded_.end(), &softmax) != guarded_.end()) return false;
    const std::vector<Value*> masks = emptying_masks(moved(softmax));
    return masks.size() > 1 || (masks.size() == 1 && !is_never_empty(*masks[0]));
  }

  void prove_guards(Node& softmax) {
    Value *scores = moved(softmax), *result = softmax.result();
    const std::vector<Node*> readers = result->users();
    for (Node* guard : readers) {
      if (!guard->is("aten.where.self") || guard->result()->type != result->type) continue;
      if (mask_operand(*guard, 2) != result || !is_zero(guard->arg(1), result->dtype())) continue;
      if (!is_known_empty(mask_operand(*guard, 0), scores) || has_infinite_scores(scores, 0)) continue;
      const bool alone = result->num_uses() == 1;
      const std::vector<Value*> masks = emptying_masks(scores);
      if (masks.empty() || (masks.size() == 1 && is_never_empty(*masks[0]))) {
        if (alone && may_overflow(*scores)) safe_.insert(&softmax);
        replace(*guard, result, result);
      } else if (masks.size() == 1 && masks[0] != scores) {
        Builder b(graph_, guard);
        if (Value* live = live_rows(b, *masks[0])) {
          replace(*guard, b.call("aten.mul.Tensor", {result, live}), result);
          if (alone) guarded_.push_back(&softmax);
        }
      }
    }
  }

  // Whether the scores themselves, without their masks, hold infinities or NaN. A matmul spreads these over whole rows,
  // which no mask hides.
  bool has_infinite_scores(const Value* value, int depth) {
    if (value->is_constant() || is_scores(value)) return false;
    const Node* node = value->producer;
    if (!node || depth > kMaxDepthOfSum) return !is_finite(value);
    if (is_plain_add(*node))
      return has_infinite_scores(mask_operand(*node, 0), depth + 1) ||
             has_infinite_scores(mask_operand(*node, 1), depth + 1);
    if (const auto select = match_select(*node)) return has_infinite_scores(select->scores, depth + 1);
    if (moves_data(*node) || node->is("aten._to_copy.default")) return has_infinite_scores(moved(*node), depth + 1);
    return !is_finite(value);
  }
  bool is_finite(const Value* value) {
    return ranges_.of(value).is_finite() && (value->dtype() != DType::f32 || bounds_.is_finite(value));
  }

  // 1 for rows of the mask with an element above minus infinity, else 0. Null if that cannot be computed from the mask.
  Value* live_rows(Builder& b, Value& mask) {
    const auto select = mask.producer ? match_select(*mask.producer) : std::nullopt;
    if (select && !is_zero(select->scores, mask.dtype())) return nullptr;
    Value* live = live_mask(b, mask);
    return live ? b.cast(live, mask.dtype()) : nullptr;
  }

  // Tests which elements are not minus infinity, before casts: a backend that computes the casts then need not output
  // their results for a test that it does not compute.
  static Value* test_elements(Builder& b, Value* mask) {
    const Node* cast = mask->producer && mask->producer->is("aten._to_copy.default") ? mask->producer : nullptr;
    const DType from = cast ? moved(*cast)->dtype() : mask->dtype(), to = mask->dtype();
    if (from == DType::f32 && to == DType::f16)
      return b.call("aten.logical_not", {b.call("aten.le.Scalar", {moved(*cast), -kFirstInfiniteHalf})});
    if (is_16_bit(from) && to == DType::f32) return test_elements(b, moved(*cast));
    return b.call("aten.ne.Scalar", {mask, -INFINITY});
  }

  // Whether a row of the mask has an element above minus infinity. Selected scores count as such.
  static Value* live_mask(Builder& b, Value& mask) {
    const auto select = mask.producer ? match_select(*mask.producer) : std::nullopt;
    Value* above = select ? select->condition : test_elements(b, &mask);
    if (select && !select->keeps) above = b.call("aten.logical_not", {above});
    if (above->rank() == 0) return nullptr;
    return b.call("aten.any.dims", {above, Ints{static_cast<int64_t>(above->rank()) - 1}, true});
  }

  // --- softmax(where(condition, scores, -inf)) ---

  void make_additive(Node& softmax) {
    Builder b(graph_, &softmax);
    Value* scores = moved(softmax);
    MaskKinds kinds;
    collect_mask_kinds(scores, 0, kinds);
    if (!kinds.can_be_added() || (has_infinite_scores(scores, 0) && !is_exact_choice(*scores))) return;
    if (is_asked_for_nan(softmax)) return;
    dead_ = safe_.count(&softmax) != 0 ? -INFINITY : lowest_score(scores->dtype());
    Value* finite = without_infinity(b, scores, 0);
    if (finite == scores || finite->type != scores->type) return;
    if (scores->producer) left_.push_back(scores->producer);
    graph_.set_arg(&softmax, 0, finite);
    changed_ = Changed::yes;
  }

  // The same sum with finite additive masks. Returns the value itself if there is nothing to change.
  Value* without_infinity(Builder& b, Value* value, int depth) {
    std::vector<Value*> masks;
    find_masks(value, depth, masks);
    if (masks.empty() || depth > kMaxDepthOfSum) return value;
    if (value->is_constant()) return finite_constant(b, *value);
    if (value->producer) {
      const Node& node = *value->producer;
      if (is_plain_add(node)) {
        for (const size_t mask : {0, 1}) {
          if (Value* limit = limit_of_halves(b, mask_operand(node, mask)))
            return b.call("aten.minimum", {without_infinity(b, mask_operand(node, 1 - mask), depth + 1), limit});
        }
        Value *x = without_infinity(b, mask_operand(node, 0), depth + 1),
              *y = without_infinity(b, mask_operand(node, 1), depth + 1);
        return x == mask_operand(node, 0) && y == mask_operand(node, 1) ? value : b.call("aten.add.Tensor", {x, y});
      }
      if (const auto select = match_select(node)) return finite_select(b, value, *select, depth);
    }
    return has_guard(value) ? b.call("aten.clamp", {value, lowest_score(value->dtype())}) : value;
  }

  static bool is_compared(const Value* value) {
    return std::any_of(value->users().begin(), value->users().end(), [&](const Node* reader) {
      return (reader->is("aten.ne.Scalar") || reader->is("aten.eq.Scalar")) &&
             is_minus_infinity(reader->arg(1), value->dtype());
    });
  }

  // Whether something compares the tensor, or its sum with scores, with minus infinity. Otherwise it is an ordinary
  // operand.
  static bool has_guard(const Value* value) {
    for (int i = 0; i < kMaxDepthOfSum; ++i) {
      const bool added = std::any_of(value->users().begin(), value->users().end(), [&](const Node* reader) {
        return is_plain_add(*reader) && is_compared(reader->result()) &&
               (is_scores(mask_operand(*reader, 0)) || is_scores(mask_operand(*reader, 1)));
      });
      if (added || is_compared(value)) return true;
      const bool moves =
          value->producer && (moves_data(*value->producer) || value->producer->is("aten._to_copy.default"));
      if (!moves) return false;
      value = moved(*value->producer);
    }
    return false;
  }

  Value* finite_constant(Builder& b, const Value& constant) const {
    Reals64 numbers = reals_of(constant);
    for (double& number : numbers) number = std::max(number, std::min(dead_, lowest_score(constant.dtype())));
    auto bytes = rounded(numbers, constant.dtype());
    return bytes ? b.constant(constant.tensor(), std::move(*bytes), constant.name) : const_cast<Value*>(&constant);
  }

  Value* finite_select(Builder& b, Value* value, const MaskSelect& select, int depth) {
    const DType dtype = value->dtype();
    const bool bare = is_zero(select.scores, dtype);
    if (bare && !select.infinite) return value;
    const double low = select.infinite ? dead_ : lowest_score(dtype);
    const auto mask = [&](double kept, double masked) { return select_numbers(b, select, dtype, kept, masked); };
    if (bare) return b.expand(mask(0, low), value->sizes());
    Value* scores = without_infinity(b, select.scores, depth + 1);
    // Scores of f16 are not negligible beside a finite lowest score, which counts in rows that hold nothing else.
    const bool absorbs = select.infinite || dtype != DType::f16;
    if (absorbs && is_small(select.scores, low)) return b.call("aten.add.Tensor", {scores, mask(0, low)});
    if (has_infinite_scores(select.scores, 0)) scores = b.call("aten.maximum", {scores, mask(-INFINITY, low)});
    return b.call("aten.minimum", {scores, mask(highest_score(dtype), least_score(low, dtype))});
  }

  // A limit in place of a mask of 0 and minus infinity that is added to scores of f16: min(scores, limit). A finite
  // number added instead of minus infinity might not be below all other scores. Null for other masks.
  Value* limit_of_halves(Builder& b, Value* mask) const {
    if (mask->is_constant() && mask->dtype() == DType::f16) return limit_of_constant(b, *mask);
    const auto select = mask->producer && mask->dtype() == DType::f16 ? match_select(*mask->producer) : std::nullopt;
    if (!select || !select->infinite || !is_zero(select->scores, DType::f16)) return nullptr;
    return b.expand(select_numbers(b, *select, DType::f16, highest_score(DType::f16), least_score(dead_, DType::f16)),
                    mask->sizes());
  }

  // limit_of_halves() for a constant mask.
  Value* limit_of_constant(Builder& b, const Value& mask) const {
    Reals64 numbers = reals_of(mask);
    bool masks = false;
    for (double& number : numbers) {
      if (number != 0 && number != -INFINITY) return nullptr;
      masks |= number != 0;
      number = number == 0 ? highest_score(DType::f16) : least_score(dead_, DType::f16);
    }
    auto bytes = masks ? rounded(numbers, DType::f16) : std::nullopt;
    return bytes ? b.constant(mask.tensor(), std::move(*bytes), mask.name) : nullptr;
  }

  // Odd f32 numbers that are positive where the condition holds and negative elsewhere. The condition compares constant
  // integers (positions of a causal mask) and was too large to be stored. Null for other conditions.
  static Value* signs_of(Builder& b, const Value& condition) {
    static constexpr struct {
      Binary comparison;
      double sign, at_equal;  // sign * 2 * (other - self) + at_equal
    } kComparisons[] = {{Binary::le, 1, 1}, {Binary::lt, 1, -1}, {Binary::ge, -1, 1}, {Binary::gt, -1, -1}};
    constexpr double kLargest = 0x1p21;  // the numbers are exact in f32
    const Node* node = condition.producer;
    const auto* comparison = std::find_if(std::begin(kComparisons), std::end(kComparisons),
                                          [&](const auto& row) { return node && node->is(row.comparison); });
    if (comparison == std::end(kComparisons)) return nullptr;
    Values terms;
    for (size_t i = 0; i < 2; ++i) {
      if (!node->arg(i).is<Value*>()) return nullptr;
      const Value& positions = *mask_operand(*node, i);
      if (!positions.is_constant() || !is_integral(positions.dtype()) || !positions.tensor().dim_order.empty() ||
          !NumberList::can_hold(positions.dtype()))
        return nullptr;
      const NumberList list{positions.dtype(), positions.data};
      if (list.range().least < -kLargest || list.range().largest > kLargest) return nullptr;
      const bool is_self = i == 0;
      Reals64 numbers = list.all();
      for (double& number : numbers)
        number = 2 * comparison->sign * (is_self ? -number : number) + (is_self ? 0 : comparison->at_equal);
      TensorType type = positions.tensor();
      type.dtype = DType::f32;
      terms.push_back(b.constant(std::move(type), *rounded(numbers, DType::f32), "positions"));
    }
    return b.call("aten.add.Tensor", {terms[0], terms[1]});
  }

  // `kept` for the scores that `select` keeps, else `masked`.
  static Value* select_numbers(Builder& b, const MaskSelect& select, DType dtype, double kept, double masked) {
    // Numbers of one magnitude, or 0 and a number, are a factor times a clamped sum, which any backend computes where
    // it is needed.
    const double condition_holds = select.keeps ? kept : masked, otherwise = select.keeps ? masked : kept;
    const bool opposite = condition_holds == -otherwise && condition_holds != 0;
    const bool is_product = opposite || ((condition_holds == 0) != (otherwise == 0));
    if ((dtype == DType::f32 || dtype == DType::f16) && is_product && std::isfinite(kept) && std::isfinite(masked)) {
      if (Value* signs = signs_of(b, *select.condition)) {
        const double low = otherwise == 0 ? 0.0 : -1.0, high = condition_holds == 0 ? 0.0 : 1.0;
        const double factor = condition_holds != 0 ? condition_holds : -otherwise;
        return b.call("aten.mul.Scalar", {b.cast(b.call("aten.clamp", {signs, low, high}), dtype), factor});
      }
    }
    Value *x = b.scalar(kept, dtype), *y = b.scalar(masked, dtype);
    if (!select.keeps) std::swap(x, y);
    return b.call("aten.where.self", {select.condition, x, y});
  }

  // The number for masked scores in a minimum, to which nothing is added.
  static double least_score(double low, DType dtype) { return std::isfinite(low) ? -highest_score(dtype) : low; }

  // Whether scores are so small that scores plus `low` have no weight beside all other scores.
  bool is_small(const Value* scores, double low) const {
    constexpr double kSmall = 0x1p64, kNoWeight = 104;
    const ValueRange range = ranges_.of(scores);
    return range.is_finite() && range.min >= -kSmall && range.max <= kSmall && low <= range.min - range.max - kNoWeight;
  }

  // A select between a finite lowest number and scores that may be infinite, but not NaN.
  bool is_exact_choice(const Value& scores) {
    const auto select = scores.producer ? match_select(*scores.producer) : std::nullopt;
    return select && !select->infinite && scores.dtype() == DType::f32 && bounds_.is_number(select->scores);
  }

  // --- rows of minus infinity ---

  // Whether finite numbers may give scores of minus infinity, apart from masks. Scores of f16 may not: they are
  // computed in f32.
  static bool may_overflow(const Value& scores) {
    const Value* value = &scores;
    for (int i = 0; i < kMaxDepthOfSum && value->producer; ++i) {
      const Node& node = *value->producer;
      const auto select = match_select(node);
      if (!select && !is_plain_add(node) && !is_masking(node)) break;
      value = select ? select->scores : mask_operand(node, is_scores(mask_operand(node, 1)) ? 1 : 0);
    }
    return value->dtype() == DType::f32 && is_scores(value);
  }

  // Replaces a softmax that lost its guard by one that gives zeros for rows of minus infinity.
  void give_zero_rows(Node& softmax) {
    Builder b(graph_, &softmax);
    graph_.replace(softmax.result(), b.call("aten._safe_softmax", {moved(softmax), softmax.arg("dim")}));
    left_.push_back(&softmax);
  }

  // Drops a guard behind the matmul with the values. `lives`: each row has unmasked scores, so masked ones may become
  // minus infinity.
  void drop_guard(Node& guard, bool lives) {
    Value* out = mask_operand(guard, 1);
    Node* softmax = softmax_behind(out);
    if (softmax && softmax->result()->num_uses() == 1 && may_overflow(*moved(*softmax))) {
      safe_.insert(softmax);
      if (lives) deepen(*softmax);
    }
    replace(guard, out, out);
  }

  // In min(scores, where(keep, highest, lowest)), replaces the lowest number by minus infinity.
  void deepen(Node& softmax) {
    Node* least = moved(softmax)->producer;
    if (!least || !is_masking(*least)) return;
    const Value* mask = mask_operand(*least, 1);
    Builder b(graph_, &softmax);
    Args args = mask->producer->args();
    for (size_t i = 1; i < 3; ++i) {
      if (is_lowest(args[i], mask->dtype())) args[i] = b.scalar(-INFINITY, mask->dtype());
    }
    Value* deeper = b.call("aten.where.self", std::move(args));
    graph_.set_arg(&softmax, 0, b.call("aten.minimum", {mask_operand(*least, 0), deeper}));
    left_.push_back(least);
  }

  // --- where(any(condition), softmax @ values, 0) ---

  void multiply_guard(Node& guard) {
    if (guard.result()->num_uses() == 0) return;
    Value *live = mask_operand(guard, 0), *out = mask_operand(guard, 1);
    if (!is_zero(guard.arg(2), out->dtype()) || guard.result()->type != out->type) return;
    if (!any_behind(live) && !test_behind(live)) return;
    if (guards_scores_only(*live)) return drop_guard(guard, false);
    Builder b(graph_, &guard);
    if (Value* mask = tested_mask(*live)) {
      if (mask->rank() == 0 || is_never_empty(*mask)) return drop_guard(guard, true);
      if (live->producer) left_.push_back(live->producer);
      live = live_mask(b, *mask);
      if (!live) return;
      graph_.set_arg(&guard, 0, live);
      changed_ = Changed::yes;
      if (guards_scores_only(*live)) return drop_guard(guard, false);
    }
    // A row of minus infinity would give NaN, and 0 * NaN is NaN. Two lowest numbers add up to minus infinity, too.
    const Node* softmax = softmax_behind(out);
    if (!softmax) return;
    MaskKinds kinds;
    collect_mask_kinds(moved(*softmax), 0, kinds);
    if (kinds.infinite || kinds.unknown || kinds.nested || kinds.masks > 1) return;
    Value* product = b.call("aten.mul.Tensor", {out, b.cast(live, out->dtype())});
    // A negative number times 0 is -0.
    if (ZeroSigns(graph_).matter(guard.result())) product = b.call("aten.add.Scalar", {product, 0.0});
    replace(guard, product, out);
  }

  static const Node* any_behind(const Value* value) {
    for (int i = 0; i < kMaxDepthOfSum && value->producer && moves_data(*value->producer); ++i)
      value = moved(*value->producer);
    return value->producer && value->producer->is("aten.any.dims") ? value->producer : nullptr;
  }

  // The test whose results `live` combines by rows. For rows of one element `live` is the test itself.
  static const Node* test_behind(const Value* live) {
    if (const Node* any = any_behind(live)) return moved(*any)->producer;
    const Node* test = live->producer;
    return test && test->is("aten.ne.Scalar") && live->rank() > 0 && live->sizes().back().is(1) ? test : nullptr;
  }

  // Whether any(..) tests for elements above minus infinity where there are only matmuls and finite masks.
  static bool guards_scores_only(const Value& live) {
    const Node* above = test_behind(&live);
    if (!above || !above->is("aten.ne.Scalar")) return false;
    Value* mask = moved(*above);
    if (mask->rank() == 0 || !is_floating(mask->dtype()) || !is_minus_infinity(above->arg(1), mask->dtype()))
      return false;
    if (std::any_of(mask->sizes().begin(), mask->sizes().end(), [](const Sym& size) { return size.is(0); }))
      return false;
    MaskKinds kinds;
    collect_mask_kinds(mask, 0, kinds);
    return !kinds.infinite && !kinds.unknown && !kinds.nested;
  }

  // The mask of the scores that `live` tests for elements above minus infinity: a select of scores, or a term added to
  // them. Null if it tests something else.
  static Value* tested_mask(const Value& live) {
    const Node* above = test_behind(&live);
    if (!above || !above->is("aten.ne.Scalar")) return nullptr;
    Value* tested = moved(*above);
    const Node* sum = tested->producer;
    if (!sum || !is_floating(tested->dtype()) || !is_minus_infinity(above->arg(1), tested->dtype())) return nullptr;
    if (const auto select = match_select(*sum)) return is_scores(select->scores) ? tested : nullptr;
    if (!is_plain_add(*sum) || is_scores(mask_operand(*sum, 0)) == is_scores(mask_operand(*sum, 1))) return nullptr;
    return mask_operand(*sum, is_scores(mask_operand(*sum, 0)) ? 1 : 0);
  }

  static Node* softmax_behind(const Value* value) {
    for (int i = 0; i < kMaxDepthOfSum && value->producer; ++i) {
      Node& node = *value->producer;
      if (is_last_softmax(node)) return &node;
      const Gemm& gemm = node.op->facts.gemm;
      if (!moves_data(node) && (!gemm || gemm.term >= 0)) return nullptr;
      value = moved(node);
    }
    return nullptr;
  }

  Graph& graph_;
  ValueRanges ranges_;  // of the graph before the pass
  Bounds bounds_;
  Changed changed_ = Changed::no;
  std::vector<const Node*> guarded_;      // softmaxes whose empty rows nobody sees
  std::unordered_set<const Node*> safe_;  // softmaxes that lost a guard
  double dead_ = 0;                       // stands for minus infinity in masks of the softmax at hand
  std::vector<Node*> left_;
};

}  // namespace

// Makes attention masks arithmetic, for backends without booleans. The lowest finite number replaces minus infinity.
//   before: p = softmax(where(keep, scores, -inf)); o = where(any(keep), p @ v, 0)
//   after:  p = softmax(min(scores, where(keep, 3.4e38, -3.4e38))); o = p @ v * float(any(keep))
// A minimum hides what a masked score has overflowed to, where a sum would not. Scores that are small get the sum with
// where(keep, 0, -3.4e38). Where scores may be infinite and the mask is finite, a maximum hides minus infinity, too.
// If keep compares constant positions and is too large to be stored, the numbers are clamp(2 * (b - a) + 1, -1, 1) *
// 3.4e38 instead, which is computed where it is read.
// A guard against rows without any score is dropped if no mask can empty a row: the scores have no mask, the mask is
// finite, or a constant mask leaves a score in each row. For scores of f32, which may overflow to minus infinity, the
// softmax then becomes one that gives zeros for such rows, _safe_softmax. Otherwise the guard becomes a multiplication
// by 0 or 1, computed from the mask alone. Guards are those of scaled_dot_product_attention, as Wick's decomposition
// and torch's run_decompositions write them. Requires: canonicalize has run, constants are folded. Ensures: no softmax
// over the last dimension reads a conditional select. Exceptions: scores that may be infinite or NaN for finite inputs,
// also by overflow of anything but a matmul; and, if a row may be empty, softmaxes that the model tests for NaN
// afterwards. Keeps: finite values. Differs where eager's result is not finite: in a fully masked row without a guard
// (NaN becomes the mean), and where a matmul overflows.
Result<Changed> additive_masks(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return Masker(g).run(); });
}

}  // namespace wick::compiler
