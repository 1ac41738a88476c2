#include "backends/cuda/compile/ops/lines/sorting.h"

#include <algorithm>

namespace wick::cuda {
namespace {

using compiler::SymScope;

// The most columns that a block sorts, and the most elements of a run that are kept for sorting again; if more are
// kept, runs are merged in pairs instead.
constexpr int64_t kLongestTile = 1024, kMostSelected = kLongestTile / 4;

int64_t most(const Sym& size) { return SymScope::range(size).max; }

class Sorter {
 public:
  Sorter(Lowering& l, const LineSort& sort, const StoreSorted& store)
      : l_(l), pool_(l.pool()), sort_(sort), store_(store), type_(key_type(sort.dtype)), lines_(sort.sizes) {
    if (!lines_.empty()) {
      length_ = lines_[sort.dim];
      lines_[sort.dim] = 1;
    }
  }

  void run() {
    runs_ = most(length_) <= kLongestTile ? Sym(1) : ceil_div(length_, Sym(kLongestTile));
    first_pass();
    while (most(runs_) > 1) most(sort_.kept) <= kMostSelected ? select_again() : merge_pairs();
  }

 private:
  // A kernel whose rows are the runs of all lines, `runs` for each line.
  Draft draft(const Sym& runs, const Sym& columns) {
    Sizes rows = lines_;
    rows.push_back(runs);
    return draft_of_lines(l_, rows, columns);
  }
  // The line and the run of a draft's row.
  ExpressionPtr line_of(const Draft& draft) {
    return l_.join(Indices(draft.rows.begin(), draft.rows.end() - 1), lines_);
  }
  ExpressionPtr run_of(const Draft& draft) { return draft.rows.back(); }
  Indices at(const Draft& draft, ExpressionPtr column) {
    Indices out(draft.rows.begin(), draft.rows.end() - 1);
    if (!out.empty()) out[sort_.dim] = column;
    return out;
  }

  ExpressionPtr sorted_key(Draft& draft, ExpressionPtr element, ExpressionPtr guard, ExpressionPtr position) {
    const ReductionKind kind = sort_.descending ? ReductionKind::arg_maximum : ReductionKind::arg_minimum;
    const ExpressionPtr key = l_.reduce(draft, kind, element, guard);
    draft.kernel.reductions.back().position = position;
    return key;
  }

  // Stores `capacity` elements of each run. Those past the run's last element have no position.
  void finish(Draft draft, ExpressionPtr key, const Sym& runs, const Sym& capacity, const Sym& columns) {
    const ExpressionPtr position = l_.position(draft, key), column = draft.columns[0];
    if (most(runs) <= 1) {
      const ExpressionPtr inside = same_size(sort_.kept, columns) ? pool_.number(1, ScalarType::boolean)
                                                                  : pool_.less(column, pool_.index(sort_.kept));
      store_(draft, at(draft, column), key, position, inside);
    } else {
      const Sym elements = compiler::numel(lines_) * runs * capacity;
      const uint32_t keys = l_.scratch(dtype_of(type_), elements), positions = l_.scratch(DType::i32, elements);
      const ExpressionPtr run = pool_.add(pool_.multiply(line_of(draft), pool_.index(runs)), run_of(draft));
      const ExpressionPtr offset = pool_.add(pool_.multiply(run, pool_.index(capacity)), column);
      const ExpressionPtr guard = same_size(capacity, columns) ? nullptr : pool_.less(column, pool_.index(capacity));
      draft.kernel.column_stores.push_back({keys, dtype_of(type_), offset, key, guard});
      draft.kernel.column_stores.push_back(
          {positions, DType::i32, offset, pool_.cast(position, ScalarType::i32), guard});
      keys_ = keys;
      positions_ = positions;
    }
    runs_ = runs;
    capacity_ = capacity;
    l_.finish_stores(std::move(draft));
  }
  static bool same_size(const Sym& a, const Sym& b) { return (a - b).is(0); }

  static uint32_t tile_for(int64_t columns) {
    uint32_t tile = 64;
    while (tile < columns) tile *= 2;
    return tile;
  }

  void first_pass() {
    const bool one = most(runs_) <= 1;
    const Sym columns = one ? length_ : Sym(kLongestTile);
    Draft draft = this->draft(runs_, columns);
    draft.kernel.line.emplace();
    draft.kernel.line->kind = Line::Kind::sorted;
    draft.kernel.line->tile = tile_for(most(columns));
    ExpressionPtr column = draft.columns[0], guard = nullptr;
    if (!one) {
      column = pool_.add(pool_.multiply(run_of(draft), pool_.index(kLongestTile)), column);
      guard = pool_.less(column, pool_.index(length_));
      pool_.push_guard(guard);
    }
    const ExpressionPtr element = pool_.cast(sort_.element(at(draft, column)), type_);
    if (!one) pool_.pop_guard();
    const ExpressionPtr key = sorted_key(draft, element, guard, column);
    const bool selects = most(sort_.kept) <= kLongestTile;
    finish(std::move(draft), key, runs_, selects ? sort_.kept : Sym(kLongestTile), columns);
  }

