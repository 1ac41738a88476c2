// Sorting, the largest elements, and order statistics.
#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/lines/sorting.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "backends/cuda/compile/ops/reduced_dims.h"

namespace wick::cuda {
namespace {

using compiler::SymScope;
using compiler::Verdict;

// In rows of at most this length, each element is compared with all others.
constexpr int64_t kShortSortedRow = 32;

// The position of each element of a short row in the sorted row: the number of elements that come before it. Equal
// elements keep their order; NaN is the largest.
void rank_elements(Lowering& l, const LineSort& sort, const StoreSorted& store) {
  ExpressionPool& pool = l.pool();
  const Sym length = length_of_line(sort.sizes, sort.dim);
  Draft draft = l.draft(sort.sizes, {length});
  Indices other = draft.rows;
  if (!other.empty()) other[sort.dim] = draft.columns[0];
  const ExpressionPtr own = sort.element(draft.rows), element = sort.element(other);
  const ExpressionPtr own_place = other.empty() ? pool.index(0) : draft.rows[sort.dim];
  const char* text =
      sort.descending ? "stands_before<true>({0}, {2}, {1}, {3})" : "stands_before<false>({0}, {2}, {1}, {3})";
  const ExpressionPtr before =
      pool.call(ScalarType::boolean, text,
                {element, own, pool.cast(draft.columns[0], ScalarType::i32), pool.cast(own_place, ScalarType::i32)});
  const ExpressionPtr rank = l.reduce(draft, ReductionKind::sum, pool.cast(before, ScalarType::i32));
  const ExpressionPtr place = pool.cast(rank, ScalarType::index);
  const ExpressionPtr inside =
      same(sort.kept, length) ? pool.number(1, ScalarType::boolean) : pool.less(place, pool.index(sort.kept));
  Indices at = draft.rows;
  if (!at.empty()) at[sort.dim] = place;
  store(draft, at, own, pool.cast(own_place, ScalarType::i64), inside);
  l.finish_stores(std::move(draft));
}

void sort_into_results(Lowering& l, const Node& node, bool descending, const Sym& kept, ExpressionPtr kept_checked) {
  ExpressionPool& pool = l.pool();
  const Value* x = node.tensor("self");
  const LineSort sort = sort_of(l, *x, dim_argument(node, "dim", x->rank()), descending, kept);
  const auto store = [&](Draft& draft, const Indices& at, ExpressionPtr key, ExpressionPtr position,
                         ExpressionPtr inside) {
    if (kept_checked) inside = pool.both(inside, pool.less(pool.index(0), kept_checked));
    const ExpressionPtr guard = is_true(inside) ? nullptr : inside;
    auto& stores = draft.kernel.line ? draft.kernel.column_stores : draft.kernel.row_stores;
    const auto add = [&](const Value* result, ExpressionPtr element) {
      if (result->num_uses() == 0) return;
      stores.push_back({l.place(result), result->dtype(), l.join(at, result->sizes()), element, guard});
    };
    add(node.result(0), pool.cast(key, scalar_type(x->dtype())));
    add(node.result(1), position);
  };
  if (SymScope::range(length_of_line(sort.sizes, sort.dim)).max > kShortSortedRow) return sort_lines(l, sort, store);
  l.store(x);
  rank_elements(l, sort, store);
}

void lower_sort(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const Sym length = length_of_line(x->sizes(), dim_argument(node, "dim", x->rank()));
  sort_into_results(l, node, node.boolean("descending"), length, nullptr);
}

void lower_topk(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const Sym length = length_of_line(x->sizes(), dim_argument(node, "dim", x->rank())), kept = node.integer("k");
  // Whether k is at most the length of a row may be known only at run time.
  ExpressionPtr checked = nullptr;
  if (!no_larger(kept, length))
    checked = l.checked_index(l.pool().index(kept), length + 1, false, l.add_check("k is larger than the dimension"));
  sort_into_results(l, node, node.boolean("largest"), kept, checked);
}

// --- order statistics ---

// Reduces each line of a node's operand to one element. The lines are along argument "dim"; without it all elements are
// one line.
class Statistic {
 public:
  Statistic(Lowering& l, const Node& node)
      : l_(l),
        pool_(l.pool()),
        node_(node),
        x_(*node.tensor("self")),
        dims_(is_flat(node) ? ReducedDims(x_, {}) : dims_of_argument(node, x_)) {
    for (const Sym& size : dims_.columns) length_ = length_ * size;
  }
  static bool is_flat(const Node& node) { return node.op->parsed->find("dim") < 0; }
  const Sym& length() const { return length_; }

