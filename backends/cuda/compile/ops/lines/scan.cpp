#include "backends/cuda/compile/ops/lines/scan.h"

#include <cmath>

#include "backends/cuda/compile/ops/lines/sorting.h"

namespace wick::cuda {
namespace {

using compiler::SymScope;

// Lines longer than this are divided into parts for several blocks, if there are few of them.
constexpr int64_t kLongestLine = 16384, kPart = 4096, kFewLines = 264;

// Three kernels: the first reduces each part, the second scans these totals, the third continues each part from the
// parts before.
class PartedScan {
 public:
  PartedScan(Lowering& l, const LineScan& scan)
      : l_(l), pool_(l.pool()), scan_(scan), stored_(dtype_of(scan.type)), lines_(scan.sizes) {
    length_ = length_of_line(lines_, scan.dim);
    if (!lines_.empty()) lines_[scan.dim] = 1;
    parts_ = ceil_div(length_, Sym(kPart));
    positioned_ = scan.kind == ReductionKind::last_maximum || scan.kind == ReductionKind::last_minimum;
  }

  ScanDraft run() {
    const Totals of_parts = scratch(), before = scratch();
    reduce_parts(of_parts);
    run_totals(of_parts, before);
    ScanDraft out = draft();
    go_on(before, out.draft);
    return out;
  }

 private:
  struct Totals {
    uint32_t values = 0, positions = 0;  // buffers
  };

  Totals scratch() {
    const Sym count = compiler::numel(lines_) * parts_;
    return {l_.scratch(stored_, count), positioned_ ? l_.scratch(DType::i64, count) : 0};
  }
  ExpressionPtr total_at(const Indices& line, ExpressionPtr part) {
    return pool_.add(pool_.multiply(l_.join(line, lines_), pool_.index(parts_)), part);
  }
  void store(std::vector<Store>& stores, const Totals& totals, ExpressionPtr offset, const Draft& draft,
             ExpressionPtr reduced) {
    stores.push_back({totals.values, stored_, offset, reduced, nullptr});
    if (positioned_) stores.push_back({totals.positions, DType::i64, offset, l_.position(draft, reduced), nullptr});
  }

  // The rows are the parts of all lines.
  ScanDraft draft() {
    Sizes rows = lines_;
    rows.push_back(parts_);
    ScanDraft out;
    out.draft = draft_of_lines(l_, rows, kPart);
    out.at = line_of(out.draft);
    const ExpressionPtr first = pool_.multiply(out.draft.rows.back(), pool_.index(kPart));
    const ExpressionPtr column = pool_.add(first, out.draft.columns[0]);
    if (!out.at.empty()) out.at[scan_.dim] = column;
    out.inside = pool_.less(column, pool_.index(length_));
    pool_.push_guard(out.inside);
    const ExpressionPtr element = scan_.element(out.at);
    pool_.pop_guard();
    out.reduced = l_.reduce(out.draft, scan_.kind, element, out.inside);
    out.draft.kernel.reductions.back().position = column;
    return out;
  }
  static Indices line_of(const Draft& draft) { return Indices(draft.rows.begin(), draft.rows.end() - 1); }

  void reduce_parts(const Totals& totals) {
    ScanDraft part = draft();
    store(part.draft.kernel.row_stores, totals, total_at(line_of(part.draft), part.draft.rows.back()), part.draft,
          part.reduced);
    l_.finish_stores(std::move(part.draft));
  }

  void run_totals(const Totals& of_parts, const Totals& running) {
    Draft draft = draft_of_lines(l_, lines_, parts_);
    const ExpressionPtr offset = total_at(draft.rows, draft.columns[0]);
    const ExpressionPtr reduced = l_.reduce(draft, scan_.kind, pool_.load(of_parts.values, stored_, offset));
    if (positioned_) draft.kernel.reductions.back().position = pool_.load(of_parts.positions, DType::i64, offset);
    draft.kernel.line.emplace();
    store(draft.kernel.column_stores, running, offset, draft, reduced);
    l_.finish_stores(std::move(draft));
  }

  void go_on(const Totals& before, Draft& draft) {
    Line& line = draft.kernel.line.emplace();
    const ExpressionPtr part = draft.rows.back(), is_later = pool_.less(pool_.index(0), part);
    const ExpressionPtr offset = total_at(line_of(draft), pool_.subtract(part, pool_.index(1)));
    pool_.push_guard(is_later);
    line.from = pool_.load(before.values, stored_, offset);
    if (positioned_) line.from_position = pool_.load(before.positions, DType::i64, offset);
    pool_.pop_guard();
    line.from = pool_.select(is_later, line.from, nothing());
    const ExpressionPtr none = pool_.constant(-1, -1, ScalarType::i64);
    if (positioned_) line.from_position = pool_.select(is_later, line.from_position, none);
  }

  // The value that changes nothing if it comes before a line.
  ExpressionPtr nothing() {
    if (scan_.kind == ReductionKind::log_sum_exp) return pool_.number(-INFINITY, scan_.type);
    const int64_t number = scan_.kind == ReductionKind::product ? 1 : 0;
    return pool_.constant(static_cast<double>(number), number, scan_.type);
  }

  Lowering& l_;
  ExpressionPool& pool_;
  const LineScan& scan_;
  const DType stored_;
  Sizes lines_;  // the sizes with 1 in the dimension of lines
  Sym length_, parts_;
  bool positioned_ = false;
};

}  // namespace

ScanDraft draft_scan(Lowering& l, const LineScan& scan) {
  Sizes lines = scan.sizes;
  const Sym length = length_of_line(lines, scan.dim);
  if (!lines.empty()) lines[scan.dim] = 1;
  if (SymScope::range(length).max > kLongestLine && SymScope::range(compiler::numel(lines)).max < kFewLines)
    return PartedScan(l, scan).run();
  ScanDraft out;
  out.draft = draft_of_lines(l, lines, length);
  out.at = out.draft.rows;
  if (!out.at.empty()) out.at[scan.dim] = out.draft.columns[0];
  out.reduced = l.reduce(out.draft, scan.kind, scan.element(out.at));
  out.draft.kernel.line.emplace();
  return out;
}

}  // namespace wick::cuda
