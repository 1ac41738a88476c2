// Losses and similarities.
#include <algorithm>
#include <limits>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

Value* reduced(Compose& c, Node& node, Value* loss) { return c.reduce_loss(loss, node.static_integer("reduction")); }

Results decompose_mse(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *y = node.tensor("target");
  const DType dtype = promote({x, y});
  Value* gap = c.sub(b.cast(x, dtype), b.cast(y, dtype));
  return {reduced(c, node, c.mul(gap, gap))};
}
Results decompose_l1(Builder& b, Node& node) {
  Compose c(b);
  return {reduced(c, node, c.abs(c.sub(node.tensor("self"), node.tensor("target"))))};
}
// loss(|self - target|, limit), reduced. If the operands have the dtype `wide`, eager computes them in f32; in the
// other 16-bit dtype it rounds the limit and each step. `keeps_first`: the losses have the dtype of `self`.
template <typename F>
Results loss_of_distance(Builder& b, Node& node, double limit, DType wide, bool keeps_first, F&& loss) {
  Compose c(b);
  Value *x = node.tensor("self"), *y = node.tensor("target");
  const DType dtype = promote({x, y});
  const auto cast = [&](DType to) { return c.abs(c.sub(b.cast(x, to), b.cast(y, to))); };
  const DType stored = keeps_first ? x->dtype() : dtype;
  Value* losses = dtype == wide ? loss(c, cast(DType::f32), limit) : loss(c, cast(dtype), half_number(limit, dtype));
  return {reduced(c, node, b.cast(losses, stored))};
}
// |d| < beta: d^2 / (2 beta), else |d| - beta / 2
Value* smooth_l1(Compose& c, Value* gap, double beta) {
  if (beta == 0) return gap;
  Value* near = c.div(c.mul(c.mul(gap, 0.5), gap), beta);
  return c.where(c.compare("lt", gap, beta), near, c.sub(gap, 0.5 * beta));
}
Results decompose_smooth_l1(Builder& b, Node& node) {
  return loss_of_distance(b, node, node.real("beta"), DType::bf16, false, smooth_l1);
}
// |d| < delta: d^2 / 2, else delta (|d| - delta / 2)
Value* huber(Compose& c, Value* gap, double delta) {
  Value* near = c.mul(c.mul(gap, 0.5), gap);
  return c.where(c.compare("lt", gap, delta), near, c.mul(c.sub(gap, 0.5 * delta), delta));
}
Results decompose_huber(Builder& b, Node& node) {
  return loss_of_distance(b, node, node.real("delta"), DType::f16, true, huber);
}
// Eager keeps each step in the dtype of the first operand.
Results decompose_soft_margin(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  Value* z = c.neg(b.cast(c.mul(x, node.tensor("target")), x->dtype()));
  require(!is_integral(z->dtype()), "the soft margin loss takes no integers");
  return {reduced(c, node, c.unary("aten.log1p", c.exp(z)))};
}

