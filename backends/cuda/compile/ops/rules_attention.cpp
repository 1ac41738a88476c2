// Attention as one kernel. Forms that are not taken here decompose to matmul, softmax, matmul.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "compiler/ops/arguments.h"

namespace wick::cuda {
namespace {

using compiler::has_argument;
using compiler::SymScope;
using compiler::Verdict;

constexpr int64_t kMostFeatures = 256;

Verdict fits(const Node& node, const compiler::TargetContext&) {
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value");
  if (has_argument(node, "dropout_p") && node.real("dropout_p") != 0) return Verdict::no("it drops out");
  if (node.results().size() > 1 && node.result(1)->num_uses() > 0) return Verdict::no("its log-sum-exp is read");
  if (q->dtype() == DType::f64) return Verdict::no("its kernel computes in f32, and the operands are f64");
  if (q->rank() < 3 || k->rank() != q->rank() || v->rank() != q->rank())
    return Verdict::no("the operands differ in rank, or have fewer than 3 dimensions");
  // Without any keys eager gives 0, but an unguarded row whose keys are all masked is NaN.
  if (has_argument(node, "guarded") && !node.boolean("guarded") && SymScope::range(k->sizes()[k->rank() - 2]).min == 0)
    return Verdict::no("there may be no keys");
  const Sym features = q->sizes().back(), results = v->sizes().back();
  if (!features.is_const() || !results.is_const())
    return Verdict::no("the number of features is known only at run time");
  if (features.value() > kMostFeatures || results.value() > kMostFeatures)
    return Verdict::no(
        fmt::format("{} features, of at most {}", std::max(features.value(), results.value()), kMostFeatures));
  for (size_t i = 0; i + 2 < q->rank(); ++i) {
    for (const Value* x : {k, v}) {
      const Sym &own = x->sizes()[i], &wanted = q->sizes()[i];
      if (own == wanted || own.is(1)) continue;
      const bool groups =
          i + 3 == q->rank() && own.is_const() && wanted.is_const() && wanted.value() % own.value() == 0;
      if (!groups) return Verdict::no("the heads of queries are no multiple of those of keys and values");
    }
  }
  return Verdict::yes();
}

// A tensor that is added to scores, or bools that choose between the score and a number.
struct Masks {
  const Value *bias = nullptr, *keep = nullptr;
  double fill = -std::numeric_limits<double>::infinity();
};

Masks masks_of(const Node& node) {
  Masks masks;
  for (const char* name : {"attn_mask", "attn_bias", "bias", "keep"}) {
    const Value* mask = has_argument(node, name) ? node.optional_tensor(name) : nullptr;
    if (mask) (mask->dtype() == DType::boolean ? masks.keep : masks.bias) = mask;
  }
  if (has_argument(node, "fill")) masks.fill = node.real("fill");
  return masks;
}

// The sizes of the scores: one for each query and key.
Sizes score_sizes(const Node& node) {
  Sizes sizes = node.tensor("query")->sizes();
  const Value* key = node.tensor("key");
  sizes.back() = key->sizes()[key->rank() - 2];
  return sizes;
}

class AttentionRule {
 public:
  AttentionRule(Lowering& l, const Node& node)
      : l_(l),
        node_(node),
        q_(node.tensor("query")),
        k_(node.tensor("key")),
        v_(node.tensor("value")),
        masks_(masks_of(node)) {}

  void run() {
    for (const Value* x : {q_, k_, v_}) l_.store_if_expensive(x, 1);
    for (const Value* mask : {masks_.bias, masks_.keep}) {
      if (mask) l_.store_if_expensive(mask, 8);
    }
    const Value* y = node_.result();
    Draft draft = l_.draft(row_sizes(), {y->sizes().back()});
    const Indices rows = rows_of(draft.rows);
    Attention a;
    a.key = l_.new_loop(k_->sizes()[k_->rank() - 2]);
    a.feature = l_.new_loop(q_->sizes().back());
    const ExpressionPtr key = pool().index(a.key.variable), feature = pool().index(a.feature.variable);
    Indices q_at = rows;
    q_at.push_back(feature);
    a.query = l_.element(q_, q_at);
    a.key_element = l_.element(k_, own_at(*k_, rows, key, feature));
    a.value = l_.element(v_, own_at(*v_, rows, key, draft.columns[0]));
    a.score = score(rows, key);
    a.causal = is_causal() && !rows.back()->index.is_const();
    a.guarded = !has_argument(node_, "guarded") || node_.boolean("guarded");
    draft.kernel.attention = a;
    Indices at = rows;
    at.push_back(draft.columns[0]);
    const ExpressionPtr result = pool().reduced(0, ScalarType::f32);
    l_.finish(std::move(draft), {{y, at, pool().rounded(result, y->dtype())}});
  }