  // If lines have one element, defines the result as this element and returns true.
  bool is_single() {
    if (!length_.is(1)) return false;
    Lowering& l = l_;
    l_.define(node_.result(0), [&l, x = &x_, y = node_.result(0)](const Indices& at) {
      return l.element(x, l.split(l.join(at, y->sizes()), x->sizes()));
    });
    if (node_.results().size() > 1)
      l_.define(node_.result(1), [&l](const Indices&) { return l.pool().cast(l.pool().index(0), ScalarType::i64); });
    return true;
  }

  void sort(const Sym& kept) {
    lines_ = sorted_in_memory(l_, is_flat(node_) ? flat_sort_of(l_, x_, false, kept)
                                                 : sort_of(l_, x_, dim_argument(node_, "dim", x_.rank()), false, kept));
  }
  Draft draft() { return draft_of_lines(l_, dims_.rows, lines_.kept); }
  ExpressionPtr offset(const Draft& draft, ExpressionPtr column) {
    return pool_.add(pool_.multiply(l_.join(draft.rows, dims_.rows), pool_.index(lines_.kept)), column);
  }
  Sym elements() const { return compiler::numel(dims_.rows) * lines_.kept; }
  ExpressionPtr key(const Draft& draft, ExpressionPtr column) {
    return pool_.load(lines_.keys, dtype_of(lines_.type), offset(draft, column));
  }

  // The result is the first of the elements that equal the one at this rank.
  void finish_at_rank(Draft draft, ExpressionPtr rank) {
    const ExpressionPtr before =
        pool_.call(ScalarType::boolean, "is_before<false>({0}, {1})", {key(draft, draft.columns[0]), key(draft, rank)});
    const ExpressionPtr first = l_.reduce(draft, ReductionKind::sum, pool_.cast(before, ScalarType::i32));
    finish_at(std::move(draft), pool_.cast(first, ScalarType::index));
  }
  void finish_at(Draft draft, ExpressionPtr rank) {
    const auto at = [&](const Value* result) { return dims_.result_at(pool_, draft.rows, *result); };
    std::vector<Lowering::DraftResult> results;
    const Value* y = node_.result(0);
    const bool has_position = node_.results().size() > 1 && node_.result(1)->num_uses() > 0;
    if (y->num_uses() > 0 || !has_position)
      results.push_back({y, at(y), pool_.cast(key(draft, rank), scalar_type(y->dtype()))});
    if (has_position) {
      const ExpressionPtr position = pool_.load(lines_.positions, DType::i32, offset(draft, rank));
      results.push_back({node_.result(1), at(node_.result(1)), pool_.cast(position, ScalarType::i64)});
    }
    l_.finish(std::move(draft), std::move(results));
  }