// 1 - cos for similar pairs (target 1), max(cos - margin, 0) for others (-1)
Results decompose_cosine_embedding(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("input1"), *y = node.tensor("input2"), *target = node.tensor("target");
  const std::vector<int64_t> dim{target->rank() == 0 ? 0 : 1};
  auto square = [&](Value* v) { return c.add(c.sum(c.mul(v, v), dim), 1e-12); };
  Value* cosine = c.div(c.sum(c.mul(x, y), dim), c.sqrt(c.mul(square(x), square(y))));
  Value* near = c.where(c.compare("eq", target, 1), c.add(c.neg(cosine), 1), 0.0, cosine->dtype());
  Value* apart = c.clamp(c.sub(cosine, node.real("margin")), 0, None{});
  return {reduced(c, node, c.add(near, c.where(c.compare("eq", target, -1), apart, 0.0, cosine->dtype())))};
}
// exp(x) - t x, or x - t log(x + eps); in full with Stirling's term for t > 1
Results decompose_poisson(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("input"), *t = node.tensor("target");
  Value* loss =
      node.boolean("log_input") ? c.sub(c.exp(x), c.mul(t, x)) : c.sub(x, c.mul(t, c.log(c.add(x, node.real("eps")))));
  if (node.boolean("full")) {
    Value* stirling = c.add(c.sub(c.mul(t, c.log(t)), t), c.mul(c.log(c.mul(t, 6.283185307179586)), 0.5));
    loss = c.add(loss, c.where(c.compare("le", t, 1), 0.0, stirling, loss->dtype()));
  }
  return {reduced(c, node, loss)};
}
// max(distance to the positive - distance to the negative + margin, 0)
Results decompose_triplet(Builder& b, Node& node) {
  Compose c(b);
  Value *anchor = node.tensor("anchor"), *positive = node.tensor("positive"), *negative = node.tensor("negative");
  auto distance = [&](Value* x, Value* y) {
    return c.call("aten.pairwise_distance", {x, y, node.real("p"), node.real("eps"), false});
  };
  Value* away = distance(anchor, negative);
  if (node.boolean("swap")) away = c.minimum(away, distance(positive, negative));
  Value* gap = c.add(c.sub(distance(anchor, positive), away), node.real("margin"));
  return {reduced(c, node, c.clamp(gap, 0, None{}))};
}
// The mean over classes i != t of max(margin - x[t] + x[i], 0)^p
Results decompose_multi_margin(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *target = node.tensor("target");
  const bool single = x->rank() < 2;
  if (single) x = b.reshape(x, {1, numel(x->sizes())});
  require_rank(x, 2, "multi_margin_loss");
  Value* column = b.reshape(target, {x->sizes()[0], 1});
  const double p = node.real("p");
  require(p == 1 || p == 2, "multi_margin_loss: p must be 1 or 2");
  Value* gap = c.add(c.sub(x, b.call("aten.gather", {x, 1, column})), node.real("margin"));
  gap = c.clamp(gap, 0, None{});
  if (p == 2) gap = c.mul(gap, gap);
  if (Value* weight = node.optional_tensor("weight"))
    gap = c.mul(gap, b.unsqueeze(c.index_select(weight, 0, b.reshape(target, {x->sizes()[0]})), 1));
  gap = c.where(c.compare("eq", column, c.arange(x->sizes()[1], DType::i64)), 0.0, gap, x->dtype());
  Value* loss = c.mean(gap, {1});
  return {reduced(c, node, single ? b.reshape(loss, {}) : loss)};
}

// Targets of a row are its labels before the first -1. The sum over targets t and other classes i of
// max(1 - x[t] + x[i], 0), divided by the number of classes.
Results decompose_multilabel_margin(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *target = node.tensor("target");
  if (x->rank() == 0) x = b.reshape(x, {1});
  if (target->rank() == 0) target = b.reshape(target, {1});
  require(x->rank() == 1 || x->rank() == 2, "multilabel_margin_loss takes a vector or a matrix");
  require_rank(target, x->rank(), "multilabel_margin_loss: target");
  for (size_t i = 0; i < x->rank(); ++i)
    require_equal(target->sizes()[i], x->sizes()[i], "multilabel_margin_loss: target sizes");
  const bool single = x->rank() == 1;
  if (single) {
    x = b.unsqueeze(x, 0);
    target = b.unsqueeze(target, 0);
  }
  const Sym classes = x->sizes()[1];
  target = b.expand(target, x->sizes());  // dynamic sizes are checked at run time
  Value* ended = c.compare("gt", c.call("aten.cumsum", {b.cast(c.compare("lt", target, 0), DType::i64), 1}), 0);
  Value* label = c.where(ended, 0, target, DType::i64);  // [n, t]
  Value* one_hot = c.compare("eq", b.unsqueeze(label, 2), c.arange(classes, DType::i64));
  Value* used = b.unsqueeze(c.logical_not(ended), 2);
  Value* is_target = c.any(c.logical_and(one_hot, used), {1}, true);  // [n, 1, classes]
  Value* gap = c.add(c.sub(b.unsqueeze(x, 1), b.unsqueeze(b.call("aten.gather", {x, 1, label}), 2)), 1);
  Value* counts = c.logical_and(used, c.logical_not(is_target));
  gap = c.where(counts, c.clamp(gap, 0, None{}), 0.0, x->dtype());
  Value* loss = c.div(c.sum(gap, {1, 2}), classes);
  return {reduced(c, node, single ? b.reshape(loss, {}) : loss)};
}

// (target - 1) * max(log1p(-x), -100) - target * max(log(x), -100)
Results decompose_bce(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *target = node.tensor("target");
  Value* low = c.clamp(c.unary("aten.log1p", c.neg(x)), -100.0, None{});
  Value* high = c.clamp(c.log(x), -100.0, None{});
  Value* loss = c.sub(c.mul(c.sub(target, 1), low), c.mul(target, high));
  if (Value* weight = node.optional_tensor("weight")) loss = c.mul(loss, weight);
  return {reduced(c, node, loss)};
}
// (1 - target) * x - (1 + (pos_weight - 1) target) * log_sigmoid(x)
// Eager multiplies and subtracts in place: the loss has the dtype of the target, the logarithm that of `self`.
Results decompose_bce_logits(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *target = node.tensor("target");
  const DType dtype = target->dtype();
  Value* log_sigmoid = c.call("aten.log_sigmoid", {x});
  if (Value* pos = node.optional_tensor("pos_weight")) {
    log_sigmoid = b.cast(c.mul(c.add(c.mul(c.sub(pos, 1), target), 1), log_sigmoid), x->dtype());
  }
  Value* loss = b.cast(c.mul(c.sub(1, target), x), dtype);
  loss = b.cast(c.sub(loss, log_sigmoid), dtype);
  if (Value* weight = node.optional_tensor("weight")) loss = b.cast(c.mul(loss, weight), dtype);
  return {reduced(c, node, loss)};
}

