// Writes at positions from tensors, by kernels with stores of their own.
#include <algorithm>

#include "backends/cuda/compile/ops/advanced_index.h"
#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/lines/scan.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "compiler/ir/builder.h"

namespace wick::cuda {
namespace {

using compiler::Verdict;

// The text that combines the old element and the new one; null: the new one replaces it.
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

// Whether no element can be written twice: each index has one element, and each written element one value.
bool is_one_update(const AdvancedIndex& index, const Value& values) {
  const Sym count = compiler::numel(index.shared);
  return count.is(1) && values.rank() == index.shared.size() + index.rest.size() &&
         compiler::numel(values.sizes()) == compiler::numel(index.rest);
}

// For these numbers of updates, each is compared with all later ones, so that the last one for an element can be found.
constexpr int64_t kFewestCompared = 32, kMostCompared = 1 << 16;
bool are_compared(const Sym& updates) {
  const int64_t most = compiler::SymScope::range(updates).max;
  return most >= kFewestCompared && most <= kMostCompared;
}

// A buffer that says for each update whether a later one writes the same elements.
uint32_t find_replaced(Lowering& l, const AdvancedIndex& index, const Value& x, uint32_t check) {
  ExpressionPool& pool = l.pool();
  const Sym updates = compiler::numel(index.shared);
  const uint32_t replaced = l.scratch(DType::boolean, updates);
  Draft draft = l.draft(index.shared, {updates});
  const Indices first(index.rest.size(), pool.index(0));
  const auto place = [&](const Indices& at) { return l.join(index.self_at(l, at, first, check), x.sizes()); };
  const ExpressionPtr number = l.join(draft.rows, index.shared), later = draft.columns[0];
  const ExpressionPtr same = pool.equal(place(draft.rows), place(l.split(later, index.shared)));
  const ExpressionPtr any = l.reduce(draft, ReductionKind::disjunction, pool.both(pool.less(number, later), same));
  draft.kernel.row_stores.push_back({replaced, DType::boolean, number, any, nullptr});
  l.finish_stores(std::move(draft));
  return replaced;
}

// Writes all updates that no later one replaces, in parallel.
void write_last_updates(Lowering& l, const AdvancedIndex& index, const Node& node, uint32_t buffer, uint32_t check) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("self"), *values = node.tensor("values"), *y = node.result();
  const uint32_t replaced = find_replaced(l, index, *x, check);
  Draft draft = l.draft(index.indexed(), {});
  const ExpressionPtr number = l.join(index.shared_at(draft.rows), index.shared);
  const ExpressionPtr stays = pool.negation(pool.load(replaced, DType::boolean, number));
  const ExpressionPtr element = l.element(values, l.broadcast(*values, draft.rows, index.indexed()));
  const Indices at = index.self_at(l, draft.rows, check);
  l.store_at(draft, buffer, y, at, pool.rounded(pool.cast(element, scalar_type(y->dtype())), y->dtype()), stays);
  l.finish_stores(std::move(draft));
}

// If updates may write the same element, they are the columns, which run in order. The rows are the elements that one
// update writes.
void lower_index_put(Lowering& l, const Node& node) {
  const Value *x = node.tensor("self"), *values = node.tensor("values"), *y = node.result();
  const AdvancedIndex index(node);
  const uint32_t check = l.add_check();
  const Indices region = index.region(l);
  if (l.is_in_place(y) && is_one_update(index, *values) && !node.boolean("accumulate")) {
    l.replace_elements(y, values, [&](const Indices& at) { return index.self_at(l, at, check); }, region);
    return;
  }
  const uint32_t buffer = l.place_copy(y, x, region);
  if (!node.boolean("accumulate") && are_compared(compiler::numel(index.shared)))
    return write_last_updates(l, index, node, buffer, check);
  Draft draft = l.draft(index.rest, index.shared);
  draft.kernel.in_order = true;
  const Indices at = index.self_at(l, draft.columns, draft.rows, check);
  // Values broadcast to the shape of the indexed tensor.
  const Indices own = l.broadcast(*values, index.result_at(draft.columns, draft.rows), index.indexed());
  write(l, draft, buffer, y, at, l.element(values, own), node.boolean("accumulate") ? kAdd : nullptr);
  l.finish_stores(std::move(draft));
}

// A buffer for the number of updates that each element of y has had, initially 0. The caller's kernel stores the
// counts.
uint32_t add_counts(Lowering& l, const Value* y) {
  const uint32_t counts = l.scratch(DType::i32, compiler::numel(y->sizes()));
  Draft zeros = l.draft(y->sizes(), {});
  const ExpressionPtr none = l.pool().constant(0, 0, ScalarType::i32);
  zeros.kernel.row_stores.push_back({counts, DType::i32, l.join(zeros.rows, y->sizes()), none, nullptr});
  l.finish_stores(std::move(zeros));
  return counts;
}

struct ScatterMode {
  const char* combine = nullptr;  // null: the new element replaces the old one
  bool is_mean = false, includes_self = true;
  bool counts() const { return is_mean || !includes_self; }
};

// Divides the elements that were updated by the number of their summands.
void divide_by_counts(Lowering& l, const Value* y, uint32_t buffer, uint32_t counts, bool includes_self) {
  ExpressionPool& pool = l.pool();
  const ScalarType type = scalar_type(y->dtype());
  Draft draft = l.draft(y->sizes(), {});
  const ExpressionPtr offset = l.join(draft.rows, y->sizes());
  const ExpressionPtr count = pool.load(counts, DType::i32, offset), none = pool.constant(0, 0, ScalarType::i32);
  const ExpressionPtr more = pool.constant(0, includes_self ? 1 : 0, ScalarType::i32);
  const char* divides = is_real(type) ? "op_div({0}, {1})" : "divide_floor({0}, {1})";
  const ExpressionPtr mean =
      pool.call(type, divides, {l.element(y, draft.rows), pool.cast(add(pool, count, more), type)});
  const ExpressionPtr updated = pool.call(ScalarType::boolean, "({0} > {1})", {count, none});
  l.store_at(draft, buffer, y, draft.rows, pool.rounded(mean, y->dtype()), updated);
  l.finish_stores(std::move(draft));
}

// Rows are all dimensions of the index but `dim`; columns are `dim`, in order.
void scatter(Lowering& l, const Node& node, const ScatterMode& mode) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("self"), *index = node.tensor("index"), *y = node.result();
  const Value* source = node.op->parsed->find("src") >= 0 ? node.tensor("src") : nullptr;
  const uint32_t check = l.add_check();
  const size_t dim = dim_argument(node, "dim", x->rank());
  Sizes region = index->sizes();
  if (!region.empty()) region[dim] = x->sizes()[dim];
  const uint32_t buffer = l.place_copy(y, x, l.indices_of(region));
  const uint32_t counts = mode.counts() ? add_counts(l, y) : 0;
  const ScalarType type = scalar_type(y->dtype());
  Sizes rows = index->sizes();
  const Sym length = rows.empty() ? Sym(1) : rows[dim];
  if (!rows.empty()) rows[dim] = 1;
  Draft draft = l.draft(rows, {length});
  draft.kernel.in_order = true;
  Indices at = draft.rows;
  if (!at.empty()) at[dim] = draft.columns[0];
  ExpressionPtr element = source ? pool.cast(l.element(source, at), type) : l.scalar(node.arg("value"), type);
  const ExpressionPtr target =
      l.checked_index(l.element(index, at), x->rank() ? x->sizes()[dim] : Sym(1), false, check);
  if (!at.empty()) at[dim] = target;
  if (!mode.counts()) {
    write(l, draft, buffer, y, at, element, mode.combine);
    return l.finish_stores(std::move(draft));
  }
  const ExpressionPtr offset = l.join(at, y->sizes()), count = pool.load(counts, DType::i32, offset);
  const ExpressionPtr combined = pool.call(type, mode.combine, {l.element(y, at), element});
  const ExpressionPtr is_first = pool.call(ScalarType::boolean, "({0} == 0)", {count});
  element = mode.includes_self ? combined : pool.select(is_first, element, combined);
  l.store_at(draft, buffer, y, at, pool.rounded(element, y->dtype()));
  auto& stores = draft.kernel.columns.empty() ? draft.kernel.row_stores : draft.kernel.column_stores;
  stores.push_back({counts, DType::i32, offset, add(pool, count, pool.constant(1, 1, ScalarType::i32)), nullptr});
  l.finish_stores(std::move(draft));
  if (mode.is_mean) divide_by_counts(l, y, buffer, counts, mode.includes_self);
}
void lower_scatter(Lowering& l, const Node& node) { scatter(l, node, {}); }
void lower_scatter_add(Lowering& l, const Node& node) { scatter(l, node, {kAdd}); }
void lower_scatter_reduce(Lowering& l, const Node& node) {
  ScatterMode mode;
  mode.is_mean = node.string("reduce") == "mean";
  mode.combine = mode.is_mean ? kAdd : combination(node.string("reduce"));
  mode.includes_self = node.op->parsed->find("include_self") < 0 || node.boolean("include_self");
  // The mean of booleans is their sum.
  if (node.result()->dtype() == DType::boolean) mode.is_mean = false;
  scatter(l, node, mode);
}

