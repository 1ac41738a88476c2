#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/analysis/value_ranges.h"
#include "compiler/analysis/zero_signs.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/constants/weights.h"
#include "compiler/passes/match/data_movement.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/regions/bounds.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

constexpr int kMaxDepth = 16;

// Stands for minus infinity. Adding a score to it neither overflows nor comes near other scores.
double lowest(DType dtype) {
  switch (dtype) {
    case DType::f16: return -32768;
    case DType::f64: return std::numeric_limits<double>::lowest();
    case DType::bf16: return -0x1.fep127;
    default: return static_cast<double>(std::numeric_limits<float>::lowest());
  }
}

bool is_lowest(const Arg& arg, DType dtype) {
  const auto element = number_of(arg, dtype);
  return element && element->floating && element->real <= lowest(dtype) / 2;
}
bool is_minus_infinity(const Arg& arg, DType dtype) {
  const auto element = number_of(arg, dtype);
  return element && element->floating && element->real == -INFINITY;
}
bool is_zero(const Arg& arg, DType dtype) {
  const auto element = number_of(arg, dtype);
  return element && element->is(0);
}

Value* operand(const Node& node, size_t index) { return node.arg(index).as<Value*>(); }

// A select between scores and the lowest number.
struct MaskSelect {
  Value* condition = nullptr;
  Value* scores = nullptr;
  bool keeps = true;      // scores where the condition is true
  bool infinite = false;  // the other is minus infinity
};

std::optional<MaskSelect> match_select(const Node& node) {
  const bool where = node.is("aten.where.self");
  if (!where && !node.is("aten.masked_fill.Scalar")) return std::nullopt;
  const DType dtype = node.result()->dtype();
  for (const bool keeps : {true, false}) {
    if (!where && keeps) continue;
    const Arg& fill = node.arg(where && !keeps ? 1 : 2);
    Value* scores = operand(node, where && keeps ? 1 : where ? 2 : 0);
    Value* condition = operand(node, where ? 0 : 1);
    if (!is_lowest(fill, dtype) || scores->dtype() != dtype || condition->dtype() != DType::boolean) continue;
    return MaskSelect{condition, scores, keeps, is_minus_infinity(fill, dtype)};
  }
  return std::nullopt;
}

// The terms of a sum of scores that are masks or hold one: selects, constants with minus infinity, the caller's
// tensors.
void find_masks(Value* value, int depth, std::vector<Value*>& out) {
  if (value->is_constant()) {
    if (!has_reals(value)) return;
    const Reals64 numbers = reals_of(*value);
    if (std::find(numbers.begin(), numbers.end(), -INFINITY) != numbers.end()) out.push_back(value);
    return;
  }
  if (!value->producer || depth > kMaxDepth) {
    out.push_back(value);
    return;
  }
  const Node& node = *value->producer;
  if (is_plain_add(node)) {
    find_masks(operand(node, 0), depth + 1, out);
    find_masks(operand(node, 1), depth + 1, out);
  } else if (match_select(node)) {
    out.push_back(value);
  } else if (moves_data(node) || node.is("aten._to_copy.default")) {
    std::vector<Value*> inner;
    find_masks(moved(node), depth + 1, inner);
    if (!inner.empty()) out.push_back(value);
  }
}

// Whether the value comes from a matmul, as scores do.
bool is_scores(const Value* value) {
  for (int i = 0; i < kMaxDepth && value->producer; ++i) {
    const Node& node = *value->producer;
    if (node.op->facts.gemm) return true;
    const bool adds = node.is("aten.add.Scalar") && node.real("alpha") == 1;
    const auto shift = adds ? number_of(node.arg(1), node.result()->dtype()) : std::nullopt;
    const bool scaled = node.is(Binary::mul) || node.is(Binary::div) || (shift && std::isfinite(shift->real));
    if ((!scaled && !moves_data(node) && !node.is("aten._to_copy.default")) || !node.tensor_or_null(0)) return false;
    value = node.tensor_or_null(0);
  }
  return false;
}