Results decompose_kl_div(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *target = node.tensor("target");
  if (node.boolean("log_target")) return {reduced(c, node, c.mul(c.exp(target), c.sub(target, x)))};
  Value* logs = c.call("aten.xlogy.Tensor", {target, target});
  return {reduced(c, node, c.sub(logs, c.mul(target, x)))};
}

// --- classes ---

struct Negative {
  Value *loss, *total_weight;
};
// -weight[target] * x[target] along dimension 1 (dimension 0 for a vector). Ignored targets add nothing.
Negative negative_log_likelihood(Compose& c, Node& node, Value* x, Value* target, int64_t reduction) {
  Builder& b = c.b;
  const int64_t dim = x->rank() == 1 ? 0 : 1;
  require(x->rank() >= 1 && target->rank() + 1 == x->rank(), "nll_loss: ranks do not fit");
  Value* live = c.compare("ne", target, node.integer("ignore_index"));
  Value* safe = c.where(live, target, 0, target->dtype());
  Value* picked =
      b.reshape(b.call("aten.gather", {x, dim, b.unsqueeze(b.cast(safe, DType::i64), dim)}), target->sizes());
  Value* weight = b.cast(live, x->dtype());
  if (Value* table = node.optional_tensor("weight")) {
    Value* flat = c.index_select(table, 0, b.reshape(safe, {numel(safe->sizes())}));
    weight = c.mul(b.reshape(flat, target->sizes()), weight);
  }
  Value* loss = c.where(live, c.mul(c.neg(picked), weight), 0.0, x->dtype());
  const auto dims = all_dims(target->rank());
  Value* total = target->rank() == 0 ? weight : c.sum(weight, dims);
  if (reduction == 0) return {loss, c.mul(total, 0.0)};  // total_weight is 0 in eager
  Value* sum = target->rank() == 0 ? loss : c.sum(loss, dims);
  return {reduction == 1 ? c.div(sum, total) : sum, total};
}
Results decompose_nll(Builder& b, Node& node) {
  Compose c(b);
  return {negative_log_likelihood(c, node, node.tensor("self"), node.tensor("target"), node.static_integer("reduction"))
              .loss};
}
Results decompose_nll_forward(Builder& b, Node& node) {
  Compose c(b);
  const Negative n =
      negative_log_likelihood(c, node, node.tensor("self"), node.tensor("target"), node.static_integer("reduction"));
  return {n.loss, n.total_weight};
}

// (1 - e) * loss + e / classes * (the sum of the losses for all classes). Ignored targets add nothing.
Value* smoothed(Compose& c, Node& node, Value* logs, const Negative& hard, int64_t dim) {
  Builder& b = c.b;
  const int64_t reduction = node.static_integer("reduction");
  const double part = node.real("label_smoothing");
  const Sym classes = logs->sizes()[static_cast<size_t>(dim)];
  Value *target = node.tensor("target"), *weight = node.optional_tensor("weight");
  if (weight) {
    Sizes sizes(logs->rank(), Sym(1));
    sizes[static_cast<size_t>(dim)] = classes;
    logs = c.mul(logs, b.reshape(weight, std::move(sizes)));
  }
  Value* ignored = c.compare("eq", target, node.arg("ignore_index"));
  Value* all = c.where(ignored, 0.0, c.neg(c.sum(logs, {dim})), logs->dtype());
  if (reduction != 0 && all->rank() > 0) all = c.sum(all, all_dims(all->rank()));
  if (reduction == 1) all = c.div(all, hard.total_weight);
  const Arg count = classes.is_const() ? Arg(classes) : Arg(c.tensor(classes, all->dtype()));
  return c.add(c.mul(hard.loss, 1 - part), c.mul(c.div(all, count), part));
}