// Elements of the flattened tensor are updated in the order of the index.
void lower_put(Lowering& l, const Node& node) {
  const Value *x = node.tensor("self"), *index = node.tensor("index"), *source = node.tensor("source"),
              *y = node.result();
  const uint32_t check = l.add_check();
  const uint32_t buffer = l.place_copy(y, x);
  const Sym count = compiler::numel(index->sizes());
  Draft draft = l.draft({}, {count});
  draft.kernel.in_order = true;
  const ExpressionPtr update = draft.columns[0];
  const ExpressionPtr place = l.element(index, l.split(update, index->sizes()));
  const ExpressionPtr target = l.checked_index(place, compiler::numel(x->sizes()), true, check);
  const ExpressionPtr element = l.element(source, l.split(update, source->sizes()));
  write(l, draft, buffer, y, l.split(target, x->sizes()), element, node.boolean("accumulate") ? kAdd : nullptr);
  l.finish_stores(std::move(draft));
}
void put_needs(const Node& node, SizeRequirements& out) {
  out.push_back(equal(compiler::numel(node.tensor("source")->sizes()), compiler::numel(node.tensor("index")->sizes()),
                      "the source has another number of elements than the index"));
}

// Whether no two indices give the same sum of index[d] * stride[d]: each stride is larger than what the smaller ones
// reach.
bool places_differ(const compiler::Ints& strides, const Sizes& sizes) {
  std::vector<std::pair<int64_t, Sym>> loops;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (sizes[i].is(1)) continue;
    if (!strides[i].is_const() || strides[i].value() < 1) return false;
    loops.emplace_back(strides[i].value(), sizes[i]);
  }
  std::sort(loops.begin(), loops.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Sym last = 0;
  for (const auto& [stride, size] : loops) {
    if (!no_larger(last + 1, stride)) return false;
    last = last + (size - 1) * stride;
  }
  return true;
}

