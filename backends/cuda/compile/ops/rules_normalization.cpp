// Softmax and norms: each row is reduced, then walked over again.
#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "backends/cuda/compile/ops/reduced_dims.h"

namespace wick::cuda {
namespace {

// exp(x - max) / sum, or x - max - log(sum).
void lower_softmax(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("self"), *y = node.result();
  const bool logarithm = node.is("aten._log_softmax.default");
  l.store_if_expensive(x, 16);
  const ReducedDims dims(*x, {node.static_integer("dim")});
  Draft draft = l.draft(dims.rows, dims.columns);
  const Indices at = dims.operand_at(draft.rows, draft.columns);
  const ScalarType type = scalar_type(y->dtype());
  const ExpressionPtr element = pool.cast(l.element(x, at), type);
  const ExpressionPtr largest = l.reduce(draft, ReductionKind::maximum, element);
  const ExpressionPtr shifted = sub(pool, element, largest);
  const ExpressionPtr power = pool.call(type, "exp({0})", {shifted});
  const ExpressionPtr sum = l.reduce(draft, ReductionKind::sum, power);
  const ExpressionPtr out = logarithm ? sub(pool, shifted, pool.call(type, "log({0})", {sum}))
                                      : pool.call(type, "share_of({0}, {1})", {power, sum});
  l.finish(std::move(draft), {{y, at, pool.rounded(out, y->dtype())}});
}

// For a row: the mean, the distance of an element from it, and 1 / sqrt(variance + eps). If the norm uses no mean, the
// variance is the mean of the squares.
struct Moments {
  ExpressionPtr mean, gap, variance, inverse;
};

Moments moments_of(Lowering& l, Draft& draft, ExpressionPtr element, ExpressionPtr count, double eps, bool centered) {
  ExpressionPool& pool = l.pool();
  Moments out{nullptr, element, nullptr, nullptr};
  if (centered) {
    out.mean = div(pool, l.reduce(draft, ReductionKind::sum, element), count);
    out.gap = sub(pool, element, out.mean);
  }
  out.variance = div(pool, l.reduce(draft, ReductionKind::sum, mul(pool, out.gap, out.gap)), count);
  const ExpressionPtr shifted = add(pool, out.variance, l.scalar(compiler::Arg(eps), element->type));
  out.inverse = pool.call(element->type, "rsqrt({0})", {shifted});
  return out;
}

// out * weight + bias, if there are any.
ExpressionPtr scaled(Lowering& l, const Node& node, ExpressionPtr out, const Indices& at) {
  ExpressionPool& pool = l.pool();
  const bool has_bias = node.op->parsed->find("bias") >= 0;
  if (const Value* weight = node.optional_tensor("weight"))
    out = mul(pool, out, pool.cast(l.element(weight, at), out->type));
  if (const Value* bias = has_bias ? node.optional_tensor("bias") : nullptr)
    out = add(pool, out, pool.cast(l.element(bias, at), out->type));
  return out;
}

// A norm whose rows are the leading dimensions and whose columns are the last ones.
struct Norm {
  Draft draft;
  Indices at;
  Moments moments;
};

Norm draft_norm(Lowering& l, const Value* x, size_t columns, double eps, bool centered) {
  std::vector<int64_t> reduced;
  for (size_t i = x->rank() - columns; i < x->rank(); ++i) reduced.push_back(static_cast<int64_t>(i));
  const ReducedDims dims(*x, reduced);
  l.store_if_expensive(x, 16);
  Norm norm{l.draft(dims.rows, dims.columns), {}, {}};
  norm.at = dims.operand_at(norm.draft.rows, norm.draft.columns);
  const ExpressionPtr element = l.element(x, norm.at);
  norm.moments = moments_of(l, norm.draft, element, dims.count(l.pool(), element->type), eps, centered);
  return norm;
}

void lower_layer_norm(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("input"), *y = node.result();
  const size_t columns = node.ints("normalized_shape").size();
  Norm norm = draft_norm(l, x, columns, node.real("eps"), true);
  const Indices own(norm.at.end() - static_cast<std::ptrdiff_t>(columns), norm.at.end());
  const ExpressionPtr out = scaled(l, node, mul(pool, norm.moments.gap, norm.moments.inverse), own);
  std::vector<Lowering::DraftResult> results = {{y, norm.at, pool.rounded(out, y->dtype())}};
  Indices row(norm.at.begin(), norm.at.end() - static_cast<std::ptrdiff_t>(columns));
  row.resize(x->rank(), pool.index(0));
  if (node.result(1)->num_uses() > 0) results.push_back({node.result(1), row, norm.moments.mean});
  if (node.result(2)->num_uses() > 0) results.push_back({node.result(2), row, norm.moments.inverse});
  l.finish(std::move(norm.draft), std::move(results));
}

// Without an epsilon, eager uses that of the dtype it computes in.
void lower_rms_norm(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("input"), *y = node.result();
  const size_t columns = node.ints("normalized_shape").size();
  const double eps = !node.is_none("eps")       ? node.real("eps")
                     : x->dtype() == DType::f64 ? 2.220446049250313e-16
                                                : 1.1920928955078125e-07;
  Norm norm = draft_norm(l, x, columns, eps, false);
  const Indices own(norm.at.end() - static_cast<std::ptrdiff_t>(columns), norm.at.end());
  const ExpressionPtr out = scaled(l, node, mul(pool, norm.moments.gap, norm.moments.inverse), own);
  l.finish(std::move(norm.draft), {{y, norm.at, pool.rounded(out, y->dtype())}});
}

// Norms of groups of channels: rows [N, group], columns [C / group, HxW].
void lower_group_norm(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("input"), *y = node.result();
  const Sym batch = node.integer("N"), channels = node.integer("C"), plane = node.integer("HxW"),
            groups = node.integer("group");
  const Sym per_group = floor_div(channels, groups);
  l.store_if_expensive(x, 16);
  Draft draft = l.draft({batch, groups}, {per_group, plane});
  const ExpressionPtr channel = pool.add(pool.multiply(draft.rows[1], pool.index(per_group)), draft.columns[0]);
  Indices at = {draft.rows[0], channel};
  const Sizes inner(x->sizes().begin() + 2, x->sizes().end());
  for (const ExpressionPtr index : l.split(draft.columns[1], inner)) at.push_back(index);
  const ExpressionPtr element = l.element(x, at);
  const ExpressionPtr count = pool.cast(pool.index(per_group * plane), element->type);
  const Moments moments = moments_of(l, draft, element, count, node.real("eps"), true);
  const ExpressionPtr out = scaled(l, node, mul(pool, moments.gap, moments.inverse), {channel});
  std::vector<Lowering::DraftResult> results = {{y, at, pool.rounded(out, y->dtype())}};
  const Indices row = draft.rows;
  if (node.result(1)->num_uses() > 0) results.push_back({node.result(1), row, moments.mean});
  if (node.result(2)->num_uses() > 0) results.push_back({node.result(2), row, moments.inverse});
  l.finish(std::move(draft), std::move(results));
}

// (x - mean[c]) / sqrt(var[c] + eps) * weight[c] + bias[c]
void lower_batch_norm(Lowering& l, const Node& node) {
  const Value* x = node.tensor("input");
  const Value *mean = node.tensor("running_mean"), *var = node.tensor("running_var");
  const double eps = node.real("eps");
  const DType dtype = node.result()->dtype();
  l.define(node.result(), [&l, &node, x, mean, var, eps, dtype](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const Indices channel = {at[1]};
    const ExpressionPtr element = l.element(x, at);
    const ScalarType type = element->type;
    const auto of = [&](const Value* value) { return pool.cast(l.element(value, channel), type); };
    const ExpressionPtr shifted = add(pool, of(var), l.scalar(compiler::Arg(eps), type));
    ExpressionPtr scale = pool.call(type, "rsqrt({0})", {shifted});
    if (const Value* weight = node.optional_tensor("weight")) scale = mul(pool, scale, of(weight));
    ExpressionPtr out = mul(pool, sub(pool, element, of(mean)), scale);
    if (const Value* bias = node.optional_tensor("bias")) out = add(pool, out, of(bias));
    return pool.rounded(out, dtype);
  });
}

// Rows are channels; columns are the channel's elements in all images.
void lower_batch_norm_of_batch(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("input"), *y = node.result();
  std::vector<int64_t> reduced = {0};
  for (size_t i = 2; i < x->rank(); ++i) reduced.push_back(static_cast<int64_t>(i));
  const ReducedDims dims(*x, reduced);
  l.store_if_expensive(x, 16);
  Draft draft = l.draft(dims.rows, dims.columns);
  const Indices at = dims.operand_at(draft.rows, draft.columns), channel = draft.rows;
  const ExpressionPtr element = l.element(x, at);
  const Moments moments = moments_of(l, draft, element, dims.count(pool, element->type), node.real("eps"), true);
  const ExpressionPtr out = scaled(l, node, mul(pool, moments.gap, moments.inverse), channel);
  std::vector<Lowering::DraftResult> results;
  if (y->num_uses() > 0) results.push_back({y, at, pool.rounded(out, y->dtype())});
  const ExpressionPtr statistics[] = {moments.mean, moments.inverse};
  for (size_t i = 0; i < 2; ++i) {
    const Value* read = node.result(1 + i);
    if (read->num_uses() > 0) results.push_back({read, channel, pool.rounded(statistics[i], read->dtype())});
  }
  l.finish(std::move(draft), std::move(results));
}

void norm_needs(const Node& node, SizeRequirements& out) {
  const Sizes& sizes = node.tensor("input")->sizes();
  const compiler::Ints shape = node.ints("normalized_shape");
  for (size_t i = 0; i < shape.size(); ++i)
    out.push_back(equal(sizes[sizes.size() - shape.size() + i], shape[i], "the input ends in another shape"));
}

compiler::Verdict first_result_only(const Node& node, const compiler::TargetContext&) {
  for (size_t i = 1; i < node.results().size(); ++i) {
    if (node.result(i)->num_uses() > 0)
      return compiler::Verdict::no("its statistics are read, which need a kernel of their own");
  }
  return compiler::Verdict::yes();
}

constexpr OpRule kNormalizationRows[] = {
    {"aten._softmax.default", lower_softmax},
    {"aten._log_softmax.default", lower_softmax},
    needing({"aten.native_layer_norm.default", lower_layer_norm}, norm_needs),
    needing(whole({"aten.rms_norm.default", lower_rms_norm}), norm_needs),
    {"aten.native_group_norm.default", lower_group_norm},
    of_images({"aten._native_batch_norm_legit.no_stats", lower_batch_norm_of_batch}),
    of_images({"aten._native_batch_norm_legit_no_training.default", lower_batch_norm, first_result_only}),
};

}  // namespace

const Span<const OpRule> kNormalizationRules{kNormalizationRows};

}  // namespace wick::cuda
