// Writes at positions that tensors hold, running sums, sorting: kernels that store in their own way.
#include "backends/cuda/compile/ops/advanced_index.h"
#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "compiler/ir/builder.h"

namespace wick::cuda {
namespace {

using compiler::Verdict;

// What a write makes of the element that is there and the new one.
const char* combination(std::string_view reduce) {
  if (reduce == "add" || reduce == "sum") return kAdd;
  if (reduce == "multiply" || reduce == "prod") return kMultiply;
  if (reduce == "amax") return "maximum({0}, {1})";
  if (reduce == "amin") return "minimum({0}, {1})";
  return nullptr;
}

void write(Lowering& l, Draft& draft, uint32_t buffer, const Value* y, const Indices& at, ExpressionPtr element,
           const char* combine) {
  ExpressionPool& pool = l.pool();
  element = pool.cast(element, scalar_type(y->dtype()));
  if (combine) element = pool.call(element->type, combine, {l.element(y, at), element});
  l.store_at(draft, buffer, y, at, pool.rounded(element, y->dtype()));
}

// Columns are the updates, in order; rows are what a single update writes.
void lower_index_put(Lowering& l, const Node& node) {
  const Value *x = node.tensor("self"), *values = node.tensor("values"), *y = node.result();
  const AdvancedIndex index(node);
  const uint32_t check = l.add_check();
  const uint32_t buffer = l.place_copy(y, x);
  Draft draft = l.draft(index.rest, index.shared);
  draft.kernel.in_order = true;
  const Indices at = index.self_at(l, draft.columns, draft.rows, check);
  // The values broadcast to what indexing would give.
  const Indices own = l.broadcast(*values, index.result_at(draft.columns, draft.rows));
  write(l, draft, buffer, y, at, l.element(values, own), node.boolean("accumulate") ? kAdd : nullptr);
  l.finish_stores(std::move(draft));
}

// Rows: all dimensions of the index but `dim`; columns: that one, in order.
void scatter(Lowering& l, const Node& node, const char* combine) {
  const Value *x = node.tensor("self"), *index = node.tensor("index"), *y = node.result();
  const Value* source = node.op->parsed->find("src") >= 0 ? node.tensor("src") : nullptr;
  const uint32_t check = l.add_check();
  const uint32_t buffer = l.place_copy(y, x);
  const size_t dim = dim_argument(node, "dim", x->rank());
  Sizes rows = index->sizes();
  Sizes columns = {Sym(1)};
  if (!rows.empty()) {
    columns = {rows[dim]};
    rows[dim] = 1;
  }
  Draft draft = l.draft(rows, columns);
  draft.kernel.in_order = true;
  Indices at = draft.rows;
  if (!at.empty()) at[dim] = draft.columns[0];
  const ExpressionPtr element = source ? l.element(source, at) : l.scalar(node.arg("value"), scalar_type(y->dtype()));
  const ExpressionPtr target =
      l.checked_index(l.element(index, at), x->rank() ? x->sizes()[dim] : Sym(1), false, check);
  if (!at.empty()) at[dim] = target;
  write(l, draft, buffer, y, at, element, combine);
  l.finish_stores(std::move(draft));
}
void lower_scatter(Lowering& l, const Node& node) { scatter(l, node, nullptr); }
void lower_scatter_add(Lowering& l, const Node& node) { scatter(l, node, kAdd); }
void lower_scatter_reduce(Lowering& l, const Node& node) { scatter(l, node, combination(node.string("reduce"))); }

Verdict known_reduction(const Node& node, const compiler::TargetOptions&) {
  if (!combination(node.string("reduce"))) return Verdict::no("this reduction has no kernel");
  if (node.op->parsed->find("include_self") >= 0 && !node.boolean("include_self"))
    return Verdict::no("without the elements of self it has no kernel");
  return Verdict::yes();
}

// out[i] = out[i - 1] and x[i], along a dimension.
void running(Lowering& l, const Node& node, const char* combine) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("self"), *y = node.result();
  const size_t dim = dim_argument(node, "dim", x->rank());
  Sizes rows = x->sizes(), columns = {Sym(1)};
  if (!rows.empty()) {
    columns = {rows[dim]};
    rows[dim] = 1;
  }
  Draft draft = l.draft(rows, columns);
  draft.kernel.in_order = true;
  const uint32_t buffer = l.place(y);
  Indices at = draft.rows, before = draft.rows;
  if (!at.empty()) {
    at[dim] = draft.columns[0];
    before[dim] = pool.subtract(draft.columns[0], pool.index(1));
  }
  const ScalarType type = scalar_type(y->dtype());
  const ExpressionPtr element = pool.cast(l.element(x, at), type);
  const ExpressionPtr is_first = at.empty() ? pool.number(1, ScalarType::boolean) : pool.equal(at[dim], pool.index(0));
  pool.push_guard(pool.negation(is_first));
  const ExpressionPtr sum = pool.call(type, combine, {l.element(y, before), element});
  pool.pop_guard();
  l.store_at(draft, buffer, y, at, pool.rounded(pool.select(is_first, element, sum), y->dtype()));
  l.finish_stores(std::move(draft));
}
void lower_cumsum(Lowering& l, const Node& node) { running(l, node, kAdd); }
void lower_cumprod(Lowering& l, const Node& node) { running(l, node, kMultiply); }

Verdict wide_sums(const Node& node, const compiler::TargetOptions&) {
  const DType dtype = node.result()->dtype();
  return dtype == DType::f16 || dtype == DType::bf16 ? Verdict::no("running sums of 16-bit floats have no kernel")
                                                     : Verdict::yes();
}

// Where each element of a row stands in the sorted row: how many elements come before it. Equal elements keep their
// order; NaN is the largest.
void sorted_stores(Lowering& l, const Node& node, bool descending, const Sym& kept) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("self"), *values = node.result(0), *positions = node.result(1);
  const size_t dim = dim_argument(node, "dim", x->rank());
  l.store(x);
  const Sym length = x->rank() ? x->sizes()[dim] : Sym(1);
  Draft draft = l.draft(x->sizes(), {length});
  Indices other = draft.rows;
  if (!other.empty()) other[dim] = draft.columns[0];
  const ExpressionPtr own = l.element(x, draft.rows), element = l.element(x, other);
  const ExpressionPtr own_place = other.empty() ? pool.index(0) : draft.rows[dim];
  const ExpressionPtr before =
      pool.call(ScalarType::i64, descending ? "comes_before({1}, {0}, {2}, {3})" : "comes_before({0}, {1}, {2}, {3})",
                {element, own, pool.cast(draft.columns[0], ScalarType::i64), pool.cast(own_place, ScalarType::i64)});
  const ExpressionPtr rank = l.reduce(draft, ReductionKind::sum, before);
  const ExpressionPtr place = pool.cast(rank, ScalarType::index);
  const ExpressionPtr guard = kept == length ? nullptr : pool.less(place, pool.index(kept));
  Indices at = draft.rows;
  if (!at.empty()) at[dim] = place;
  const auto store = [&](const Value* result, ExpressionPtr stored) {
    const uint32_t buffer = l.place(result);
    draft.kernel.row_stores.push_back({buffer, result->dtype(), l.join(at, result->sizes()), stored, guard});
  };
  store(values, own);
  store(positions, pool.cast(own_place, ScalarType::i64));
  l.finish_stores(std::move(draft));
}
void lower_sort(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const Sym length = x->rank() ? x->sizes()[dim_argument(node, "dim", x->rank())] : Sym(1);
  sorted_stores(l, node, node.boolean("descending"), length);
}
void lower_topk(Lowering& l, const Node& node) { sorted_stores(l, node, node.boolean("largest"), node.integer("k")); }

Verdict topk_fits(const Node& node, const compiler::TargetOptions&) {
  const Value* x = node.tensor("self");
  return agreed(no_larger(node.integer("k"), x->rank() ? x->sizes()[dim_argument(node, "dim", x->rank())] : Sym(1)));
}

constexpr OpRule kRows[] = {
    {"aten.index_put.default", lower_index_put, integer_indices},
    {"aten.scatter.src", lower_scatter},
    {"aten.scatter.value", lower_scatter},
    {"aten.scatter_add.default", lower_scatter_add},
    {"aten.scatter.reduce", lower_scatter_reduce, known_reduction},
    {"aten.scatter.value_reduce", lower_scatter_reduce, known_reduction},
    {"aten.scatter_reduce.two", lower_scatter_reduce, known_reduction},
    {"aten.cumsum.default", lower_cumsum, wide_sums},
    {"aten.cumprod.default", lower_cumprod, wide_sums},
    {"aten.sort.default", lower_sort},
    {"aten.sort.stable", lower_sort},
    {"aten.topk.default", lower_topk, topk_fits},
};

}  // namespace

const Span<const OpRule> kWriteRules{kRows};

}  // namespace wick::cuda