Results decompose_cross_entropy(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *target = node.tensor("target");
  require(x->rank() >= 1, "cross_entropy of a scalar");
  const int64_t dim = x->rank() == 1 ? 0 : 1, reduction = node.static_integer("reduction");
  const double smoothing = node.real("label_smoothing");
  Value* logs = b.call("aten._log_softmax", {x, dim, false});
  Value* weight = node.optional_tensor("weight");
  if (is_floating(target->dtype())) {  // probabilities
    Value* soft = target;
    const Sym classes = x->sizes()[static_cast<size_t>(dim)];
    if (smoothing != 0) {
      require(classes.is_const() && classes.value() > 0, "label smoothing needs a constant number of classes");
      soft = c.add(c.mul(soft, 1 - smoothing), smoothing / static_cast<double>(classes.value()));
    }
    Value* terms = c.mul(logs, soft);
    if (weight) {
      Sizes sizes(x->rank(), Sym(1));
      sizes[static_cast<size_t>(dim)] = classes;
      terms = c.mul(terms, b.reshape(weight, std::move(sizes)));
    }
    Value* loss = c.neg(c.sum(terms, {dim}));
    if (reduction == 0) return {loss};
    Value* sum = c.sum(loss, all_dims(loss->rank()));
    if (reduction == 2) return {sum};
    return {c.div(sum, b.call("aten.full", {Sizes{}, numel(loss->sizes()), x->dtype()}))};
  }
  const Negative hard = negative_log_likelihood(c, node, logs, target, reduction);
  return {smoothing == 0 ? hard.loss : smoothed(c, node, logs, hard, dim)};
}

// --- similarities ---

// sum(x1 * x2) / (max(|x1|, eps) * max(|x2|, eps)), norms applied to each operand first
Results decompose_cosine_similarity(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("x1"), *y = node.tensor("x2");
  const Sizes sizes = broadcast(x->sizes(), y->sizes());
  const DType dtype = promote(x->dtype(), y->dtype());
  // Eager converts integers only: each norm has the dtype of its operand.
  x = b.expand(is_floating(x->dtype()) ? x : b.cast(x, dtype), sizes);
  y = b.expand(is_floating(y->dtype()) ? y : b.cast(y, dtype), sizes);
  const int64_t dim = wrap_dim(node.static_integer("dim"), sizes.size());
  auto unit = [&](Value* v) {
    Value* norm = c.call("aten.linalg_vector_norm", {v, 2.0, Ints{dim}, true});
    return c.div(v, c.clamp(norm, node.real("eps"), None{}));
  };
  return {c.sum(c.mul(unit(x), unit(y)), {dim})};
}
Results decompose_pairwise_distance(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("x1"), *y = node.tensor("x2");
  Value* gap = c.add(c.sub(x, y), node.real("eps"));
  return {c.call("aten.linalg_vector_norm",
                 {gap, node.real("p"), Ints{static_cast<int64_t>(gap->rank()) - 1}, node.boolean("keepdim")})};
}
// max(0, -target * (x1 - x2) + margin)
Results decompose_margin_ranking(Builder& b, Node& node) {
  Compose c(b);
  Value* gap = c.mul(c.neg(node.tensor("target")), c.sub(node.tensor("input1"), node.tensor("input2")));
  return {reduced(c, node, c.clamp(c.add(gap, node.real("margin")), 0.0, None{}))};
}
Results decompose_hinge_embedding(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *target = node.tensor("target");
  Value* far = c.clamp(c.sub(node.real("margin"), x), 0.0, None{});
  Value* out = c.add(c.where(c.compare("ne", target, 1), far, 0.0, x->dtype()),
                     c.where(c.compare("ne", target, -1), x, 0.0, x->dtype()));
  return {reduced(c, node, out)};
}

// --- bags of embeddings ---

// embedding_bag: reduces the rows between neighbouring offsets. Time and memory are proportional to the rows: no table
// of bags by indices is made.
class EmbeddingBags {
 public:
  EmbeddingBags(Builder& b, Node& node)
      : c_(b),
        b_(b),
        node_(node),
        weight_(node.tensor("weight")),
        indices_(node.tensor("indices")),
        count_(indices_->sizes()[0]),
        bags_(node.tensor("offsets")->sizes()[0]) {
    const bool closed = node.boolean("include_last_offset");
    if (closed) bags_ = bags_ - 1;
    Value* offsets = b.cast(node.tensor("offsets"), DType::i64);
    starts_ = closed ? b.slice(offsets, 0, 0, bags_) : offsets;
    bag_ = counted_ = bag_of_each(starts_);
    // If the last offset is not at the end of the indices, eager's fast path ends the last bag there, but a mean still
    // divides by the number of all remaining indices.
    if (closed && node.static_integer("mode") != 2 && !is_padded() && weight_->dtype() != DType::f64)
      bag_ = bag_of_each(offsets);
    if (is_padded()) used_ = c_.compare("ne", indices_, padding_index());
  }

