#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "compiler/analysis/data_movement.h"
#include "compiler/ops/compose.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/match/attention_masks.h"
#include "compiler/passes/match/causal.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
constexpr int kMaxSteps = 64;  // of a chain

bool is_computed_in_single(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

Sizes leading(const Value& value) { return Sizes(value.sizes().begin(), value.sizes().end() - 2); }

Sizes matrices(Sizes lead, const Sym& rows, const Sym& columns) {
  lead.push_back(rows);
  lead.push_back(columns);
  return lead;
}

bool is_product(const Node& node) {
  return is_one_of(node, {"aten.bmm.default", "aten.mm.default"}) && is_floating(node.result()->dtype());
}

// Whether the node is a `name` (a view or an expand) that keeps the matrices, which are the last two dims, and their
// order.
bool regroups_matrices(const Node& node, std::string_view name) {
  if (!node.is(name)) return false;
  const Sizes &from = moved(node)->sizes(), &to = node.result()->sizes();
  return from.size() >= 2 && to.size() >= 2 && from.back() == to.back() && from[from.size() - 2] == to[to.size() - 2];
}

// Whether the node is a view that regroups rows, which are the last dim, and keeps their order.
bool regroups_rows(const Node& node) {
  if (!node.is("aten.view.default")) return false;
  const Sizes &from = moved(node)->sizes(), &to = node.result()->sizes();
  return from.size() >= 2 && to.size() >= 2 && from.back() == to.back();
}

bool transposes_matrices(const Node& node) {
  const size_t rank = node.result()->rank();
  if (node.is("aten.view.default")) {  // a row vector becomes a column vector, or back
    const Sizes &from = moved(node)->sizes(), &to = node.result()->sizes();
    if (from.size() < 2 || to.size() < 2 || !(from.back().is(1) || to.back().is(1))) return false;
    return from.back() == to[to.size() - 2] && from[from.size() - 2] == to.back() && from.back() != to.back();
  }
  if (!node.is("aten.permute.default") || rank < 2) return false;
  for (size_t i = 0; i < rank; ++i) {
    const size_t from = i + 2 < rank ? i : i + 1 == rank ? rank - 2 : rank - 1;
    if (dim_before(node, i) != from) return false;
  }
  return true;
}

// The number by which a node multiplies its operand 0.
std::optional<double> factor_of_node(const Node& node) {
  const bool divides = node.is(Binary::div);
  const Value* x = node.tensor_or_null(0);
  if ((!divides && !node.is(Binary::mul)) || !x || x->sizes() != node.result()->sizes()) return std::nullopt;
  if (divides && node.op->parsed->find("rounding_mode") >= 0) return std::nullopt;
  const auto number = factor_of(node.arg(1), node.result()->dtype());
  if (!number || !std::isfinite(number->real) || number->real == 0) return std::nullopt;
  return divides ? 1 / number->real : number->real;
}

bool adds_zero(const Node& node) {
  if (!node.is(Binary::add) || !node.tensor_or_null(0) || node.tensor_or_null(0)->type != node.result()->type)
    return false;
  const auto number = number_of(node.arg(1), node.result()->dtype());
  return number && number->is(0) && !node.arg(2).is<Value*>();
}

bool casts_float(const Node& node) {
  return node.is("aten._to_copy.default") && is_computed_in_single(node.result()->dtype()) &&
         is_computed_in_single(moved(node)->dtype());
}

bool makes_scores(const Node& node, std::unordered_map<const Value*, bool>& known, int depth);

// Whether the value is a matmul, or computed from one by operators that may stand between scores and softmax.
bool holds_scores(const Value* value, std::unordered_map<const Value*, bool>& known, int depth = 0) {
  const Node* node = value ? value->producer : nullptr;
  if (!node || depth > kMaxSteps) return false;
  const auto [found, is_new] = known.try_emplace(value, false);
  if (!is_new) return found->second;
  return known[value] = makes_scores(*node, known, depth);
}

bool makes_scores(const Node& node, std::unordered_map<const Value*, bool>& known, int depth) {
  if (is_product(node)) return true;
  const bool adds = is_add_or_sub(node) && !adds_zero(node);
  const auto choice = choice_of(node);
  if (adds || choice) {
    for (const Arg* side : {choice ? choice->chosen : &node.arg(size_t{0}), choice ? choice->other : &node.arg(1)}) {
      const Value* x = tensor_or_null(*side);
      if (x && x->type == node.result()->type && holds_scores(x, known, depth + 1)) return true;
    }
    return false;
  }
  const bool passes =
      regroups_rows(node) || transposes_matrices(node) || casts_float(node) || factor_of_node(node) || adds_zero(node);
  return passes && holds_scores(node.tensor_or_null(0), known, depth + 1);
}

// A node between scores and softmax.
struct ScoreStep {
  Value* term = nullptr;       // a tensor that is added; it broadcasts to the sizes of the node
  bool is_subtracted = false;  // `term` is subtracted instead
  Value* condition = nullptr;  // selects between scores and `fill`
  bool keeps = true;           // the condition is true for scores
  double fill = 0;
  double factor = 1;         // of the nodes between this one and the softmax
  Sizes rows;                // sizes of the node without the last
  DType dtype = DType::f32;  // of the node
};

// Queries, keys or values: the tensor behind the views, casts and factors of a matmul's operand.
struct Operand {
  Value* value = nullptr;
  bool is_transposed = false;  // its matrices are those of the product's operand, transposed
  double factor = 1;
  Sizes own, expanded;  // leading sizes before and after an expansion of them; empty: there is none
};

// Weights with a guard that makes them 0 in rows whose scores are all -inf.
struct GuardedWeights {
  Value* weights = nullptr;
  const Value* scores = nullptr;
};

std::optional<GuardedWeights> guarded_weights(const Node& node) {
  const auto choice = choice_of(node);
  const auto live = choice ? live_scores(choice->condition) : std::nullopt;
  if (!live || !live->of_rows) return std::nullopt;
  const auto number = number_of(live->is_live ? *choice->other : *choice->chosen, node.result()->dtype());
  Value* weights = tensor_or_null(live->is_live ? *choice->chosen : *choice->other);
  if (!number || !number->is(0) || !weights || weights->type != node.result()->type) return std::nullopt;
  return GuardedWeights{weights, live->scores};
}

class AttentionMatch {
 public:
  /// `weights_are_second`: the second operand of the product holds the weights, transposed.
  AttentionMatch(Node& product, bool weights_are_second) : product_(product), weights_are_second_(weights_are_second) {}

  /// Makes the attention, of the sizes and the dtype of the matmul's result. Null if there is none.
  Value* build(Builder& b) {
    if (!match_weights() || !match_scores()) return nullptr;
    if (!find_groups()) return nullptr;
    Operand q, k, v;
    dtype_ = narrow_dtype().value_or(product_.result()->dtype());
    while (!find_operands(b, q, k, v)) {
      if (dtype_ == product_.result()->dtype()) return nullptr;
      dtype_ = product_.result()->dtype();
    }
    const DType weights = softmax_->result()->dtype();
    if (!is_computed_in_single(weights) && dtype_ != weights) return nullptr;
    scale_ *= q.factor * k.factor;
    if (!(std::abs(scale_) <= highest_score(DType::f32))) return nullptr;
    Compose c(b);
    return read_masks(c) ? make(b, q, k, v) : nullptr;
  }

 private:
  // --- from the product to the softmax ---

  bool match_weights() {
    if (product_.args().size() < 2 || product_.result()->rank() < 2) return false;
    Value* value = product_.arg(weights_are_second_ ? 1 : 0).as<Value*>();
    const Value* guarded = nullptr;  // the weights behind a guard for rows whose scores are all -inf
    bool is_transposed = false, guard_is_transposed = false;
    for (int i = 0; i < kMaxSteps; ++i) {
      Node* node = value->producer;
      if (!node || !only_reader(*value)) return false;
      if (is_softmax(*node)) {
        softmax_ = node;
        guarded_ = guarded || node->is("aten._safe_softmax.default");
        if (guarded && (guarded->sizes() != value->sizes() || guard_is_transposed != is_transposed)) return false;
        // The weights of a query are a row of the first operand, or a column of the second.
        const bool is_single = numel(value->sizes()) == numel(leading(*value));
        return (is_single || is_transposed == weights_are_second_) && is_over_last_dim(*node);
      }
      if (const auto inside = guarded_weights(*node)) {
        if (guarded && guard_scores_ != inside->scores) return false;
        guarded = value = inside->weights;
        guard_scores_ = inside->scores;
        guard_is_transposed = is_transposed;
      } else if (transposes_matrices(*node)) {
        is_transposed = !is_transposed;
        value = moved(*node);
      } else if (regroups_matrices(*node, "aten.view.default") ||
                 (!weights_are_second_ && !is_transposed && regroups_rows(*node)) || casts_float(*node)) {
        value = moved(*node);
      } else {
        return false;
      }
    }
    return false;
  }

  static bool is_over_last_dim(const Node& softmax) {
    const Value* result = softmax.result();
    if (result->rank() < 2) return false;
    return static_cast<size_t>(wrap_dim(softmax.static_integer("dim"), result->rank())) + 1 == result->rank();
  }

  // --- from the softmax to the scores ---

  bool match_scores() {
    Value* value = moved(*softmax_);
    forms_.push_back(rows_of(*value));
    if (guard_scores_ && guard_scores_ != value) return false;
    // The guard of a row reads its scores too.
    const size_t readers = guard_scores_ ? 2 : 1;
    if (value->num_uses() != readers) return false;
    bool is_cast_narrow = false;
    for (int i = 0; i < kMaxSteps; ++i) {
      Node* node = value->producer;
      if (!node || node->results().size() != 1 || (i > 0 && !only_reader(*value))) return false;
      if (is_product(*node)) {
        scores_ = node;
        return true;
      }
      if (transposes_matrices(*node)) {  // (keys @ queries^T)^T
        scores_are_transposed_ = !scores_are_transposed_;
        forms_.push_back(rows_of(*moved(*node)));
        value = moved(*node);
        continue;
      }
      ScoreStep step;
      step.factor = scale_;
      step.rows = rows_of(*value);
      step.dtype = value->dtype();
      if (scores_are_transposed_ && regroups_rows(*node) && !regroups_matrices(*node, "aten.view.default"))
        return false;
      Value* next = next_scores(*node, step);
      if (!next || next->rank() < 2) return false;
      if (const auto factor = factor_of_node(*node)) scale_ *= *factor;
      is_cast_narrow = is_cast_narrow || (casts_float(*node) && node->result()->dtype() != DType::f32);
      if (step.term || step.condition) {
        if (scores_are_transposed_ || !(step.factor > 0)) return false;
        // A number that is finite in the wider dtype may not be in the narrower one.
        if (is_cast_narrow && (step.term || step.fill != kMinusInfinity)) return false;
        steps_.push_back(step);
      }
      forms_.push_back(rows_of(*next));
      value = next;
    }
    return false;
  }

  // The operand of the node that holds scores; null if there is none. `step` says what the node does, unless it is a
  // view, a cast or a factor.
  Value* next_scores(const Node& node, ScoreStep& step) {
    if (regroups_rows(node) || casts_float(node)) return moved(node);
    if (factor_of_node(node) || adds_zero(node)) return node.tensor_or_null(0);
    if (is_add_or_sub(node) && node.real("alpha") == 1) {
      step.is_subtracted = node.is(Binary::sub);
      for (const size_t i : {size_t{0}, size_t{1}}) {
        Value *x = node.tensor_or_null(i), *other = node.tensor_or_null(1 - i);
        if (x->type != node.result()->type || !holds_scores(x, known_) || (i == 1 && step.is_subtracted)) continue;
        step.term = other;
        return x;
      }
      return nullptr;
    }
    return chosen_scores(node, step);
  }

  static Value* chosen_scores(const Node& node, ScoreStep& step) {
    const auto choice = choice_of(node);
    if (!choice) return nullptr;
    step.condition = choice->condition;
    for (const bool keeps : {true, false}) {
      Value* x = tensor_or_null(keeps ? *choice->chosen : *choice->other);
      const auto fill = number_of(keeps ? *choice->other : *choice->chosen, node.result()->dtype());
      if (!x || !fill || x->type != node.result()->type) continue;
      step.keeps = keeps;
      step.fill = fill->real;
      return x;
    }
    return nullptr;
  }

  static Sizes rows_of(const Value& value) { return Sizes(value.sizes().begin(), value.sizes().end() - 1); }

  // Finds the leading sizes of the attention: those of the scores in the form with the most dimensions. False if the
  // matmuls do not fit.
  bool find_groups() {
    groups_ = *std::max_element(forms_.begin(), forms_.end(),
                                [](const Sizes& a, const Sizes& b) { return a.size() < b.size(); });
    queries_ = groups_.back();
    groups_.pop_back();
    // The rows of a transposed matmul are in another order, so its last dimension must be that of the queries.
    const bool fits = (!scores_are_transposed_ || scores_->result()->sizes().back() == queries_) &&
                      (!weights_are_second_ || product_.result()->sizes().back() == queries_);
    return fits && batches_of(*scores_) && batches_of(product_);
  }

  // The leading sizes that are batches of a matmul, with 1 for those that share its second operand. Empty if the matmul
  // does not fit groups_.
  std::optional<Sizes> batches_of(const Node& product) const {
    const Sym count = numel(leading(*product.result()));
    Sizes out(groups_.size(), 1);
    Sym found = 1;
    for (size_t i = 0; !(found == count); ++i) {
      if (i == groups_.size()) return std::nullopt;
      found = found * groups_[i];
      out[i] = groups_[i];
    }
    return out;
  }

  // --- masks ---

  // Turns the steps into masks, starting at the scores. False if the operator has no such order of masks.
  bool read_masks(Compose& c) {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      if (!(step->term ? read_term(c, *step) : read_choice(c, *step))) return false;
    }
    // A causal mask by a finite number becomes one by -inf. No other mask may then hide all scores of a row.
    return !is_finite_causal_ || (!bias_ && !keep_);
  }

  bool read_term(Compose& c, const ScoreStep& step) {
    const double sign = step.is_subtracted ? -step.factor : step.factor;
    if (const auto mask = triangular_mask(*step.term); mask && !mask->is_lower && covers_matrices(*step.term)) {
      if (reads_as_causal(mask->number * sign)) return true;
    }
    // where(condition, 0, -inf)
    if (const auto select = step.term->producer ? match_select(*step.term->producer) : std::nullopt) {
      const auto zero = number_of(Arg(select->scores), step.term->dtype());
      if (zero && zero->is(0) && select->infinite && sign > 0) {
        ScoreStep choice = step;
        choice.condition = select->condition;
        choice.keeps = select->keeps;
        choice.fill = kMinusInfinity;
        return read_choice(c, choice);
      }
    }
    if (keep_ && fill_ != kMinusInfinity) return false;
    Value* term = regrouped(c.b, step.term, step.rows);
    if (!term) return false;
    if (sign != 1) term = c.mul(term, sign);
    const DType wide = step.dtype == DType::f64 ? DType::f64 : DType::f32;
    if (bias_) term = c.add(c.b.cast(bias_, wide), c.b.cast(term, wide));
    bias_ = c.b.cast(term, step.dtype);
    return true;
  }

  bool read_choice(Compose& c, const ScoreStep& step) {
    const double fill = step.fill * step.factor;
    if (std::isfinite(step.fill) && std::abs(fill) > highest_score(step.dtype)) return false;
    const auto mask = covers_matrices(*step.condition) ? triangular_mask(*step.condition) : std::nullopt;
    if (mask && mask->is_lower == step.keeps && reads_as_causal(fill)) return true;
    if ((keep_ && fill != fill_) || (is_causal_ && fill != kMinusInfinity) || std::isnan(fill)) return false;
    Value* condition = regrouped(c.b, step.condition, step.rows);
    if (!condition) return false;
    if (!step.keeps) condition = c.logical_not(condition);
    keep_ = keep_ ? c.logical_and(keep_, condition) : condition;
    fill_ = fill;
    return true;
  }

  bool reads_as_causal(double fill) {
    const bool is_infinite = fill == kMinusInfinity;
    if (!is_infinite && !(fill <= -highest_score(softmax_->result()->dtype()) / 2)) return false;
    is_causal_ = true;
    is_finite_causal_ = is_finite_causal_ || !is_infinite;
    return true;
  }

  // Whether a mask has an element of its own for each query and key.
  bool covers_matrices(const Value& mask) const {
    const Sizes& sizes = mask.sizes();
    return sizes.size() >= 2 && sizes.back() == softmax_->result()->sizes().back() &&
           sizes[sizes.size() - 2] == queries_;
  }

  // A mask of scores with leading sizes `lead` as one of scores with groups_. Null if they do not match.
  Value* regrouped(Builder& b, Value* mask, Sizes lead) const {
    const Sym queries = lead.back();
    lead.pop_back();
    if (mask->rank() <= 1) return mask;
    if (!(queries == queries_)) return nullptr;
    if (lead == groups_ || mask->rank() == 2) return mask;
    const Sizes& sizes = mask->sizes();
    Sizes out;
    size_t at = 0;
    const size_t missing = lead.size() + 2 - sizes.size();
    for (size_t i = 0; i < lead.size(); ++i) {
      const bool is_broadcast = i < missing || sizes[i - missing].is(1);
      Sym covered = 1;
      for (size_t first = at; at == first || !(covered == lead[i]); ++at) {
        if (at == groups_.size()) return nullptr;
        covered = covered * groups_[at];
        out.push_back(is_broadcast ? Sym(1) : groups_[at]);
      }
    }
    if (at != groups_.size()) return nullptr;
    out.push_back(sizes[sizes.size() - 2]);
    out.push_back(sizes.back());
    return b.reshape(mask, std::move(out));
  }

  // --- queries, keys and values ---

  // The 16-bit dtype that all readers cast the f32 result to; nothing if there is none.
  std::optional<DType> narrow_dtype() const {
    if (product_.result()->dtype() != DType::f32) return std::nullopt;
    std::optional<DType> found;
    std::vector<const Value*> values = {product_.result()};
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i]->users().size() != values[i]->num_uses() || i > kMaxSteps) return std::nullopt;
      for (const Node* user : values[i]->users()) {
        if (is_one_of(*user, {"aten.view.default", "aten.permute.default"})) {
          values.push_back(user->result());
          continue;
        }
        if (!casts_float(*user) || (found && *found != user->result()->dtype())) return std::nullopt;
        found = user->result()->dtype();
      }
    }
    return found;
  }

  enum class Role : uint8_t { query, key, value };

  Operand operand_of(Role role, bool through_expansion) const {
    const Node& product = role == Role::value ? product_ : *scores_;
    const bool second = role == Role::value ? !weights_are_second_ : (role == Role::key) != scores_are_transposed_;
    Operand out;
    // Scores are queries @ keys^T: their second operand is transposed. The values are, if the weights are the second
    // operand.
    out.is_transposed = role == Role::value ? weights_are_second_ : second;
    Value* value = product.arg(second ? 1 : 0).as<Value*>();
    out.value = value;
    for (int i = 0; i < kMaxSteps && value->producer; ++i) {
      const Node& node = *value->producer;
      const bool narrows = casts_float(node) && value->dtype() != dtype_ && moved(node)->dtype() == dtype_;
      if (regroups_matrices(node, "aten.view.default") || narrows) {
        value = moved(node);
      } else if (transposes_matrices(node)) {
        out.is_transposed = !out.is_transposed;
        value = moved(node);
      } else if (const auto factor = role != Role::value ? factor_of_node(node) : std::nullopt;
                 factor && node.tensor_or_null(0)->type == value->type) {
        out.factor *= *factor;
        value = node.tensor_or_null(0);
      } else if (through_expansion && out.own.empty() && regroups_matrices(node, "aten.expand.default") &&
                 moved(node)->rank() == value->rank()) {
        out.own = leading(*moved(node));
        out.expanded = leading(*value);
        value = moved(node);
      } else {
        break;
      }
      out.value = value;
    }
    return out;
  }

  // Finds queries, keys and values. False if one is neither of dtype_ nor cast from it.
  bool find_operands(Builder& b, Operand& q, Operand& k, Operand& v) {
    is_grouped_ = false;
    q = operand_of(Role::query, false), k = operand_of(Role::key, true), v = operand_of(Role::value, true);
    if (!share_heads(k, v)) {
      k = operand_of(Role::key, false), v = operand_of(Role::value, false);
      k.own = *batches_of(*scores_), v.own = *batches_of(product_);
    }
    for (Operand* x : {&q, &k, &v}) {
      x->value = narrowed(b, x->value);
      if (!x->value) return false;
    }
    return true;
  }

  // `value` without a cast from dtype_, which data movement may follow. Null if there is no such cast.
  Value* narrowed(Builder& b, Value* value, int depth = 0) const {
    if (value->dtype() == dtype_) return value;
    const Node* node = value->producer;
    if (!node || depth > kMaxSteps) return nullptr;
    if (casts_float(*node) && moved(*node)->dtype() == dtype_) return moved(*node);
    Value* inner = moves_data(*node) ? narrowed(b, moved(*node), depth + 1) : nullptr;
    if (!inner) return nullptr;
    Args args = node->args();
    args[0] = inner;
    return b.call(node->op->name(), std::move(args));
  }

  // Gives keys and values their own heads instead of those of the queries. False if they are not expanded in the same
  // way.
  bool share_heads(Operand& k, Operand& v) {
    if (*batches_of(*scores_) != groups_ || *batches_of(product_) != groups_) return false;
    if (k.own.empty() && v.own.empty()) return true;
    if (k.own != v.own || k.expanded != v.expanded) return false;
    if (k.expanded == groups_) return true;  // the attention broadcasts them
    // [.., heads of keys, queries of each] as [.., heads of queries]
    Sizes merged = k.expanded, own = k.own;
    if (merged.size() < 2 || !own.back().is(1)) return false;
    merged.pop_back();
    merged.back() = merged.back() * k.expanded.back();
    own.pop_back();
    if (merged != groups_ || own.back() != k.expanded[k.expanded.size() - 2]) return false;
    for (size_t i = 0; i + 1 < own.size(); ++i) {
      if (own[i] != merged[i]) return false;
    }
    k.own = v.own = own;
    is_grouped_ = true;
    return true;
  }

  // --- the result ---

  Value* tensor_of(Builder& b, const Operand& x, bool has_queries = false) const {
    Value* value = x.is_transposed ? b.transpose(x.value, -2, -1) : x.value;
    const Sym rows = has_queries ? queries_ : value->sizes()[value->rank() - 2];
    // Attention has at least one leading size.
    Sizes lead = x.own.empty() ? groups_ : x.own;
    if (lead.empty()) lead.push_back(1);
    return b.reshape(value, matrices(lead, rows, value->sizes().back()));
  }

  Value* make(Builder& b, const Operand& q, const Operand& k, const Operand& v) const {
    const auto or_none = [](Value* mask) { return mask ? Arg(mask) : Arg(None{}); };
    Value *query = tensor_of(b, q, true), *key = tensor_of(b, k), *value = tensor_of(b, v);
    const Sym& keys = key->sizes()[key->rank() - 2];
    if (keys != value->sizes()[value->rank() - 2] || query->sizes().back() != key->sizes().back()) return nullptr;
    Value* out = b.call("wick.attention", {query, key, value, or_none(bias_), or_none(keep_), fill_, scale_, is_causal_,
                                           guarded_, is_grouped_});
    if (weights_are_second_) out = b.transpose(out, -2, -1);
    return b.cast(b.reshape(out, product_.result()->sizes()), product_.result()->dtype());
  }

  Node& product_;  // of the weights and the values
  const bool weights_are_second_;
  Node* softmax_ = nullptr;
  Node* scores_ = nullptr;  // the product of queries and keys
  bool scores_are_transposed_ = false;
  bool guarded_ = false;
  const Value* guard_scores_ = nullptr;
  std::vector<ScoreStep> steps_;                  // from the softmax to the scores
  std::unordered_map<const Value*, bool> known_;  // which values hold scores; looked up only
  std::vector<Sizes> forms_;                      // sizes of the scores without the last, in all forms
  Sizes groups_;                                  // leading sizes of the attention
  Sym queries_;
  DType dtype_ = DType::f32;

  double scale_ = 1;
  Value *bias_ = nullptr, *keep_ = nullptr;
  double fill_ = kMinusInfinity;
  bool is_causal_ = false, is_finite_causal_ = false, is_grouped_ = false;
};