// What a sum of scores holds. Minus infinity must stay below the lowest finite numbers of other masks. Where there was
// one lowest number, two must not be added.
struct MaskKinds {
  bool infinite = false, finite = false;
  bool unknown = false;  // a summand that may be a mask of any kind
  bool nested = false;   // a select whose scores hold a mask
  int masks = 0;         // summands that may be one, but for unknown ones
  bool can_be_added() const { return !nested && !(infinite && (finite || unknown)); }
};

void look_at_masks(Value* value, int depth, MaskKinds& kinds) {
  if (value->is_constant()) {
    if (!has_reals(value)) return;
    bool masks = false;
    for (const double number : reals_of(*value)) {
      const bool low = number != -INFINITY && number <= lowest(value->dtype()) / 2;
      kinds.infinite |= number == -INFINITY;
      kinds.finite |= low;
      masks |= low || number == -INFINITY;
    }
    kinds.masks += masks ? 1 : 0;
    return;
  }
  if (!value->producer || depth > kMaxDepth) {
    kinds.unknown = true;
    return;
  }
  const Node& node = *value->producer;
  if (is_plain_add(node)) {
    look_at_masks(operand(node, 0), depth + 1, kinds);
    look_at_masks(operand(node, 1), depth + 1, kinds);
  } else if (const auto select = match_select(node)) {
    (select->infinite ? kinds.infinite : kinds.finite) = true;
    ++kinds.masks;
    MaskKinds inner;
    look_at_masks(select->scores, depth + 1, inner);
    kinds.nested |= inner.infinite || inner.finite || inner.nested;
  } else if (moves_data(node) || node.is("aten._to_copy.default")) {
    look_at_masks(moved(node), depth + 1, kinds);
  } else if (node.is("aten.clamp.default") && !node.is_none("min")) {
    kinds.finite = true;
    ++kinds.masks;
  } else {
    kinds.unknown |= !is_scores(value);
  }
}

// Whether each row of a constant has an element that is not `dead`.
template <typename Dead>
bool rows_live(const Value& constant, size_t count, Dead&& dead) {
  const size_t row = constant.rank() == 0 || !constant.sizes().back().is_const()
                         ? 1
                         : static_cast<size_t>(constant.sizes().back().value());
  for (size_t start = 0; row != 0 && start + row <= count; start += row) {
    bool live = false;
    for (size_t i = start; i < start + row; ++i) live = live || !dead(i);
    if (!live) return false;
  }
  return row != 0;
}

// arange(columns) <= arange(rows)[:, None]
bool is_causal(const Value& condition) {
  // A row may be any of the counted numbers; among the columns must be 0.
  const auto counts = [](const Value* value, bool with_zero) {
    for (int i = 0; i < kMaxDepth && value->producer && moves_data(*value->producer); ++i) {
      if (with_zero && !value->producer->is("aten.view.default") && !value->producer->is("aten.expand.default"))
        return false;
      value = moved(*value->producer);
    }
    const Node* node = value->producer;
    if (!node || !node->is("aten.arange.start_step")) return false;
    const auto start = number_of(node->arg(0), DType::i64), step = number_of(node->arg(2), DType::i64);
    return start && start->is(0) && step && step->is(1);
  };
  const Node* compared = condition.producer;
  if (!compared || !compared->is("aten.le.Tensor")) return false;
  const Value *column = operand(*compared, 0), *row = operand(*compared, 1);
  return column->rank() == 1 && row->rank() == 2 && row->sizes()[1].is(1) && counts(column, true) && counts(row, false);
}

// True if no row of the mask consists only of minus infinity.
bool is_never_empty(const Value& mask) {
  if (mask.is_constant()) {
    const Reals64 numbers = reals_of(mask);
    return rows_live(mask, numbers.size(), [&](size_t i) { return numbers[i] == -INFINITY; });
  }
  const auto select = mask.producer ? match_select(*mask.producer) : std::nullopt;
  if (!select) return false;
  std::vector<Value*> inner;
  find_masks(select->scores, 0, inner);
  if (!inner.empty() && !is_scores(select->scores)) return false;  // what this one leaves may be masked in there
  if (!select->infinite || (select->keeps && is_causal(*select->condition))) return true;
  if (!select->condition->is_constant()) return false;
  const auto& bytes = select->condition->data.bytes();
  return rows_live(*select->condition, bytes.size(), [&](size_t i) { return (bytes[i] != 0) != select->keeps; });
}