  // A block sorts the elements that several runs have kept.
  void select_again() {
    const Sym joined = kLongestTile / std::max<int64_t>(most(sort_.kept), 1), columns = joined * capacity_;
    const Sym runs = ceil_div(runs_, joined);
    Draft draft = this->draft(runs, columns);
    draft.kernel.line.emplace();
    draft.kernel.line->kind = Line::Kind::sorted;
    draft.kernel.line->tile = tile_for(most(columns));
    const Sym all = runs_ * capacity_;
    const ExpressionPtr slot = pool_.add(pool_.multiply(run_of(draft), pool_.index(columns)), draft.columns[0]);
    const ExpressionPtr offset = pool_.add(pool_.multiply(line_of(draft), pool_.index(all)), slot);
    const ExpressionPtr guard = pool_.less(slot, pool_.index(all));
    pool_.push_guard(guard);
    const ExpressionPtr element = pool_.load(keys_, dtype_of(type_), offset);
    const ExpressionPtr position = pool_.load(positions_, DType::i32, offset);
    pool_.pop_guard();
    const ExpressionPtr key = sorted_key(draft, element, guard, position);
    finish(std::move(draft), key, runs, capacity_, columns);
  }

  void merge_pairs() {
    const Sym runs = ceil_div(runs_, Sym(2));
    const Sym capacity = most(runs) <= 1 ? sort_.kept : sym_min(sort_.kept, capacity_ * 2);
    Draft draft = this->draft(runs, capacity);
    Line& line = draft.kernel.line.emplace();
    line.kind = Line::Kind::merged;
    line.values = keys_;
    line.positions = positions_;
    const ExpressionPtr line_begin = pool_.multiply(line_of(draft), pool_.index(runs_));
    for (int i = 0; i < 2; ++i) {
      const ExpressionPtr run = pool_.add(pool_.multiply(run_of(draft), pool_.index(2)), pool_.index(i));
      line.begins[i] = pool_.multiply(pool_.add(line_begin, run), pool_.index(capacity_));
      const ExpressionPtr exists = pool_.less(run, pool_.index(runs_));
      line.counts[i] = pool_.select(exists, pool_.index(capacity_), pool_.index(0));
    }
    const ExpressionPtr none = pool_.constant(0, 0, type_);
    const ExpressionPtr key = sorted_key(draft, none, nullptr, nullptr);
    finish(std::move(draft), key, runs, capacity, capacity);
  }

  Lowering& l_;
  ExpressionPool& pool_;
  const LineSort& sort_;
  const StoreSorted& store_;
  const ScalarType type_;
  Sizes lines_;
  Sym length_ = 1;
  // The runs that the last kernel has stored.
  Sym runs_, capacity_;
  uint32_t keys_ = 0, positions_ = 0;
};

}  // namespace

ScalarType key_type(DType dtype) {
  const ScalarType type = scalar_type(dtype);
  return type == ScalarType::boolean ? ScalarType::i32 : type;
}

DType dtype_of(ScalarType type) {
  switch (type) {
    case ScalarType::boolean: return DType::boolean;
    case ScalarType::i32: return DType::i32;
    case ScalarType::f32: return DType::f32;
    case ScalarType::f64: return DType::f64;
    default: return DType::i64;
  }
}

LineSort sort_of(Lowering& lowering, const Value& x, size_t dim, bool descending, const Sym& kept) {
  return {x.sizes(), dim, x.dtype(), lowering.elements_of(&x), descending, kept};
}
LineSort flat_sort_of(Lowering& l, const Value& x, bool descending, const Sym& kept) {
  const auto element = [&l, &x](const Indices& at) { return l.element(&x, l.split(at[0], x.sizes())); };
  return {{compiler::numel(x.sizes())}, 0, x.dtype(), element, descending, kept};
}

Sym length_of_line(const Sizes& sizes, size_t dim) { return sizes.empty() ? Sym(1) : sizes[dim]; }

Draft draft_of_lines(Lowering& lowering, const Sizes& rows, const Sym& columns) {
  Draft out = lowering.draft(rows, {columns});
  if (out.kernel.columns.empty()) {
    out.kernel.columns.push_back(lowering.new_loop(columns));
    out.columns = {lowering.pool().index(out.kernel.columns[0].variable)};
  }
  return out;
}

void sort_lines(Lowering& lowering, const LineSort& sort, const StoreSorted& store) {
  Sorter(lowering, sort, store).run();
}

SortedLines sorted_in_memory(Lowering& l, const LineSort& sort) {
  ExpressionPool& pool = l.pool();
  Sizes lines = sort.sizes;
  if (!lines.empty()) lines[sort.dim] = 1;
  SortedLines out{0, 0, key_type(sort.dtype), sort.kept};
  const Sym elements = compiler::numel(lines) * sort.kept;
  out.keys = l.scratch(dtype_of(out.type), elements);
  out.positions = l.scratch(DType::i32, elements);
  sort_lines(l, sort, [&](Draft& draft, Indices at, ExpressionPtr key, ExpressionPtr position, ExpressionPtr inside) {
    const ExpressionPtr column = at.empty() ? pool.index(0) : at[sort.dim];
    if (!at.empty()) at[sort.dim] = pool.index(0);
    const ExpressionPtr offset = pool.add(pool.multiply(l.join(at, lines), pool.index(sort.kept)), column);
    draft.kernel.column_stores.push_back({out.keys, dtype_of(out.type), offset, key, inside});
    draft.kernel.column_stores.push_back(
        {out.positions, DType::i32, offset, pool.cast(position, ScalarType::i32), inside});
  });
  return out;
}

}  // namespace wick::cuda
