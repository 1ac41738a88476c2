// Kernels whose threads take rows, or share the columns of a row.
#include "backends/cuda/compile/kernel/loop_text.h"

#include <fmt/format.h>

#include <cmath>

#include "backends/cuda/compile/kernel/kernel_writer.h"

namespace wick::cuda {
namespace {

const char* combiner(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::sum: return "Sum";
    case ReductionKind::product: return "Product";
    case ReductionKind::minimum: return "Minimum";
    case ReductionKind::maximum: return "Maximum";
    case ReductionKind::conjunction: return "Conjunction";
    case ReductionKind::disjunction: return "Disjunction";
    case ReductionKind::arg_minimum: return "ArgMinimum";
    case ReductionKind::arg_maximum: return "ArgMaximum";
  }
  return "";
}

bool is_positioned(ReductionKind kind) {
  return kind == ReductionKind::arg_minimum || kind == ReductionKind::arg_maximum;
}

std::string first_value(const Reduction& reduction) {
  const bool lowest = reduction.kind == ReductionKind::maximum;
  switch (reduction.kind) {
    case ReductionKind::sum: return fmt::format("{}(0)", type_name(reduction.type));
    case ReductionKind::product: return fmt::format("{}(1)", type_name(reduction.type));
    case ReductionKind::conjunction: return "true";
    case ReductionKind::disjunction: return "false";
    case ReductionKind::arg_minimum:
    case ReductionKind::arg_maximum: return fmt::format("{{{}(0), -1}}", type_name(reduction.type));
    default: break;
  }
  switch (reduction.type) {
    case ScalarType::boolean: return lowest ? "false" : "true";
    case ScalarType::i32: return lowest ? "static_cast<i32>(0x80000000u)" : "0x7fffffff";
    case ScalarType::i64: return lowest ? "static_cast<i64>(0x8000000000000000ull)" : "0x7fffffffffffffffll";
    default: return number_text(lowest ? -INFINITY : INFINITY, reduction.type);
  }
}

std::string type_of(const Reduction& reduction) {
  return is_positioned(reduction.kind) ? fmt::format("Positioned<{}>", type_name(reduction.type))
                                       : type_name(reduction.type);
}

class LoopWriter : public KernelWriter {
 public:
  LoopWriter(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule)
      : KernelWriter(graph, kernel), schedule_(schedule) {}

  KernelSource run() {
    row_.indent = "  ";
    write_rows();
    for (size_t i = 0; i < kernel_.reductions.size(); ++i) write_reduction(i);
    for (const Store& store : kernel_.row_stores) write_store(row_, store, writes_once());
    if (!kernel_.column_stores.empty()) {
      in_columns([&](Scope& column) {
        for (const Store& store : kernel_.column_stores) write_store(column, store, "");
      });
    }
    source_.threads = schedule_.threads;
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
      const uint32_t per_block = warps ? schedule_.threads / 32 : schedule_.threads;
      row_.line(fmt::format("const idx i = static_cast<idx>(block_x()) * {} + static_cast<idx>({});", per_block,
                            warps ? "thread_x() / 32" : "thread_x()"));
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
      head = fmt::format("{}for (idx r = static_cast<idx>({}); r < {}; r += {}) {{\n", row_.indent, thread_of_row(),
                         text(extent_of(kernel_.columns)), threads_per_row());
      write_split(column, kernel_.columns, "r");
      foot = row_.indent + "}\n";
    }
    body(column);
    row_.text += head + column.text + foot;
  }

  // The number of the column among all columns of the row.
  std::string column_number() {
    if (threads_per_row() > 1) return "r";
    Sym number = 0;
    for (const Loop& loop : kernel_.columns) number = number * loop.extent + loop.variable;
    return text(number);
  }

  void accumulate(Scope& column, const Reduction& reduction, const std::string& acc) {
    const bool is_product = reduction.kind == ReductionKind::sum && !reduction.guard && is_real(reduction.type) &&
                            reduction.element->kind == ExpressionKind::call &&
                            reduction.element->text == "op_mul({0}, {1})";
    if (is_product) {
      const std::string a = value(column, reduction.element->args[0]), b = value(column, reduction.element->args[1]);
      column.line(fmt::format("{0} = fused_multiply_add({1}, {2}, {0});", acc, a, b));
      return;
    }
    std::string element = value(column, reduction.element);
    const std::string guard = reduction.guard ? "if (" + value(column, reduction.guard) + ") " : "";
    if (is_positioned(reduction.kind))
      element = fmt::format("{}{{{}, static_cast<i64>({})}}", type_of(reduction), element, column_number());
    column.line(fmt::format("{3}{0} = {1}::of({0}, {2});", acc, combiner(reduction.kind), element, guard));
  }

  void write_reduction(size_t index) {
    const Reduction& reduction = kernel_.reductions[index];
    const std::string acc = fmt::format("acc{}", index);
    row_.line(fmt::format("{} {} = {};", type_of(reduction), acc, first_value(reduction)));
    in_columns([&](Scope& column) { accumulate(column, reduction, acc); });
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
