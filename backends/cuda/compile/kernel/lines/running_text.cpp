// Writes running reductions (scans) over the columns: a thread or a block for each row.
#include <fmt/format.h>

#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/kernel/lines/lines.h"
#include "compiler/support/failure.h"

namespace wick::cuda {
namespace {

using compiler::SymScope;

// Longer rows get a block each if there are too few of them for a thread each, or if their elements are adjacent in
// memory: neighbouring threads with a row each would read elements that are far apart.
constexpr int64_t kShortRow = 32, kRowsForThreads = kMultiprocessors * 128;

class RunningWriter : public KernelWriter {
 public:
  RunningWriter(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule)
      : KernelWriter(graph, kernel), schedule_(schedule), reduction_(kernel.reductions[0]), column_(kernel.columns[0]) {
    row_.indent = "  ";
  }

  KernelSource run() {
    const bool by_block = schedule_.kind == ScheduleKind::block_per_row;
    const Sym rows = extent_of(kernel_.rows);
    if (by_block) {
      row_.line("const idx i = static_cast<idx>(block_x());");
    } else {
      row_.line(fmt::format("const idx i = static_cast<idx>(block_x()) * {} + static_cast<idx>(thread_x());",
                            schedule_.threads));
      row_.line(fmt::format("if (i >= {}) return;", text(rows)));
    }
    source_.grid[0] = by_block ? rows : ceil_div(rows, Sym(int64_t{schedule_.threads}));
    write_split(row_, kernel_.rows, "i");
    by_block ? write_by_block() : write_by_thread();
    source_.schedule = schedule_;
    source_.has_barriers = by_block;
    return finish(row_.text, extent_of(kernel_.columns) + int64_t{schedule_.threads});
  }

 private:
  std::string result_text(ExpressionPtr reduced) const override {
    return !is_positioned(reduction_.kind) ? "acc" : reduced->number != 0 ? "acc.position" : "acc.value";
  }

  // The value before the first column.
  std::string first() {
    const Line& line = *kernel_.line;
    if (!line.from) return first_value(reduction_);
    std::string from = value(row_, line.from);
    if (!is_positioned(reduction_.kind)) return from;
    return fmt::format("{}{{{}, {}}}", type_of(reduction_), from, value(row_, line.from_position));
  }

  void write_by_thread() {
    const std::string start = first(), column = name_of(column_);
    Scope each = scope_of_columns(row_, column_, "    ");
    write_accumulation(each, reduction_, "acc", column);
    for (const Store& store : kernel_.column_stores) write_store(each, store, "");
    row_.line(fmt::format("{} acc = {};", type_of(reduction_), start));
    row_.line(fmt::format("for (idx {0} = 0; {0} < {1}; ++{0}) {{", column, text(column_.extent)));
    row_.text += each.text;
    row_.line("}");
  }

  void write_by_block() {
    const std::string type = type_of(reduction_), column = name_of(column_), start = first();
    const std::string inside = fmt::format("if ({} < {}) {{", column, text(column_.extent));
    Scope take = scope_of_columns(row_, column_, "      "), give = scope_of_columns(row_, column_, "      ");
    write_accumulation(take, reduction_, "acc", column);
    for (const Store& store : kernel_.column_stores) write_store(give, store, "");
    row_.line(fmt::format("WICK_SHARED({}, totals, {});", type, schedule_.threads / 32));
    row_.line(fmt::format("{} before = {};", type, start));
    row_.line(fmt::format("for (idx tile = 0; tile < {}; tile += {}) {{", text(column_.extent), schedule_.threads));
    row_.line(fmt::format("  const idx {} = tile + static_cast<idx>(thread_x());", column));
    row_.line(fmt::format("  {} acc = {};", type, first_value(reduction_)));
    row_.line("  " + inside);
    row_.text += take.text;
    row_.line("  }");
    row_.line(fmt::format("  acc = block_running<{}, {}>(acc, before, totals);", combiner(reduction_.kind),
                          schedule_.threads));
    row_.line("  " + inside);
    row_.text += give.text;
    row_.line("  }");
    row_.line("}");
  }

  const Schedule schedule_;
  const Reduction& reduction_;
  const Loop& column_;
  Scope row_;
};

}  // namespace

KernelSource write_running(LoweredGraph& graph, const LoopKernel& kernel) {
  Schedule schedule;
  const int64_t rows = max_extent(kernel.rows), columns = SymScope::range(kernel.columns[0].extent).max;
  const bool by_thread =
      columns <= kShortRow ||
      (rows >= kRowsForThreads && !is_contiguous_along(kernel.reductions[0].element, kernel.columns[0]));
  schedule.kind = by_thread ? ScheduleKind::thread_per_row : ScheduleKind::block_per_row;
  schedule.threads = by_thread ? 128 : columns <= 64 ? 64 : 256;
  return RunningWriter(graph, kernel, schedule).run();
}

Scope scope_of_columns(Scope& row, const Loop& column, const char* indent) {
  Scope scope;
  scope.outer = &row;
  scope.indent = indent;
  scope.symbols.insert(std::string(column.variable.symbol_name()));
  scope.has_results = true;
  return scope;
}

KernelSource write_line(LoweredGraph& graph, const LoopKernel& kernel) {
  if (kernel.columns.size() != 1) compiler::fail(compiler::Code::internal, "cuda: lines have one loop");
  switch (kernel.line->kind) {
    case Line::Kind::running: return write_running(graph, kernel);
    case Line::Kind::sorted: return write_sorted(graph, kernel);
    case Line::Kind::merged: break;
  }
  return write_merged(graph, kernel);
}

std::vector<ExpressionPtr*> parts_of(Line& line) {
  return {&line.from, &line.from_position, &line.begins[0], &line.begins[1], &line.counts[0], &line.counts[1]};
}

}  // namespace wick::cuda
