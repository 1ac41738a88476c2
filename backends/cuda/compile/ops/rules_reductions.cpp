// Reductions over dimensions: rows are the kept dimensions, columns the reduced ones.
#include <algorithm>
#include <string>
#include <utility>

#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "backends/cuda/compile/ops/reduced_dims.h"
#include "compiler/ir/builder.h"

namespace wick::cuda {

ReducedDims::ReducedDims(const Value& operand, std::vector<int64_t> dims) : reduced_(operand.rank()) {
  if (dims.empty()) reduced_.assign(operand.rank(), true);
  for (const int64_t dim : dims) {
    if (operand.rank() > 0) reduced_[static_cast<size_t>(compiler::wrap_dim(dim, operand.rank()))] = true;
  }
  for (size_t i = 0; i < operand.rank(); ++i) (reduced_[i] ? columns : rows).push_back(operand.sizes()[i]);
}

Indices ReducedDims::operand_at(const Indices& row, const Indices& column) const {
  Indices at;
  size_t r = 0, c = 0;
  for (const bool reduced : reduced_) at.push_back(reduced ? column[c++] : row[r++]);
  return at;
}

Indices ReducedDims::result_at(ExpressionPool& pool, const Indices& row, const Value& result) const {
  if (result.rank() == row.size()) return row;
  Indices at;
  size_t r = 0;
  for (const bool reduced : reduced_) at.push_back(reduced ? pool.index(0) : row[r++]);
  return at;
}

ExpressionPtr ReducedDims::count(ExpressionPool& pool, ScalarType type) const {
  Sym count = 1;
  for (const Sym& size : columns) count = count * size;
  return pool.cast(pool.index(count), type);
}

ReducedDims dims_of_argument(const Node& node, const Value& operand) {
  std::vector<int64_t> dims;
  if (const compiler::Arg& arg = node.arg("dim"); arg.is<Sym>()) {
    dims = {node.static_integer("dim")};
  } else if (!arg.is<compiler::None>()) {
    dims = node.static_ints("dim");
  }
  return {operand, std::move(dims)};
}

namespace {

// The register type of the result.
ScalarType result_type(const Node& node) { return scalar_type(node.result()->dtype()); }

void lower_fold(Lowering& l, const Node& node, ReductionKind kind, ScalarType type, bool mean) {
  const Value* x = node.tensor("self");
  const ReducedDims dims = node.op->parsed->find("dim") < 0 ? ReducedDims(*x, {}) : dims_of_argument(node, *x);
  Draft draft = l.draft(dims.rows, dims.columns);
  const ExpressionPtr element = l.pool().cast(l.element(x, dims.operand_at(draft.rows, draft.columns)), type);
  ExpressionPtr out = l.reduce(draft, kind, element);
  if (mean) out = div(l.pool(), out, dims.count(l.pool(), type));
  const Indices at = dims.result_at(l.pool(), draft.rows, *node.result());
  l.finish(std::move(draft),
           {{node.result(), at, l.pool().rounded(l.pool().cast(out, result_type(node)), node.result()->dtype())}});
}

void lower_sum(Lowering& l, const Node& node) { lower_fold(l, node, ReductionKind::sum, result_type(node), false); }
void lower_mean(Lowering& l, const Node& node) { lower_fold(l, node, ReductionKind::sum, result_type(node), true); }
void lower_prod(Lowering& l, const Node& node) {
  lower_fold(l, node, ReductionKind::product, result_type(node), false);
}
void lower_amax(Lowering& l, const Node& node) {
  lower_fold(l, node, ReductionKind::maximum, result_type(node), false);
}
void lower_amin(Lowering& l, const Node& node) {
  lower_fold(l, node, ReductionKind::minimum, result_type(node), false);
}
void lower_any(Lowering& l, const Node& node) {
  lower_fold(l, node, ReductionKind::disjunction, ScalarType::boolean, false);
}
void lower_all(Lowering& l, const Node& node) {
  lower_fold(l, node, ReductionKind::conjunction, ScalarType::boolean, false);
}

void lower_positioned(Lowering& l, const Node& node, ReductionKind kind, bool values) {
  const Value* x = node.tensor("self");
  const ReducedDims dims = dims_of_argument(node, *x);
  Draft draft = l.draft(dims.rows, dims.columns);
  const ExpressionPtr best = l.reduce(draft, kind, l.element(x, dims.operand_at(draft.rows, draft.columns)));
  const ExpressionPtr position = l.position(draft, best);
  const Indices at = dims.result_at(l.pool(), draft.rows, *node.result());
  if (!values) return l.finish(std::move(draft), {{node.result(), at, position}});
  std::vector<Lowering::DraftResult> results = {{node.result(0), at, best}};
  if (node.result(1)->num_uses() > 0) results.push_back({node.result(1), at, position});
  l.finish(std::move(draft), std::move(results));
}
void lower_argmax(Lowering& l, const Node& node) { lower_positioned(l, node, ReductionKind::arg_maximum, false); }
void lower_argmin(Lowering& l, const Node& node) { lower_positioned(l, node, ReductionKind::arg_minimum, false); }
void lower_max_dim(Lowering& l, const Node& node) { lower_positioned(l, node, ReductionKind::arg_maximum, true); }
void lower_min_dim(Lowering& l, const Node& node) { lower_positioned(l, node, ReductionKind::arg_minimum, true); }

// The sum of squared distances from the mean, divided by count - correction, or by 0 if that is negative.
void lower_variance(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value* x = node.tensor("self");
  const ReducedDims dims = dims_of_argument(node, *x);
  const ScalarType type = result_type(node);
  Draft draft = l.draft(dims.rows, dims.columns);
  const ExpressionPtr element = pool.cast(l.element(x, dims.operand_at(draft.rows, draft.columns)), type);
  const ExpressionPtr count = dims.count(pool, type);
  const ExpressionPtr mean = div(pool, l.reduce(draft, ReductionKind::sum, element), count);
  const ExpressionPtr gap = sub(pool, element, mean);
  // The mean is rounded; the sum of the distances corrects for it (Chan, Golub and LeVeque).
  const ExpressionPtr rest = l.reduce(draft, ReductionKind::sum, gap);
  ExpressionPtr squares = l.reduce(draft, ReductionKind::sum, mul(pool, gap, gap));
  squares = sub(pool, squares, div(pool, mul(pool, rest, rest), count));
  const ExpressionPtr correction =
      node.is_none("correction") ? pool.number(1, type) : l.scalar(node.arg("correction"), type);
  const ExpressionPtr divisor =
      pool.call(type, "maximum({0}, {1})", {sub(pool, count, correction), pool.number(0, type)});
  ExpressionPtr out = div(pool, squares, divisor);
  if (node.is("aten.std.correction")) out = pool.call(type, "sqrt({0})", {out});
  const Indices at = dims.result_at(pool, draft.rows, *node.result());
  const DType dtype = node.result()->dtype();
  std::vector<Lowering::DraftResult> results = {{node.result(0), at, pool.rounded(out, dtype)}};
  if (node.results().size() > 1 && node.result(1)->num_uses() > 0)
    results.push_back({node.result(1), at, pool.rounded(mean, dtype)});
  l.finish(std::move(draft), std::move(results));
}

// The smallest and the largest element, which must be finite. If they are equal, the range grows by 1 on both sides.
std::pair<ExpressionPtr, ExpressionPtr> range_of_elements(Lowering& l, const Value* x) {
  ExpressionPool& pool = l.pool();
  l.store_if_expensive(x, 2);
  const uint32_t check = l.add_check("the elements have no finite range"), bounds = l.scratch(DType::f64, 2);
  Draft draft = l.draft({}, x->sizes());
  const ExpressionPtr element = pool.cast(l.element(x, draft.columns), ScalarType::f64);
  const ExpressionPtr low = l.reduce(draft, ReductionKind::minimum, element),
                      high = l.reduce(draft, ReductionKind::maximum, element);
  const std::string text = "checked_finite({0}, {check}, " + std::to_string(check) + ")";
  const ExpressionPtr equal = pool.call(ScalarType::boolean, "({0} == {1})", {low, high});
  const auto store = [&](int64_t place, ExpressionPtr bound, double more) {
    const ExpressionPtr wider = add(pool, bound, pool.number(more, ScalarType::f64));
    const ExpressionPtr stored = pool.call(ScalarType::f64, text, {pool.select(equal, wider, bound)});
    draft.kernel.row_stores.push_back({bounds, DType::f64, pool.index(place), stored, nullptr});
  };
  store(0, low, -1);
  store(1, high, 1);
  l.finish_stores(std::move(draft));
  return {pool.load(bounds, DType::f64, pool.index(0)), pool.load(bounds, DType::f64, pool.index(1))};
}

// The number of elements in each of the equal bins over [min, max], the last of which includes max. NaN is in no bin.
// Each step is rounded to the dtype, as in eager.
void lower_histogram(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("self"), *y = node.result();
  const auto bounds = node.real("min") < node.real("max") ? std::pair(l.scalar(node.arg("min"), ScalarType::f64),
                                                                      l.scalar(node.arg("max"), ScalarType::f64))
                                                          : range_of_elements(l, x);
  Draft draft = l.draft(y->sizes(), x->sizes());
  const ScalarType type = scalar_type(x->dtype());
  const auto own = [&](ExpressionPtr number) { return pool.rounded(pool.cast(number, type), x->dtype()); };
  const ExpressionPtr element = l.element(x, draft.columns), low = own(bounds.first), high = own(bounds.second);
  const ExpressionPtr bins = pool.cast(pool.index(node.integer("bins")), ScalarType::i64);
  const ExpressionPtr scaled = own(mul(pool, own(sub(pool, element, low)), own(bins)));
  const ExpressionPtr place = own(div(pool, scaled, own(sub(pool, high, low))));
  const ExpressionPtr bin =
      pool.call(ScalarType::i64, "bin_at({0}, {1}, {2}, {3}, {4})", {element, low, high, place, bins});
  const ExpressionPtr here =
      pool.call(ScalarType::boolean, "({0} == {1})", {bin, pool.cast(draft.rows[0], ScalarType::i64)});
  const ExpressionPtr count = l.reduce(draft, ReductionKind::sum, pool.cast(here, ScalarType::i64));
  const Indices at = draft.rows;
  l.finish(std::move(draft), {{y, at, pool.rounded(pool.cast(count, result_type(node)), y->dtype())}});
}
constexpr OpRule kReductionRows[] = {
    {"aten.sum.dim_IntList", lower_sum},
    {"aten.mean.dim", lower_mean},
    {"aten.prod.default", lower_prod},
    {"aten.prod.dim_int", lower_prod},
    {"aten.amax.default", lower_amax},
    {"aten.amin.default", lower_amin},
    {"aten.any.dims", lower_any},
    {"aten.any.dim", lower_any},
    {"aten.any.default", lower_any},
    {"aten.all.dims", lower_all},
    {"aten.all.dim", lower_all},
    {"aten.all.default", lower_all},
    {"aten.argmax.default", lower_argmax},
    {"aten.argmin.default", lower_argmin},
    {"aten.max.dim", lower_max_dim},
    {"aten.min.dim", lower_min_dim},
    {"aten.var.correction", lower_variance},
    {"aten.std.correction", lower_variance},
    {"aten.var_mean.correction", lower_variance},
    {"aten.histc.default", lower_histogram},
};

}  // namespace

const Span<const OpRule> kReductionRules{kReductionRows};

}  // namespace wick::cuda
