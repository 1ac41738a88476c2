// Kernels whose threads take rows, or share the columns of a row.
#include "backends/cuda/compile/kernel/loop_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/kernel/vector_access.h"

namespace wick::cuda {
namespace {

using compiler::SymScope;

class LoopWriter : public KernelWriter {
 public:
  LoopWriter(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule)
      : KernelWriter(graph, kernel), schedule_(schedule) {}

  KernelSource run() {
    row_.indent = "  ";
    write_prologues(row_, schedule_.threads);
    const bool walks = write_rows();
    hold_row();
    write_reductions();
    if (schedule_.kind == ScheduleKind::map && schedule_.vector > 1)
      write_group_stores(row_, kernel_.rows.back(), schedule_.vector, kernel_.row_stores);
    else
      for (const Store& store : kernel_.row_stores) write_store(row_, store, writes_once());
    for (const RowPart& part : kernel_.row_parts) write_part(row_, part, "i", writes_once());
    write_columns();
    if (walks) row_.text += "  }\n";
    source_.schedule = schedule_;
    source_.has_barriers = threads_per_row() > 1 || !kernel_.prologues.empty();
    return finish(row_.text, 1);
  }

  // Writes the columns of a kernel without rows as part of another kernel's text.
  void write_line() {
    hold_row();
    write_reductions();
    write_columns();
  }
  Scope& scope() { return row_; }
  using KernelWriter::takes_over_from;

 private:
  std::string result_text(ExpressionPtr reduced) const override {
    const bool positioned = is_positioned(kernel_.reductions[reduced->buffer].kind);
    return fmt::format("acc{}{}", reduced->buffer, !positioned ? "" : reduced->number != 0 ? ".position" : ".value");
  }

  uint32_t threads_per_row() const {
    switch (schedule_.kind) {
      case ScheduleKind::warp_per_row: return schedule_.lanes;
      case ScheduleKind::block_per_row: return schedule_.threads;
      default: return 1;
    }
  }
  std::string thread_of_row() const {
    if (schedule_.kind != ScheduleKind::warp_per_row) return "thread_x()";
    return schedule_.lanes < 32 ? fmt::format("(lane() % {})", schedule_.lanes) : "lane()";
  }
  // The condition under which a thread stores the results of its row: one thread of each row does.
  std::string writes_once() const { return threads_per_row() == 1 ? "" : thread_of_row() + " == 0"; }

  // Returns whether it has begun a loop.
  bool write_rows() {
    const Sym rows = extent_of(kernel_.rows);
    bool walks = false;
    if (schedule_.kind == ScheduleKind::block_per_row) {
      row_.line("const idx i = static_cast<idx>(block_x());");
      source_.grid[0] = rows;
    } else if (schedule_.kind == ScheduleKind::warp_per_row) {
      walks = begin_rows_of_warps(row_, rows, schedule_.threads, "i", schedule_.lanes);
    } else {
      const bool groups = schedule_.kind == ScheduleKind::map && schedule_.vector > 1;
      const uint32_t per_block = schedule_.threads * (groups ? schedule_.vector : 1);
      const std::string own = groups ? fmt::format("thread_x() * {}", schedule_.vector) : "thread_x()";
      row_.line(fmt::format("const idx i = static_cast<idx>(block_x()) * {} + static_cast<idx>({});", per_block, own));
      row_.line(fmt::format("if (i >= {}) return;", text(rows)));
      source_.grid[0] = ceil_div(rows, Sym(int64_t{per_block}));
    }
    write_split(row_, kernel_.rows, "i");
    return walks;
  }