// The attention that the matmul ends; null if there is none, or none that the target takes.
Value* attention_of(Builder& b, Node& product, const PipelineOptions& options) {
  for (const bool weights_are_second : {false, true}) {
    try {
      Value* made = AttentionMatch(product, weights_are_second).build(b);
      if (!made) continue;
      const auto attention = std::find_if(b.made().begin(), b.made().end(),
                                          [](const Node* node) { return node->is("wick.attention.default"); });
      if (options.keep && !options.keep(**attention)) return nullptr;
      add_origins(**attention, product);
      return made;
    } catch (const Failure& failure) {
      if (failure.diag.code == Code::internal) throw;
    }
  }
  return nullptr;
}

Changed recognize(Graph& graph, const PipelineOptions& options) {
  const SymScope scope(graph.ranges);
  Changed changed = Changed::no;
  std::vector<Node*> products, unread;
  for (const auto& node : graph.nodes()) {
    if (is_product(*node)) products.push_back(node.get());
  }
  for (Node* product : products) {
    Builder b(graph, product);
    if (Value* made = attention_of(b, *product, options)) {
      graph.replace(product->result(), made);
      unread.push_back(product);
      changed = Changed::yes;
    }
    unread.insert(unread.end(), b.made().begin(), b.made().end());
  }
  erase_unread(graph, unread);
  return changed;
}

}  // namespace

// Recognises attention that is written out, as decompositions of exporters and authors of models write it.
//   before: y = bmm(softmax(bmm(q * scale, transpose(k)) + mask), v)
//   after:  y = attention(q, k, v, bias = mask, scale)
// Factors may stand at queries, keys and scores. Masks are added or selected; one that shows each query the keys up to
// its own position becomes `is_causal`. Keys and values may be expanded to the heads of the queries. The weights may be
// the second operand, transposed. Between these nodes there may be views that leave matrices as they are, and casts:
// the attention works on 16-bit floats if queries, keys, values and all readers of the result do.
// Requires: nothing else reads the scores and the weights; the target takes the attention.
// Keeps: every finite value up to rounding, which is that of attention in f32; NaN in rows whose scores are all -inf,
// unless the model guards them. Differs where masked scores are NaN or plus infinity: these are hidden, too.
Result<Changed> recognize_attention(Graph& graph, const PipelineOptions& options) {
  return for_each_graph(graph, [&](Graph& g) { return recognize(g, options); });
}

}  // namespace wick::compiler