// Element i of src goes to offset + sum of i[d] * stride[d] of the contiguous tensor. If several go to one place, the
// last one stays.
void lower_as_strided_scatter(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("self"), *source = node.tensor("src"), *y = node.result();
  const compiler::Ints strides = node.ints("stride");
  const Sym offset = node.is_none("storage_offset") ? Sym(0) : node.integer("storage_offset");
  const uint32_t buffer = l.place_copy(y, x);
  const bool distinct = places_differ(strides, source->sizes());
  Draft draft = distinct ? l.draft(source->sizes(), {}) : l.draft({}, source->sizes());
  draft.kernel.in_order = !distinct;
  const Indices own = distinct ? draft.rows : draft.columns;
  ExpressionPtr linear = pool.index(offset);
  for (size_t i = 0; i < strides.size(); ++i) linear = pool.add(linear, pool.multiply(own[i], pool.index(strides[i])));
  write(l, draft, buffer, y, l.split(linear, x->sizes()), l.element(source, own), nullptr);
  l.finish_stores(std::move(draft));
}
// All places must be in bounds.
Verdict strides_fit(const Node& node, const compiler::TargetContext&) {
  const Value *x = node.tensor("self"), *source = node.tensor("src");
  const compiler::Ints strides = node.ints("stride"), sizes = node.ints("size");
  if (sizes.size() != source->rank()) return Verdict::no("src has another shape than the written region");
  Sym last = node.is_none("storage_offset") ? Sym(0) : node.integer("storage_offset");
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!same(sizes[i], source->sizes()[i])) return Verdict::no("src has another shape than the written region");
    last = last + (sizes[i] - 1) * strides[i];
  }
  return agreed(no_larger(last + 1, compiler::numel(x->sizes())));
}

