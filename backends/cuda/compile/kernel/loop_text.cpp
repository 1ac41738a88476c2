// Kernels whose threads take rows, or share the columns of a row.
#include "backends/cuda/compile/kernel/loop_text.h"

#include <fmt/format.h>

#include "backends/cuda/compile/kernel/kernel_writer.h"

namespace wick::cuda {
namespace {

class LoopWriter : public KernelWriter {
 public:
  LoopWriter(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule)
      : KernelWriter(graph, kernel), schedule_(schedule) {}

  KernelSource run() {
    row_.indent = "  ";
    write_rows();
    for (size_t i = 0; i < kernel_.reductions.size(); ++i) write_reduction(i);
    if (schedule_.kind == ScheduleKind::map && schedule_.vector > 1)
      write_group_stores(row_, kernel_.rows.back(), schedule_.vector, kernel_.row_stores);
    else
      for (const Store& store : kernel_.row_stores) write_store(row_, store, writes_once());
    if (!kernel_.column_stores.empty()) {
      in_columns([&](Scope& column) {
        if (schedule_.vector > 1)
          return write_group_stores(column, kernel_.columns.back(), schedule_.vector, kernel_.column_stores);
        for (const Store& store : kernel_.column_stores) write_store(column, store, "");
      });
    }
    source_.schedule = schedule_;
    source_.has_barriers = threads_per_row() > 1;
    return finish(row_.text, 1);
  }

 private:
  std::string result_text(ExpressionPtr reduced) const override {
    const bool positioned = is_positioned(kernel_.reductions[reduced->buffer].kind);
    return fmt::format("acc{}{}", reduced->buffer, !positioned ? "" : reduced->number != 0 ? ".position" : ".value");
  }

  uint32_t threads_per_row() const {
    switch (schedule_.kind) {
      case ScheduleKind::warp_per_row: return 32;
      case ScheduleKind::block_per_row: return schedule_.threads;
      default: return 1;
    }
  }
  const char* thread_of_row() const { return schedule_.kind == ScheduleKind::warp_per_row ? "lane()" : "thread_x()"; }
  // Of the threads of a row, one stores what belongs to the row.
  std::string writes_once() const { return threads_per_row() == 1 ? "" : std::string(thread_of_row()) + " == 0"; }

  void write_rows() {
    const Sym rows = extent_of(kernel_.rows);
    if (schedule_.kind == ScheduleKind::block_per_row) {
      row_.line("const idx i = static_cast<idx>(block_x());");
      source_.grid[0] = rows;
    } else {
      const bool warps = schedule_.kind == ScheduleKind::warp_per_row;
      const bool groups = schedule_.kind == ScheduleKind::map && schedule_.vector > 1;
      const uint32_t per_block = warps ? schedule_.threads / 32 : schedule_.threads * (groups ? schedule_.vector : 1);
      const std::string own = warps    ? "thread_x() / 32"
                              : groups ? fmt::format("thread_x() * {}", schedule_.vector)
                                       : "thread_x()";
      row_.line(fmt::format("const idx i = static_cast<idx>(block_x()) * {} + static_cast<idx>({});", per_block, own));
      row_.line(fmt::format("if (i >= {}) return;", text(rows)));
      source_.grid[0] = ceil_div(rows, Sym(int64_t{per_block}));
    }
    write_split(row_, kernel_.rows, "i");
  }

  template <typename F>
  void in_columns(F&& body) {
    Scope column;
    column.outer = &row_;
    column.indent = row_.indent + "  ";
    for (const Loop& loop : kernel_.columns) column.symbols.insert(std::string(loop.variable.symbol_name()));
    std::string head, foot;
    if (threads_per_row() == 1) {
      for (const Loop& loop : kernel_.columns) {
        head +=
            fmt::format("{0}for (idx {1} = 0; {1} < {2}; ++{1}) {{\n", row_.indent, name_of(loop), text(loop.extent));
        foot += row_.indent + "}\n";
      }
    } else {
      if (schedule_.vector > 1) head = row_.indent + "WICK_UNROLL_BY_4\n";
      head +=
          fmt::format("{}for (idx r = static_cast<idx>({}) * {}; r < {}; r += {}) {{\n", row_.indent, thread_of_row(),
                      schedule_.vector, text(extent_of(kernel_.columns)), threads_per_row() * schedule_.vector);
      write_split(column, kernel_.columns, "r");
      foot = row_.indent + "}\n";
    }
    body(column);
    row_.text += head + column.text + foot;
  }

  // The number of the column among all columns of the row.
  std::string column_number() {
    if (threads_per_row() > 1) return schedule_.vector > 1 ? "(r + static_cast<idx>(e))" : "r";
    Sym number = 0;
    for (const Loop& loop : kernel_.columns) number = number * loop.extent + loop.variable;
    return text(number);
  }

  void write_reduction(size_t index) {
    const Reduction& reduction = kernel_.reductions[index];
    const std::string acc = fmt::format("acc{}", index);
    row_.line(fmt::format("{} {} = {};", type_of(reduction), acc, first_value(reduction)));
    in_columns([&](Scope& column) {
      if (schedule_.vector == 1) return write_accumulation(column, reduction, acc, column_number());
      write_group(column, kernel_.columns.back(), schedule_.vector, {reduction.element, reduction.guard},
                  [&](Scope& inner) { write_accumulation(inner, reduction, acc, column_number()); });
    });
    const char* combine = combiner(reduction.kind);
    if (schedule_.kind == ScheduleKind::warp_per_row)
      row_.line(fmt::format("{0} = warp_reduce<{1}>({0});", acc, combine));
    if (schedule_.kind == ScheduleKind::block_per_row) {
      row_.line(fmt::format("WICK_SHARED({}, shared{}, {});", type_of(reduction), index, schedule_.threads / 32));
      row_.line(fmt::format("{0} = block_reduce<{1}, {2}>({0}, shared{3});", acc, combine, schedule_.threads, index));
    }
  }

  const Schedule schedule_;
  Scope row_;
};

}  // namespace

KernelSource write_loops(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule) {
  return LoopWriter(graph, kernel, schedule).run();
}

}  // namespace wick::cuda
