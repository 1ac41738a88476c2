// Softmax and norms: rows that are reduced, then walked over again.
#include "backends/cuda/compile/ops/op_rule.h"
#include "backends/cuda/compile/ops/reduced_dims.h"

namespace wick::cuda {
namespace {

ExpressionPtr sub(ExpressionPool& pool, ExpressionPtr a, ExpressionPtr b) {
  return pool.call(a->type, "op_sub({0}, {1})", {a, b});
}
ExpressionPtr mul(ExpressionPool& pool, ExpressionPtr a, ExpressionPtr b) {
  return pool.call(a->type, "op_mul({0}, {1})", {a, b});
}
ExpressionPtr add(ExpressionPool& pool, ExpressionPtr a, ExpressionPtr b) {
  return pool.call(a->type, "op_add({0}, {1})", {a, b});
}
ExpressionPtr div(ExpressionPool& pool, ExpressionPtr a, ExpressionPtr b) {
  return pool.call(a->type, "op_div({0}, {1})", {a, b});
}

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
  const ExpressionPtr out = logarithm ? sub(pool, shifted, pool.call(type, "log({0})", {sum})) : div(pool, power, sum);
  l.finish(std::move(draft), {{y, at, pool.rounded(out, y->dtype())}});
}

// Rows are the leading dimensions, columns the last ones.
struct Norm {
  Draft draft;
  Indices at;
  ExpressionPtr element, mean, inverse;
};

Norm draft_norm(Lowering& l, const Value* x, size_t columns, double eps, bool centered) {
  ExpressionPool& pool = l.pool();
  std::vector<int64_t> reduced;
  for (size_t i = x->rank() - columns; i < x->rank(); ++i) reduced.push_back(static_cast<int64_t>(i));
  const ReducedDims dims(*x, reduced);
  l.store_if_expensive(x, 16);
  Norm norm{l.draft(dims.rows, dims.columns), {}, nullptr, nullptr, nullptr};
  norm.at = dims.operand_at(norm.draft.rows, norm.draft.columns);
  norm.element = l.element(x, norm.at);
  const ScalarType type = norm.element->type;
  const ExpressionPtr count = dims.count(pool, type);
  ExpressionPtr gap = norm.element;
  if (centered) {
    norm.mean = div(pool, l.reduce(norm.draft, ReductionKind::sum, norm.element), count);
    gap = sub(pool, norm.element, norm.mean);
  }
  const ExpressionPtr variance = div(pool, l.reduce(norm.draft, ReductionKind::sum, mul(pool, gap, gap)), count);
  norm.inverse = pool.call(type, "rsqrt({0})", {add(pool, variance, l.scalar(compiler::Arg(eps), type))});
  return norm;
}

void lower_layer_norm(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("input"), *y = node.result();
  const size_t columns = node.ints("normalized_shape").size();
  Norm norm = draft_norm(l, x, columns, node.real("eps"), true);
  ExpressionPtr out = mul(pool, sub(pool, norm.element, norm.mean), norm.inverse);
  const Indices own(norm.at.end() - static_cast<std::ptrdiff_t>(columns), norm.at.end());
  if (const Value* weight = node.optional_tensor("weight"))
    out = mul(pool, out, pool.cast(l.element(weight, own), out->type));
  if (const Value* bias = node.optional_tensor("bias"))
    out = add(pool, out, pool.cast(l.element(bias, own), out->type));
  std::vector<Lowering::DraftResult> results = {{y, norm.at, pool.rounded(out, y->dtype())}};
  Indices row(norm.at.begin(), norm.at.end() - static_cast<std::ptrdiff_t>(columns));
  row.resize(x->rank(), pool.index(0));
  if (node.result(1)->num_uses() > 0) results.push_back({node.result(1), row, norm.mean});
  if (node.result(2)->num_uses() > 0) results.push_back({node.result(2), row, norm.inverse});
  l.finish(std::move(norm.draft), std::move(results));
}

// Without an epsilon eager takes that of the dtype it computes in.
void lower_rms_norm(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("input"), *y = node.result();
  const size_t columns = node.ints("normalized_shape").size();
  const double eps = !node.is_none("eps")       ? node.real("eps")
                     : x->dtype() == DType::f64 ? 2.220446049250313e-16
                                                : 1.1920928955078125e-07;
  Norm norm = draft_norm(l, x, columns, eps, false);
  ExpressionPtr out = mul(pool, norm.element, norm.inverse);
  const Indices own(norm.at.end() - static_cast<std::ptrdiff_t>(columns), norm.at.end());
  if (const Value* weight = node.optional_tensor("weight"))
    out = mul(pool, out, pool.cast(l.element(weight, own), out->type));
  l.finish(std::move(norm.draft), {{y, norm.at, pool.rounded(out, y->dtype())}});
}

// Groups of channels: rows [N, group], columns [C / group, HxW].
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
  const ScalarType type = element->type;
  const ExpressionPtr count = pool.cast(pool.index(per_group * plane), type);
  const ExpressionPtr mean = div(pool, l.reduce(draft, ReductionKind::sum, element), count);
  const ExpressionPtr gap = sub(pool, element, mean);
  const ExpressionPtr variance = div(pool, l.reduce(draft, ReductionKind::sum, mul(pool, gap, gap)), count);
  const ExpressionPtr inverse =
      pool.call(type, "rsqrt({0})", {add(pool, variance, l.scalar(compiler::Arg(node.real("eps")), type))});
  ExpressionPtr out = mul(pool, gap, inverse);
  if (const Value* weight = node.optional_tensor("weight"))
    out = mul(pool, out, pool.cast(l.element(weight, {channel}), type));
  if (const Value* bias = node.optional_tensor("bias"))
    out = add(pool, out, pool.cast(l.element(bias, {channel}), type));
  std::vector<Lowering::DraftResult> results = {{y, at, pool.rounded(out, y->dtype())}};
  const Indices row = draft.rows;
  if (node.result(1)->num_uses() > 0) results.push_back({node.result(1), row, mean});
  if (node.result(2)->num_uses() > 0) results.push_back({node.result(2), row, inverse});
  l.finish(std::move(draft), std::move(results));
}