 private:
  Lowering& l_;
  ExpressionPool& pool_;
  const Node& node_;
  const Value& x_;
  const ReducedDims dims_;
  Sym length_ = 1;
  SortedLines lines_;
};

void lower_kthvalue(Lowering& l, const Node& node) {
  Statistic lines(l, node);
  const Sym k = node.integer("k");
  if (lines.is_single() && k.is(1)) return;
  ExpressionPtr rank = l.pool().index(k - 1);
  if (!no_larger(k, lines.length()) || SymScope::range(k).min < 1)
    rank = l.checked_index(rank, lines.length(), false, l.add_check("k is out of range"));
  lines.sort(k);
  lines.finish_at_rank(lines.draft(), rank);
}

// The lower of the two middle elements in the stable order. `skips_nan`: of the elements that are not NaN; otherwise
// the median of a line with NaN is NaN.
void median(Lowering& l, const Node& node, bool skips_nan) {
  Statistic lines(l, node);
  if (lines.is_single()) return;
  ExpressionPool& pool = l.pool();
  lines.sort(lines.length());
  Draft draft = lines.draft();
  const ExpressionPtr is_nan =
      pool.call(ScalarType::boolean, "is_nan_value({0})", {lines.key(draft, draft.columns[0])});
  const ExpressionPtr nans = l.reduce(draft, ReductionKind::sum, pool.cast(is_nan, ScalarType::i32));
  const ExpressionPtr length = pool.index(lines.length());
  const ExpressionPtr numbers = pool.subtract(length, pool.cast(nans, ScalarType::index));
  const auto middle = [&](ExpressionPtr count) {
    return pool.floor_divide(pool.subtract(count, pool.index(1)), pool.index(2));
  };
  const ExpressionPtr no_nan = pool.equal(numbers, length);
  const ExpressionPtr rank =
      skips_nan ? pool.maximum(middle(numbers), pool.index(0)) : pool.select(no_nan, middle(length), numbers);
  lines.finish_at(std::move(draft), rank);
}
void lower_median(Lowering& l, const Node& node) { median(l, node, false); }
void lower_nanmedian(Lowering& l, const Node& node) { median(l, node, true); }

// The smallest of the most frequent elements, at its last position.
void lower_mode(Lowering& l, const Node& node) {
  Statistic lines(l, node);
  if (lines.is_single()) return;
  ExpressionPool& pool = l.pool();
  lines.sort(lines.length());
  // For each sorted element, where the run of elements that equal it begins. NaN equals nothing.
  Draft runs = lines.draft();
  const ExpressionPtr column = runs.columns[0], is_later = pool.less(pool.index(0), column);
  pool.push_guard(is_later);
  const ExpressionPtr before = lines.key(runs, pool.subtract(column, pool.index(1)));
  pool.pop_guard();
  const ExpressionPtr equal = pool.call(ScalarType::boolean, "({0} == {1})", {before, lines.key(runs, column)});
  const ExpressionPtr position = pool.cast(column, ScalarType::i32);
  const ExpressionPtr begins = pool.select(pool.both(is_later, equal), pool.constant(0, 0, ScalarType::i32), position);
  const ExpressionPtr begin = l.reduce(runs, ReductionKind::maximum, begins);
  runs.kernel.line.emplace();
  const uint32_t lengths = l.scratch(DType::i32, lines.elements());
  runs.kernel.column_stores.push_back(
      {lengths, DType::i32, lines.offset(runs, column), sub(pool, position, begin), nullptr});
  l.finish_stores(std::move(runs));

  Draft draft = lines.draft();
  const ExpressionPtr length = pool.load(lengths, DType::i32, lines.offset(draft, draft.columns[0]));
  const ExpressionPtr longest = l.reduce(draft, ReductionKind::arg_maximum, length);
  const ExpressionPtr best = pool.cast(l.position(draft, longest), ScalarType::index);
  lines.finish_at(std::move(draft), best);
}

Verdict sorts_elements(const Node& node, const compiler::TargetContext&) {
  return agreed(no_larger(1, compiler::numel(node.tensor("self")->sizes())));
}

constexpr OpRule kSortingRows[] = {
    {"aten.sort.default", lower_sort},
    {"aten.sort.stable", lower_sort},
    {"aten.topk.default", lower_topk},
    {"aten.kthvalue.default", lower_kthvalue, sorts_elements},
    {"aten.median.default", lower_median, sorts_elements},
    {"aten.median.dim", lower_median, sorts_elements},
    {"aten.nanmedian.default", lower_nanmedian, sorts_elements},
    {"aten.nanmedian.dim", lower_nanmedian, sorts_elements},
    {"aten.mode.default", lower_mode, sorts_elements},
};

}  // namespace

const Span<const OpRule> kSortingRules{kSortingRows};

}  // namespace wick::cuda