// A select of a finite lowest number, over scores without a mask.
bool is_finite_choice(const Value& mask) {
  const auto select = mask.producer ? match_select(*mask.producer) : std::nullopt;
  if (!select || select->infinite) return false;
  std::vector<Value*> inner;
  find_masks(select->scores, 0, inner);
  return inner.empty();
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

  // The softmax of an empty row now gives a different number, up to `value`.
  static bool forget_behind_softmax(Value* value, int depth, std::unordered_map<const Value*, bool>& known) {
    Node* node = value->producer;
    if (!node || depth > kMaxDepth) return false;
    if (const auto found = known.find(value); found != known.end()) return found->second;
    bool behind = is_last_softmax(*node);
    for (Value* operand : node->operands()) behind = forget_behind_softmax(operand, depth + 1, known) || behind;
    if (behind) value->forget();
    return known[value] = behind;
  }

  // Whether `value` is computed from `unguarded`, or is the same value.
  void replace(Node& node, Value* value, Value* unguarded) {
    std::unordered_map<const Value*, bool> known;
    forget_behind_softmax(unguarded, 0, known);
    graph_.replace(node.result(), value);
    left_.push_back(&node);
    changed_ = Changed::yes;
  }

  // --- where(no score is above minus infinity, 0, softmax) ---

  // Whether `dead` is true exactly for the rows of `scores` that hold only minus infinity.
  static bool says_empty(const Value* dead, const Value* scores) {
    const Node* not_any = dead->producer;
    if (!not_any || !not_any->is("aten.logical_not.default")) return false;
    const Node* any = moved(*not_any)->producer;
    if (!any || !any->is("aten.any.dims") || !any->boolean("keepdim")) return false;
    const auto dims = any->static_ints("dim");
    if (dims.size() != 1 || static_cast<size_t>(wrap_dim(dims[0], scores->rank())) + 1 != scores->rank()) return false;
    const Node* above = moved(*any)->producer;
    if (above && above->is("aten.logical_not.default")) {
      const Node* equal = moved(*above)->producer;
      return equal && equal->is("aten.eq.Scalar") && moved(*equal) == scores &&
             is_minus_infinity(equal->arg(1), scores->dtype());
    }
    return above && above->is("aten.ne.Scalar") && moved(*above) == scores &&
           is_minus_infinity(above->arg(1), scores->dtype());
  }

  // Masks that may leave a row empty, alone or in combination.
  static std::vector<Value*> emptying_masks(Value* scores) {
    std::vector<Value*> masks;
    find_masks(scores, 0, masks);
    // Two masks together may leave no element of a row, although each alone leaves one.
    std::erase_if(masks, [](const Value* mask) { return is_finite_choice(*mask); });
    return masks;
  }

  // Whether the model itself tests for rows without a score.
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
      if (operand(*guard, 2) != result || !is_zero(guard->arg(1), result->dtype())) continue;
      if (!says_empty(operand(*guard, 0), scores) || has_infinite_scores(scores, 0)) continue;
      const bool alone = result->num_uses() == 1;
      const std::vector<Value*> masks = emptying_masks(scores);
      if (masks.empty() || (masks.size() == 1 && is_never_empty(*masks[0]))) {
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
    if (!node || depth > kMaxDepth) return !is_finite(value);
    if (is_plain_add(*node))
      return has_infinite_scores(operand(*node, 0), depth + 1) || has_infinite_scores(operand(*node, 1), depth + 1);
    if (const auto select = match_select(*node)) return has_infinite_scores(select->scores, depth + 1);
    if (moves_data(*node) || node->is("aten._to_copy.default")) return has_infinite_scores(moved(*node), depth + 1);
    return !is_finite(value);
  }
  bool is_finite(const Value* value) {
    return ranges_.of(value).is_finite() && (value->dtype() != DType::f32 || bounds_.is_finite(value));
  }

  // 1 for rows of the mask with an element above minus infinity, else 0.
  Value* live_rows(Builder& b, Value& mask) {
    const auto select = mask.producer ? match_select(*mask.producer) : std::nullopt;
    if (select && !is_zero(select->scores, mask.dtype())) return nullptr;
    Value* live = live_mask(b, mask);
    return live ? b.cast(live, mask.dtype()) : nullptr;
  }

  // Whether a row of the mask has an element above minus infinity. Selected scores count as such.
  static Value* live_mask(Builder& b, Value& mask) {
    const auto select = mask.producer ? match_select(*mask.producer) : std::nullopt;
    Value* above = select ? select->condition : b.call("aten.ne.Scalar", {&mask, -INFINITY});
    if (select && !select->keeps) above = b.call("aten.logical_not", {above});
    if (above->rank() == 0) return nullptr;
    return b.call("aten.any.dims", {above, Ints{static_cast<int64_t>(above->rank()) - 1}, true});
  }

  // --- softmax(where(condition, scores, -inf)) ---

  void make_additive(Node& softmax) {
    Builder b(graph_, &softmax);
    Value* scores = moved(softmax);
    MaskKinds kinds;
    look_at_masks(scores, 0, kinds);
    if (!kinds.can_be_added() || has_infinite_scores(scores, 0)) return;
    if (is_asked_for_nan(softmax)) return;
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
    if (masks.empty() || depth > kMaxDepth) return value;
    if (value->is_constant()) return finite_constant(b, *value);
    if (value->producer) {
      const Node& node = *value->producer;
      if (is_plain_add(node)) {
        Value *x = without_infinity(b, operand(node, 0), depth + 1),
              *y = without_infinity(b, operand(node, 1), depth + 1);
        return x == operand(node, 0) && y == operand(node, 1) ? value : b.call("aten.add.Tensor", {x, y});
      }
      if (const auto select = match_select(node)) return finite_select(b, value, *select, depth);
    }
    return has_guard(value) ? b.call("aten.clamp", {value, lowest(value->dtype())}) : value;
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
    for (int i = 0; i < kMaxDepth; ++i) {
      const bool added = std::any_of(value->users().begin(), value->users().end(), [&](const Node* reader) {
        return is_plain_add(*reader) && is_compared(reader->result()) &&
               (is_scores(operand(*reader, 0)) || is_scores(operand(*reader, 1)));
      });
      if (added || is_compared(value)) return true;
      const bool moves =
          value->producer && (moves_data(*value->producer) || value->producer->is("aten._to_copy.default"));
      if (!moves) return false;
      value = moved(*value->producer);
    }
    return false;
  }

  static Value* finite_constant(Builder& b, const Value& constant) {
    Reals64 numbers = reals_of(constant);
    for (double& number : numbers) number = std::max(number, lowest(constant.dtype()));
    auto bytes = rounded(numbers, constant.dtype());
    return bytes ? b.constant(constant.tensor(), std::move(*bytes), constant.name) : const_cast<Value*>(&constant);
  }

  Value* finite_select(Builder& b, Value* value, const MaskSelect& select, int depth) {
    const DType dtype = value->dtype();
    const bool bare = is_zero(select.scores, dtype);
    if (bare && !select.infinite) return value;
    Value *zero = b.scalar(0, dtype), *low = b.scalar(lowest(dtype), dtype);
    Value* mask = select.keeps ? b.call("aten.where.self", {select.condition, zero, low})
                               : b.call("aten.where.self", {select.condition, low, zero});
    if (bare) return b.expand(mask, value->sizes());
    return b.call("aten.add.Tensor", {without_infinity(b, select.scores, depth + 1), mask});
  }

  // --- where(any(condition), softmax @ values, 0) ---

  void multiply_guard(Node& guard) {
    if (guard.result()->num_uses() == 0) return;
    Value *live = operand(guard, 0), *out = operand(guard, 1);
    if (!is_zero(guard.arg(2), out->dtype()) || guard.result()->type != out->type) return;
    if (!any_behind(live) && !test_behind(live)) return;
    if (guards_scores_only(*live)) return replace(guard, out, out);
    Builder b(graph_, &guard);
    if (Value* mask = tested_mask(*live)) {
      if (mask->rank() == 0 || is_never_empty(*mask)) return replace(guard, out, out);
      if (live->producer) left_.push_back(live->producer);
      live = live_mask(b, *mask);
      if (!live) return;
      graph_.set_arg(&guard, 0, live);
      changed_ = Changed::yes;
      if (guards_scores_only(*live)) return replace(guard, out, out);
    }
    // For a row of minus infinity, zero times NaN would be NaN. Two lowest numbers add up to minus infinity.
    const Node* softmax = softmax_behind(out);
    if (!softmax) return;
    MaskKinds kinds;
    look_at_masks(moved(*softmax), 0, kinds);
    if (kinds.infinite || kinds.unknown || kinds.nested || kinds.masks > 1) return;
    Value* product = b.call("aten.mul.Tensor", {out, b.cast(live, out->dtype())});
    // A negative number times 0 is -0.
    if (ZeroSigns(graph_).matter(guard.result())) product = b.call("aten.add.Scalar", {product, 0.0});
    replace(guard, product, out);
  }

  static const Node* any_behind(const Value* value) {
    for (int i = 0; i < kMaxDepth && value->producer && moves_data(*value->producer); ++i)
      value = moved(*value->producer);
    return value->producer && value->producer->is("aten.any.dims") ? value->producer : nullptr;
  }

  // The test whose results `live` combines by rows. Of rows of one element it is the test itself.
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
    look_at_masks(mask, 0, kinds);
    return !kinds.infinite && !kinds.unknown && !kinds.nested;
  }

  // The mask of the scores that `live` tests for elements above minus infinity; null if it tests something else. Of
  // selected scores it is the select.
  static Value* tested_mask(const Value& live) {
    const Node* above = test_behind(&live);
    if (!above || !above->is("aten.ne.Scalar")) return nullptr;
    Value* tested = moved(*above);
    const Node* sum = tested->producer;
    if (!sum || !is_floating(tested->dtype()) || !is_minus_infinity(above->arg(1), tested->dtype())) return nullptr;
    if (const auto select = match_select(*sum)) return is_scores(select->scores) ? tested : nullptr;
    if (!is_plain_add(*sum) || is_scores(operand(*sum, 0)) == is_scores(operand(*sum, 1))) return nullptr;
    return operand(*sum, is_scores(operand(*sum, 0)) ? 1 : 0);
  }

  static const Node* softmax_behind(const Value* value) {
    for (int i = 0; i < kMaxDepth && value->producer; ++i) {
      const Node& node = *value->producer;
      if (is_last_softmax(node)) return &node;
      const Gemm& gemm = node.op->facts.gemm;
      if (!moves_data(node) && (!gemm || gemm.term >= 0)) return nullptr;
      value = moved(node);
    }
    return nullptr;
  }

  Graph& graph_;
  ValueRanges ranges_;  // of what was there before
  Bounds bounds_;
  Changed changed_ = Changed::no;
  std::vector<const Node*> guarded_;  // softmaxes whose empty rows nobody sees
  std::vector<Node*> left_;
};

}  // namespace

// Makes attention masks additive, for backends without booleans. The lowest finite number replaces minus infinity.
//   before: p = softmax(where(keep, scores, -inf)); o = where(any(keep), p @ v, 0)
//   after:  p = softmax(scores + where(keep, 0, -3.4e38)); o = p @ v * float(any(keep))
// A guard against rows without any score is dropped if no row can be empty: the scores have no mask, the mask is
// finite, or a constant mask leaves a score in each row. Otherwise the guard becomes a multiplication by 0 or 1,
// computed from the mask alone. Guards are those of scaled_dot_product_attention, as our decomposition and torch's
// run_decompositions write them.
// Requires: canonicalize has run, constants are folded.
// Ensures: no softmax over the last dimension reads a conditional select. Exceptions: scores that may be infinite or
// NaN for finite inputs, also by overflow of anything but a matmul; and, if a row may be empty, softmaxes that the
// model tests for NaN afterwards. Keeps: finite values. Differs where eager's result is not finite: in a fully masked
// row without a guard (NaN becomes the mean), and where a matmul overflows.
Result<Changed> additive_masks(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return Masker(g).run(); });
}

}  // namespace wick::compiler