// (x - mean[c]) / sqrt(var[c] + eps) * weight[c] + bias[c]
void lower_batch_norm(Lowering& l, const Node& node) {
  const Value* x = node.tensor("input");
  const Value *mean = node.tensor("running_mean"), *var = node.tensor("running_var");
  const Value *weight = node.optional_tensor("weight"), *bias = node.optional_tensor("bias");
  const double eps = node.real("eps");
  const DType dtype = node.result()->dtype();
  l.define(node.result(), [&l, x, mean, var, weight, bias, eps, dtype](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const Indices channel = {at[1]};
    const ExpressionPtr element = l.element(x, at);
    const ScalarType type = element->type;
    const auto of = [&](const Value* value) { return pool.cast(l.element(value, channel), type); };
    ExpressionPtr scale = pool.call(type, "rsqrt({0})", {add(pool, of(var), l.scalar(compiler::Arg(eps), type))});
    if (weight) scale = mul(pool, scale, of(weight));
    ExpressionPtr out = mul(pool, sub(pool, element, of(mean)), scale);
    if (bias) out = add(pool, out, of(bias));
    return pool.rounded(out, dtype);
  });
}

compiler::Verdict norm_fits(const Node& node, const compiler::TargetOptions&) {
  const Sizes& sizes = node.tensor("input")->sizes();
  const compiler::Ints shape = node.ints("normalized_shape");
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!same(shape[i], sizes[sizes.size() - shape.size() + i])) return agreed(false);
  }
  return agreed(true);
}

compiler::Verdict first_result_only(const Node& node, const compiler::TargetOptions&) {
  for (size_t i = 1; i < node.results().size(); ++i) {
    if (node.result(i)->num_uses() > 0)
      return compiler::Verdict::no("its statistics are read, which need a kernel of their own");
  }
  return compiler::Verdict::yes();
}

constexpr OpRule kRows[] = {
    {"aten._softmax.default", lower_softmax},
    {"aten._log_softmax.default", lower_softmax},
    {"aten.native_layer_norm.default", lower_layer_norm, norm_fits},
    whole({"aten.rms_norm.default", lower_rms_norm, norm_fits}),
    {"aten.native_group_norm.default", lower_group_norm},
    {"aten._native_batch_norm_legit_no_training.default", lower_batch_norm, first_result_only},
};

}  // namespace

const Span<const OpRule> kNormalizationRules{kRows};

}  // namespace wick::cuda