  Results run() {
    const int64_t mode = node_.static_integer("mode");
    Value* rows = b_.call("aten.embedding", {weight_, indices_});
    Value* amount = nullptr;
    if (mode != 0) amount = sums_of(used_ ? b_.cast(used_, DType::i64) : b_.full({count_}, 1, DType::i64), counted_);
    Value* out = nullptr;
    if (mode == 2) {
      out = c_.where(b_.unsqueeze(c_.compare("gt", amount, 0), 1), largest_of(rows), 0.0, weight_->dtype());
    } else {
      out = in_float(b_, rows, [&](Value* wide) {
        if (Value* scales = node_.optional_tensor("per_sample_weights"))
          wide = c_.mul(wide, b_.unsqueeze(b_.cast(scales, wide->dtype()), 1));
        return sums_of(only_used(wide, 0.0), bag_);
      });
      // Eager rounds the sums before it divides them.
      if (mode == 1) out = c_.div(out, b_.unsqueeze(b_.cast(c_.clamp(amount, 1, None{}), weight_->dtype()), 1));
    }
    if (node_.result(1)->num_uses() + node_.result(2)->num_uses() + node_.result(3)->num_uses() == 0)
      return {out, nullptr, nullptr, nullptr};
    // The other results serve the backward pass. For sums of floats without padding the bag of each index is left
    // empty, as in eager's fast path.
    const bool fast = mode == 0 && !used_ && weight_->dtype() != DType::f64;
    Value* sizes = mode == 0 ? b_.full({bags_}, 0, DType::i64) : amount;
    return {out, fast ? b_.full({0}, 0, DType::i64) : bag_, sizes,
            mode == 2 ? indices_of_largest(rows, amount) : sizes};
  }

 private:
  bool is_padded() const {
    return node_.op->parsed->find("padding_idx") >= 0 && !node_.is_none("padding_idx") &&
           !(node_.integer("padding_idx").is(-1) && node_.op->name().starts_with("aten._embedding_bag"));
  }
  Sym padding_index() const {
    const Sym index = node_.integer("padding_idx");
    return index.is_const() && index.value() < 0 ? weight_->sizes()[0] + index : index;
  }

  // The bag of each index if bags start at `starts`. A last entry may be the end of the last bag.
  Value* bag_of_each(Value* starts) {
    Value* opened = b_.call("aten.index_put", {b_.full({count_ + 1}, 0, DType::i64), Values{starts},
                                               b_.full(starts->sizes(), 1, DType::i64), true});
    Value* bag = c_.sub(b_.slice(b_.call("aten.cumsum", {opened, 0}), 0, 0, count_), 1);
    // Indices in front of the first bag get a bag that does not exist: writing there fails, as in eager.
    return c_.where(c_.compare("lt", bag, 0), c_.tensor(-0x1p40, DType::i64), bag, DType::i64);
  }

  // Rows [n, ..] with `otherwise` in place of padding.
  Value* only_used(Value* rows, double otherwise) {
    if (!used_) return rows;
    return c_.where(rows->rank() == 1 ? used_ : b_.unsqueeze(used_, 1), rows, otherwise, rows->dtype());
  }

  // The sum of each bag's elements [n, ..]. Elements behind the last bag are collected in an extra bag, which is
  // dropped.
  Value* sums_of(Value* elements, Value* bag) {
    Sizes sizes = elements->sizes();
    sizes[0] = bags_ + 1;
    Value* none = b_.full(std::move(sizes), 0, elements->dtype());
    return b_.slice(b_.call("aten.index_put", {none, Values{bag}, elements, true}), 0, 0, bags_);
  }

  // Combines the elements [n, ..] of each bag by an associative function; `otherwise` for empty bags. Each step
  // combines every element with the one 1, 2, 4 .. places before it, if both are in the same bag. The last element of a
  // bag then holds the result for the whole bag.
  template <typename Combine>
  Value* scanned(Value* elements, double otherwise, Combine combine) {
    constexpr int64_t kNoBound = int64_t{1} << 40;
    Value* positions = c_.arange(count_, DType::i64);
    const int64_t bound = std::min(range_of(count_, b_.graph().ranges).max, kNoBound);
    for (int64_t step = 1; step < bound; step *= 2) {
      Value* before = c_.clamp(c_.sub(positions, step), 0, None{});
      Value* same =
          c_.logical_and(c_.compare("ge", positions, step), c_.compare("eq", c_.index_select(bag_, 0, before), bag_));
      if (elements->rank() == 2) same = b_.unsqueeze(same, 1);
      elements = c_.where(same, combine(elements, c_.index_select(elements, 0, before)), elements, elements->dtype());
    }
    Sizes first = elements->sizes();
    first[0] = 1;
    Value* ends = b_.call("aten.cumsum", {sums_of(b_.full({count_}, 1, DType::i64), bag_), 0});
    return c_.index_select(c_.cat({b_.full(std::move(first), otherwise, elements->dtype()), elements}, 0), 0, ends);
  }