// Where the mask is true, takes the elements of source in order. A scan of the mask gives the number of each.
void lower_masked_scatter(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("self"), *mask = node.tensor("mask"), *source = node.tensor("source"),
              *y = node.result();
  const uint32_t check = l.add_check("the source has fewer elements than the mask has set");
  const auto is_set = [&l, mask, y](const Indices& at) { return l.element(mask, l.broadcast(*mask, at, y->sizes())); };
  LineScan scan;
  scan.sizes = {compiler::numel(y->sizes())};
  scan.type = ScalarType::i64;
  scan.element = [&](const Indices& at) { return pool.cast(is_set(l.split(at[0], y->sizes())), ScalarType::i64); };
  const uint32_t counts = l.scratch(DType::i64, scan.sizes[0]);
  ScanDraft last = draft_scan(l, scan);
  last.draft.kernel.column_stores.push_back({counts, DType::i64, last.at[0], last.reduced, last.inside});
  l.finish_stores(std::move(last.draft));
  const Sym available = compiler::numel(source->sizes());
  // at least 1, so that nothing divides by 0: an element of an empty source is never read
  Sizes places = source->sizes();
  for (Sym& size : places) size = sym_max(size, 1);
  l.define(y, [&l, x, y, source, is_set, counts, check, available, places](const Indices& at) {
    ExpressionPool& p = l.pool();
    const ExpressionPtr set = is_set(at), kept = l.element(x, l.broadcast(*x, at, y->sizes()));
    p.push_guard(set);
    const ExpressionPtr count = p.load(counts, DType::i64, l.join(at, y->sizes()));
    // The number of the element among those where the mask is true, from 1; 0 where it is false.
    const ExpressionPtr number = p.select(set, count, p.constant(0, 0, ScalarType::i64));
    const ExpressionPtr checked = l.checked_index(number, available + 1, false, check);
    const ExpressionPtr place = p.maximum(p.subtract(checked, p.index(1)), p.index(0));
    const ExpressionPtr taken = l.element(source, l.split(place, places));
    p.pop_guard();
    return p.select(set, taken, kept);
  });
}

// Eager allows a scalar in place of a vector of one element.
Verdict ranks_fit(const Node& node, const compiler::TargetContext&) {
  const size_t rank = node.tensor("self")->rank();
  const bool sources = node.op->parsed->find("src") < 0 || node.tensor("src")->rank() == rank;
  if (node.tensor("index")->rank() == rank && sources) return Verdict::yes();
  return Verdict::no("a scalar beside vectors of one element");
}

void masked_scatter_needs(const Node& node, SizeRequirements& out) {
  for (const char* operand : {"self", "mask"})
    add_broadcasts(node.tensor(operand)->sizes(), node.result()->sizes(), out);
}

constexpr OpRule kWriteRows[] = {
    needing(writing({"aten.index_put.default", lower_index_put, integer_indices}), index_needs),
    writing({"aten.scatter.src", lower_scatter, ranks_fit}),
    writing({"aten.scatter.value", lower_scatter, ranks_fit}),
    writing({"aten.scatter_add.default", lower_scatter_add, ranks_fit}),
    writing({"aten.scatter.reduce", lower_scatter_reduce, ranks_fit}),
    writing({"aten.scatter.value_reduce", lower_scatter_reduce, ranks_fit}),
    writing({"aten.scatter_reduce.two", lower_scatter_reduce, ranks_fit}),
    needing({"aten.put.default", lower_put}, put_needs),
    {"aten.as_strided_scatter.default", lower_as_strided_scatter, strides_fit},
    needing({"aten.masked_scatter.default", lower_masked_scatter}, masked_scatter_needs),
};

}  // namespace

const Span<const OpRule> kWriteRules{kWriteRows};

}  // namespace wick::cuda