  void write_columns() {
    if (kernel_.column_stores.empty()) return;
    in_columns([&](Scope& column) {
      if (schedule_.vector > 1)
        return write_group_stores(column, kernel_.columns.back(), schedule_.vector, kernel_.column_stores);
      for (const Store& store : kernel_.column_stores) write_store(column, store, "");
    });
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
    } else if (schedule_.held > 0) {
      const Sym extent = extent_of(kernel_.columns);
      const uint32_t at_once = threads_per_row() * schedule_.vector;
      head = fmt::format("{0}WICK_UNROLL\n{0}for (u32 g = 0; g < {1}; ++g) {{\n", row_.indent, schedule_.held);
      column.line(
          fmt::format("const idx r = static_cast<idx>(g * {} + {} * {});", at_once, thread_of_row(), schedule_.vector));
      if (!extent.is(int64_t{at_once} * schedule_.held))
        column.line(fmt::format("if (r >= {}) continue;", text(extent)));
      write_split(column, kernel_.columns, "r");
      foot = row_.indent + "}\n";
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

  // Loads what several walks read. All loads are issued before the first use.
  void hold_row() {
    if (schedule_.held == 0) return;
    const std::vector<ExpressionPtr> loads = loads_of_walks(graph_, kernel_, schedule_.vector);
    const bool vectors = schedule_.vector > 1;
    for (size_t i = 0; i < loads.size(); ++i) {
      const std::string type = vectors ? fmt::format("Vector<{}, {}>", storage_name(loads[i]->dtype), schedule_.vector)
                                       : type_name(loads[i]->type);
      row_.line(fmt::format("{} held{}[{}] = {{}};", type, i, schedule_.held));
    }
    in_columns([&](Scope& column) {
      for (size_t i = 0; i < loads.size(); ++i) {
        const std::string name = fmt::format("loaded{}", i);
        if (vectors) define_vector(column, loads[i], schedule_.vector, name);
        column.line(fmt::format("held{}[g] = {};", i, vectors ? name : value(column, loads[i])));
      }
    });
    for (size_t i = 0; i < loads.size(); ++i) hold(loads[i], fmt::format("held{}[g]", i));
  }

  void write_reductions() {
    size_t begin = 0;
    for (const size_t end : ends_of_walks(kernel_)) {
      write_walk(begin, end);
      begin = end;
    }
  }

  void write_walk(size_t begin, size_t end) {
    std::vector<ExpressionPtr> roots;
    for (size_t i = begin; i < end; ++i) {
      const Reduction& reduction = kernel_.reductions[i];
      row_.line(fmt::format("{} acc{} = {};", type_of(reduction), i, first_value(reduction)));
      roots.insert(roots.end(), {reduction.element, reduction.guard});
    }
    const auto accumulate = [&](Scope& scope) {
      for (size_t i = begin; i < end; ++i)
        write_accumulation(scope, kernel_.reductions[i], fmt::format("acc{}", i), column_number());
    };
    in_columns([&](Scope& column) {
      if (schedule_.vector == 1) return accumulate(column);
      write_group(column, kernel_.columns.back(), schedule_.vector, roots, accumulate);
    });
    for (size_t i = begin; i < end; ++i) combine(i);
  }

  void combine(size_t index) {
    const Reduction& reduction = kernel_.reductions[index];
    const char* name = combiner(reduction.kind);
    if (schedule_.kind == ScheduleKind::warp_per_row)
      row_.line(fmt::format("acc{0} = warp_reduce<{1}, {2}>(acc{0});", index, name, schedule_.lanes));
    if (schedule_.kind == ScheduleKind::block_per_row) {
      row_.line(fmt::format("WICK_SHARED({}, shared{}, {});", type_of(reduction), index, schedule_.threads / 32));
      row_.line(fmt::format("acc{0} = block_reduce<{1}, {2}>(acc{0}, shared{0});", index, name, schedule_.threads));
    }
  }

  const Schedule schedule_;
  Scope row_;
};

}  // namespace

void KernelWriter::write_prologues(Scope& scope, uint32_t threads) {
  for (size_t i = 0; i < kernel_.prologues.size(); ++i)
    write_prologue(scope, *kernel_.prologues[i], fmt::format("line{}", i), threads);
}

// Writes a prologue. The buffer that it stores to becomes an array in shared memory.
void KernelWriter::write_prologue(Scope& scope, const LoopKernel& prologue, const std::string& name, uint32_t threads) {
  const Store& store = prologue.column_stores[0];
  const Sym columns = extent_of(prologue.columns);
  scope.line(fmt::format("WICK_SHARED({}, {}, {});", storage_name(store.dtype), name, text(columns)));
  in_shared_memory_[store.buffer] = name;
  Schedule schedule;
  schedule.kind = ScheduleKind::block_per_row;
  schedule.threads = threads;
  const int64_t per_thread = std::clamp<int64_t>(SymScope::range(columns).max / threads, 1, 16);
  schedule.vector =
      vector_of(graph_, prologue, prologue.columns, prologue.column_stores, static_cast<uint32_t>(per_thread));
  LoopWriter inner(graph_, prologue, schedule);
  inner.takes_over_from(*this);
  inner.scope().indent = scope.indent + "  ";
  inner.write_line();
  takes_over_from(inner);
  scope.line("{");
  scope.text += inner.scope().text;
  scope.line("}");
  scope.line("block_barrier();");
}

KernelSource write_loops(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule) {
  return LoopWriter(graph, kernel, schedule).run();
}

}  // namespace wick::cuda