  // Computes as eager's loop over a bag, in which a number replaces the current largest one if it is larger: NaN counts
  // only as the first element.
  Value* largest_of(Value* rows) {
    const double lowest = -std::numeric_limits<double>::infinity();
    const auto maximum = [&](Value* x, Value* y) { return c_.maximum(x, y); };
    if (weight_->is_constant() && weight_->data.number_facts(weight_->dtype()).finite)
      return scanned(only_used(rows, lowest), lowest, maximum);
    Value* numbers = c_.where(c_.compare("ne", rows, rows), lowest, rows, rows->dtype());
    Value* largest = scanned(only_used(numbers, lowest), lowest, maximum);
    Value* first = b_.slice(starts_, 0, 0, bags_);  // may be the end of the indices
    if (used_) {
      Value* end = c_.tensor(count_, DType::i64);
      Value* places = c_.where(used_, c_.arange(count_, DType::i64), end, DType::i64);
      first = c_.minimum(scanned(places, 0x1p40, [&](Value* x, Value* y) { return c_.minimum(x, y); }), end);
    }
    Value* row_behind = b_.full({1, rows->sizes()[1]}, 0, rows->dtype());
    Value* first_rows = c_.index_select(c_.cat({rows, row_behind}, 0), 0, first);
    return c_.where(c_.compare("ne", first_rows, first_rows), first_rows, largest, rows->dtype());
  }

  Value* indices_of_largest(Value* rows, Value* amount) {
    Value* member = c_.compare("eq", b_.reshape(c_.arange(bags_, DType::i64), {bags_, 1}), bag_);
    if (used_) member = c_.logical_and(member, used_);
    Value* table = c_.where(b_.unsqueeze(member, 2), b_.unsqueeze(rows, 0), -std::numeric_limits<double>::infinity(),
                            weight_->dtype());
    Value* position_of_max = b_.call("aten.argmax", {table, 1});  // [bags, columns]
    const Sym columns = weight_->sizes()[1];
    Value* index = c_.index_select(b_.cast(indices_, DType::i64), 0, b_.reshape(position_of_max, {bags_ * columns}));
    index = b_.reshape(index, {bags_, columns});
    return c_.where(b_.unsqueeze(c_.compare("gt", amount, 0), 1), index, 0, DType::i64);
  }

  Compose c_;
  Builder& b_;
  const Node& node_;
  Value *weight_, *indices_;
  Sym count_, bags_;
  // i64: the start of each bag; the bag of each index, for adding up elements and for counting them.
  Value *starts_ = nullptr, *bag_ = nullptr, *counted_ = nullptr;
  Value* used_ = nullptr;  // bool: which indices are not padding; null: there is no padding
};

// modes: 0 sum, 1 mean, 2 max.
Results decompose_embedding_bag(Builder& b, Node& node) {
  require_rank(node.tensor("weight"), 2, "embedding_bag: weight");
  require_rank(node.tensor("indices"), 1, "embedding_bag: indices");
  require_rank(node.tensor("offsets"), 1, "embedding_bag: offsets");
  return EmbeddingBags(b, node).run();
}