 private:
  ExpressionPool& pool() { return l_.pool(); }

  double scale() const {
    if (!node_.is_none("scale")) return static_cast<double>(static_cast<float>(node_.real("scale")));
    return static_cast<double>(static_cast<float>(1.0 / std::sqrt(static_cast<double>(q_->sizes().back().value()))));
  }

  bool is_causal() const { return has_argument(node_, "is_causal") && node_.boolean("is_causal"); }

  // The number of query heads that share a head of keys and values; 1 if all share one, or none do.
  Sym heads_of_group() const {
    const size_t heads = q_->rank() - 3;
    const Sym own = k_->sizes()[heads], all = q_->sizes()[heads];
    if (q_->rank() < 4 || own == all || own.is(1) || !(own == v_->sizes()[heads])) return 1;
    return floor_div(all, own);
  }
  // The rows of the result. The heads of a group have a loop of their own, as more queries of the same keys.
  Sizes row_sizes() const {
    const Sizes& all = node_.result()->sizes();
    Sizes out(all.begin(), all.end() - 1);
    const Sym group = heads_of_group();
    if (group.is(1)) return out;
    out[out.size() - 2] = k_->sizes()[k_->rank() - 3];
    out.insert(out.end() - 1, group);
    return out;
  }
  Indices rows_of(const Indices& loops) {
    const Sym group = heads_of_group();
    if (group.is(1)) return loops;
    Indices out(loops.begin(), loops.end() - 3);
    out.push_back(pool().add(pool().multiply(loops[loops.size() - 3], pool().index(group)), loops[loops.size() - 2]));
    out.push_back(loops.back());
    return out;
  }

  // The indices of an element of keys or values. Their leading dimensions are those of the query, or shared by all
  // heads or by a group of them.
  Indices own_at(const Value& x, const Indices& rows, ExpressionPtr key, ExpressionPtr feature) {
    Indices at;
    for (size_t i = 0; i + 2 < x.rank(); ++i) {
      const Sym &own = x.sizes()[i], &wanted = q_->sizes()[i];
      at.push_back(own == wanted ? rows[i]
                   : own.is(1)   ? pool().index(0)
                                 : pool().floor_divide(rows[i], pool().index(floor_div(wanted, own))));
    }
    at.push_back(key);
    at.push_back(feature);
    return at;
  }

  ExpressionPtr score(const Indices& rows, ExpressionPtr key) {
    ExpressionPtr out = mul(pool(), pool().reduced(1, ScalarType::f32), pool().number(scale(), ScalarType::f32));
    const ExpressionPtr lowest = pool().number(-std::numeric_limits<double>::infinity(), ScalarType::f32);
    if (masks_.bias) {
      out = add(pool(), out, pool().cast(mask_element(*masks_.bias, rows, key), ScalarType::f32));
      if (has_argument(node_, "bias")) out = pool().cast(pool().rounded(out, masks_.bias->dtype()), ScalarType::f32);
    }
    if (masks_.keep) {
      const ExpressionPtr fill = pool().number(masks_.fill, ScalarType::f32);
      out = pool().select(mask_element(*masks_.keep, rows, key), out, fill);
    }
    if (is_causal()) out = pool().select(pool().less(rows.back(), key), lowest, out);
    return out;
  }

  ExpressionPtr mask_element(const Value& mask, Indices row, ExpressionPtr key) {
    row.push_back(key);
    return l_.element(&mask, l_.broadcast(mask, row, score_sizes(node_)));
  }

  Lowering& l_;
  const Node& node_;
  const Value *q_, *k_, *v_;
  const Masks masks_;
};

void attention_needs(const Node& node, SizeRequirements& out) {
  const Masks masks = masks_of(node);
  for (const Value* mask : {masks.bias, masks.keep}) {
    if (mask) add_broadcasts(mask->sizes(), score_sizes(node), out);
  }
}

void lower_attention(Lowering& l, const Node& node) { AttentionRule(l, node).run(); }

constexpr OpRule kAttentionRows[] = {
    needing(whole({"wick.attention.default", lower_attention, fits}), attention_needs),
    needing(whole({"aten.scaled_dot_product_attention.default", lower_attention, fits}), attention_needs),
    needing(whole({"aten._scaled_dot_product_flash_attention_for_cpu.default", lower_attention, fits}),
            attention_needs),
    needing(whole({"aten._scaled_dot_product_efficient_attention.default", lower_attention, fits}), attention_needs),
    needing(whole({"aten._scaled_dot_product_flash_attention.default", lower_attention, fits}), attention_needs),
};

}  // namespace

const Span<const OpRule> kAttentionRules{kAttentionRows};

}  // namespace wick::cuda