// The loss of a linear layer whose logits eager computes a few rows at a time, in `acc_dtype`. The results that eager
// computes for gradients are not supported.
Results decompose_chunked_cross_entropy(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = node.tensor("input")->dtype(), wide = node.dtype("acc_dtype").value_or(dtype);
  const auto widened = [&](const char* name) -> Arg {
    Value* x = node.optional_tensor(name);
    return x ? Arg(b.cast(x, wide)) : node.arg(name);
  };
  int64_t reduction = 0;
  double smoothing = 0;
  if (node.op->parsed->find("reduction") >= 0) {
    const std::string text = node.string("reduction");
    require(text == "mean" || text == "sum", "linear_cross_entropy: an unknown reduction");
    reduction = text == "mean" ? 1 : 2;
    smoothing = node.real("label_smoothing");
  }
  Value* logits = b.call("aten.linear", {widened("input"), widened("linear_weight"), widened("linear_bias")});
  const Arg target = is_floating(node.tensor("target")->dtype()) ? widened("target") : node.arg("target");
  Value* loss = c.call("aten.cross_entropy_loss",
                       {logits, target, widened("weight"), reduction, node.arg("ignore_index"), smoothing});
  Results out{b.cast(loss, dtype)};
  if (node.results().size() == 1) return out;
  for (const char* name : {"compute_input_grad", "compute_linear_weight_grad", "compute_linear_bias_grad"}) {
    const bool unused = node.result(out.size())->num_uses() == 0;
    require(unused || !node.boolean(name), "linear_cross_entropy: its gradients are not supported");
    out.push_back(unused ? nullptr : b.full(out.size() < 3 ? Sizes{0, 0} : Sizes{0}, 0, dtype));
  }
  return out;
}

}  // namespace

const OpDef kLossRows[] = {
    {"aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> "
     "Tensor",
     nullptr, decompose_cosine_embedding, nullptr, kPure, Cases("f32[3, 4], f32[3, 4], i64[3]{=1, 1, 1}")},
    {"aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> "
     "Tensor",
     nullptr, decompose_poisson, nullptr, kPure, Cases("f32[3, 4], f32[3, 4]{range=1.1..4.6}, true, false, 1e-08, 1")},
    {"aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float "
     "eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
     nullptr, decompose_triplet, nullptr, kPure, Cases("f32[3, 4], f32[3, 4], f32[3, 4]")},
    {"aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int "
     "reduction=1) -> Tensor",
     nullptr, decompose_multi_margin, nullptr, kPure, Cases("f32[3, 4], i64[3]{=1, 0, 3}, 1, 1.0")},
    {"aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", nullptr,
     decompose_multilabel_margin, nullptr, kPure,
     Cases("f32[3, 4], i64[3, 4]{=1, 3, -1, 0, -1, 2, 1, 0, 0, 1, 2, 3}",
           "f32[2, 3], i64[2, 3]{=2, -1, 0, 0, 0, -1}, 0", "f32[2, 3], i64[2, 3]{=1, 2, -1}, 2",
           "f32[4], i64[4]{=3, 0, -1, 1}", "f32[4], i64[4]{=3, 0, -1, 1}, 0", "! f32[2, 3], i64[2, 4]{=-1}")},
    {"aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", nullptr, decompose_mse, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]", "f32[3, 4], f32[3, 4], 2")},
    {"aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", nullptr, decompose_l1, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]")},
    {"aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor", nullptr,
     decompose_smooth_l1, nullptr, kPure, Cases("f32[3, 4], f32[3, 4]")},
    {"aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor", nullptr,
     decompose_huber, nullptr, kPure, Cases("f32[3, 4], f32[3, 4], 1, 0.7")},
    {"aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", nullptr, decompose_soft_margin,
     nullptr, kPure, Cases("f32[3, 4], f32[3, 4]")},
    {"aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor", nullptr,
     decompose_bce, nullptr, kPure, Cases("f32[3, 4]{range=0.069..0.9}, f32[3, 4]{range=0.004..0.9}")},
    {"aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, "
     "int reduction=1) -> Tensor",
     nullptr, decompose_bce_logits, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]{range=0.069..0.9}",
           "f32[3, 4], f32[3, 4]{range=0.069..0.9}, f32[4], f32[4]{range=0.6..2.4}",
           "f32[3, 4], f32[3, 4]{range=0.069..0.9}, None, None, 0")},
    {"aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor", nullptr,
     decompose_kl_div, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]{range=0.069..0.9}", "f32[3, 4], f32[3, 4], 2, log_target=true")},
    {"aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> "
     "Tensor",
     nullptr, decompose_nll, nullptr, kPure,
     Cases("f32[3, 4], i64[3]{index<4}", "f32[3, 4], i64[3]{index<4}, f32[4]{range=0.5..2}, 2, 1")},
    {"aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> "
     "Tensor",
     nullptr, decompose_nll, nullptr, kPure,
     Cases("f32[3, 4], i64[3]{=1, 0, 3}", "f32[2, 4, 10], i64[2, 10]{index<3}")},
    {"aten::nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> "
     "Tensor",
     nullptr, decompose_nll, nullptr, kPure, Cases("f32[1, 4, 2, 2], i64[1, 2, 2]{index<4}")},
    {"aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> "
     "(Tensor output, Tensor total_weight)",
     nullptr, decompose_nll_forward, nullptr, kPure,
     Cases("f32[3, 4], i64[3]{index<4}, None, 1, -100", "f32[3, 4], i64[3]{index<4}, f32[4]{range=0.5..2}, 0, 2")},
    {"aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> "
     "(Tensor output, Tensor total_weight)",
     nullptr, decompose_nll_forward, nullptr, kPure, Cases("f32[1, 4, 2, 2], i64[1, 2, 2]{index<4}, None, 2, -100")},
    {"aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
     "ignore_index=-100, float label_smoothing=0.) -> Tensor",
     nullptr, decompose_cross_entropy, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]{range=0.069..0.9}", "f32[3, 4], i64[3]{=1, 0, 3}, None, 1, -100, 0.1",
           "f32[3, 4], i64[3]{=1, 0, 3}, f32[4]{range=1..2.3}")},
    {"aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", nullptr,
     decompose_cosine_similarity, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]", "f32[2, 3, 4], f32[2, 3, 4], 2", "f32[3, 4], f32[1, 4], 1, 1e-06")},
    {"aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) "
     "-> Tensor",
     nullptr, decompose_pairwise_distance, nullptr, kPure, Cases("f32[3, 4], f32[3, 4]")},
    {"aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> "
     "Tensor",
     nullptr, decompose_margin_ranking, nullptr, kPure, Cases("f32[3, 4], f32[3, 4], f32[3, 4]")},
    {"aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor", nullptr,
     decompose_hinge_embedding, nullptr, kPure, Cases("f32[3, 4], f32[3, 4]")},
    {"aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
     "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, "
     "Tensor)",
     nullptr, decompose_embedding_bag, nullptr, kPure,
     Cases("f32[5, 3], i64[6]{index<5}, i64[3]{=0, 2, 4}", "f32[5, 3], i64[6]{index<5}, i64[3]{=0, 2, 2}, false, 1",
           "bf16[5, 3], i64[6]{index<5}, i64[2]{=0, 3}, per_sample_weights=bf16[6]")},
    {"aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int "
     "mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, "
     "Tensor, Tensor)",
     nullptr, decompose_embedding_bag, nullptr, kPure,
     Cases("f32[3, 4], i64[3]{=2, 0, 1}, i64[1]{=0}, false, 1, false, None, false, None",
           "f32[7, 4], i64[3]{=0, 6, 3}, i64[2]{=0, 1}, false, 0, false, f32[3], false, None")},
    {"aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
     "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> "
     "(Tensor, Tensor, Tensor, Tensor)",
     nullptr, decompose_embedding_bag, nullptr, kPure, Cases("f32[7, 4], i64[3]{=0, 6, 3}, i64[2]{=0, 1}")},
    {"aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, "
     "int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int "
     "padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
     nullptr, decompose_embedding_bag, nullptr, kPure, Cases("f32[5, 3], i64[6]{index<5}, i64[3]{=0, 2, 4}")},
    {"torch_nn::_linear_cross_entropy_batch_chunked(Tensor input, Tensor linear_weight, Tensor target, Tensor? "
     "linear_bias, Tensor? weight, str reduction, SymInt ignore_index, float label_smoothing, SymInt batch_chunk_size, "
     "str acc_policy, ScalarType acc_dtype, bool allow_retain_graph, bool compute_input_grad, bool "
     "compute_linear_weight_grad, bool compute_linear_bias_grad) -> (Tensor, Tensor, Tensor, Tensor)",
     nullptr, decompose_chunked_cross_entropy, nullptr, kPure,
     Cases("f32[3, 4], f32[5, 4], i64[3]{=1, 0, 4}, f32[5], f32[5]{range=1..2.3}, mean, 0, 0.0, 2, compact, f32, true, "
           "false, false, false",
           "bf16[3, 4], bf16[5, 4], i64[3]{=1, 0, 4}, None, None, sum, -100, 0.0, 2, compact, f32, true, false, false, "
           "false")},
    {"torch_nn::_linear_cross_entropy_batch_chunked_no_reduction(Tensor input, Tensor linear_weight, Tensor target, "
     "Tensor? linear_bias, Tensor? weight, SymInt ignore_index, SymInt batch_chunk_size, str acc_policy, ScalarType "
     "acc_dtype) -> Tensor",
     nullptr, decompose_chunked_cross_entropy, nullptr, kPure,
     Cases("f32[3, 4], f32[5, 4], i64[3]{=1, 0, 4}, f32[5], None, -100, 2, compact, f32",
           "f16[3, 4], f16[5, 4], i64[3]{=1, 0, 4}, None, None, 0, 2, compact, f32")},
};
const size_t kLossCount = std::size(kLossRows);

}  // namespace wick::compiler
