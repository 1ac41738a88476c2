// Writes kernels that sort rows: a block sorts a row in shared memory, or threads merge two sorted runs.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/kernel/lines/lines.h"

namespace wick::cuda {
namespace {

// Neighbouring elements of a merged row that a thread finds.
constexpr uint32_t kMergedPerThread = 4;

class SortedWriter : public KernelWriter {
 public:
  SortedWriter(LoweredGraph& graph, const LoopKernel& kernel)
      : KernelWriter(graph, kernel), line_(*kernel.line), reduction_(kernel.reductions[0]), column_(kernel.columns[0]) {
    row_.indent = "  ";
  }

  KernelSource sort() {
    source_.schedule.kind = ScheduleKind::block_per_row;
    source_.schedule.threads = std::clamp<uint32_t>(line_.tile / 2, 32, 256);
    source_.has_barriers = true;
    row_.line("const idx i = static_cast<idx>(block_x());");
    source_.grid[0] = extent_of(kernel_.rows);
    write_split(row_, kernel_.rows, "i");
    row_.line(fmt::format("WICK_SHARED({}, keys, {});", type(), line_.tile));
    row_.line(fmt::format("WICK_SHARED(i32, places, {});", line_.tile));
    write_elements();
    row_.line(fmt::format("block_sort<{}, {}, {}>(keys, places);", descending(), line_.tile, threads()));
    value_ = fmt::format("keys[{}]", name_of(column_));
    position_ = fmt::format("static_cast<i64>(places[{}])", name_of(column_));
    Scope give = scope_of_columns(row_, column_, "    ");
    for (const Store& store : kernel_.column_stores) write_store(give, store, "");
    row_.line(fmt::format("for (idx {0} = static_cast<idx>(thread_x()); {0} < {1}; {0} += {2}) {{", name_of(column_),
                          text(column_.extent), threads()));
    row_.text += give.text;
    row_.line("}");
    return finish(row_.text, column_.extent + int64_t{line_.tile});
  }

  KernelSource merge() {
    source_.schedule.kind = ScheduleKind::map;
    source_.schedule.threads = 128;
    const Sym groups = ceil_div(column_.extent, Sym(int64_t{kMergedPerThread})),
              work = extent_of(kernel_.rows) * groups;
    source_.grid[0] = ceil_div(work, Sym(int64_t{threads()}));
    row_.line(
        fmt::format("const idx number = static_cast<idx>(block_x()) * {} + static_cast<idx>(thread_x());", threads()));
    row_.line(fmt::format("if (number >= {}) return;", text(work)));
    row_.line(fmt::format("const idx i = number / {}, first = number % {} * {};", text(groups), text(groups),
                          kMergedPerThread));
    write_split(row_, kernel_.rows, "i");
    write_runs();
    value_ = "sorted";
    position_ = "place";
    Scope give = scope_of_columns(row_, column_, "    ");
    give.line(fmt::format("const idx {} = first + static_cast<idx>(e);", name_of(column_)));
    give.line(fmt::format("if ({} >= {}) break;", name_of(column_), text(column_.extent)));
    give.line("const idx from = run.next();");
    give.line(fmt::format("const {0} sorted = from < 0 ? {0}(0) : run.keys[from];", type()));
    give.line("const i64 place = static_cast<i64>(from < 0 ? kNoPosition : run.places[from]);");
    for (const Store& store : kernel_.column_stores) write_store(give, store, "");
    row_.line(fmt::format("for (u32 e = 0; e < {}; ++e) {{", kMergedPerThread));
    row_.text += give.text;
    row_.line("}");
    return finish(row_.text, work);
  }

 private:
  std::string result_text(ExpressionPtr reduced) const override { return reduced->number != 0 ? position_ : value_; }
  const char* type() const { return type_name(reduction_.type); }
  uint32_t threads() const { return source_.schedule.threads; }
  bool descending() const { return reduction_.kind == ReductionKind::arg_maximum; }

  void write_elements() {
    Scope take = scope_of_columns(row_, column_, "      ");
    const std::string column = name_of(column_);
    const std::string guard = reduction_.guard ? "if (" + value(take, reduction_.guard) + ") " : "";
    const std::string element = value(take, reduction_.element);
    take.line(fmt::format("key = {};", element));
    take.line(fmt::format("{}place = static_cast<i32>({});", guard,
                          reduction_.position ? value(take, reduction_.position) : column));
    row_.line(fmt::format("for (idx {0} = static_cast<idx>(thread_x()); {0} < {1}; {0} += {2}) {{", column, line_.tile,
                          threads()));
    row_.line(fmt::format("  {} key = {}(0);", type(), type()));
    row_.line("  i32 place = kNoPosition;");
    row_.line(fmt::format("  if ({} < {}) {{", column, text(column_.extent)));
    row_.text += take.text;
    row_.line("  }");
    row_.line(fmt::format("  keys[{}] = key;", column));
    row_.line(fmt::format("  places[{}] = place;", column));
    row_.line("}");
  }

  void write_runs() {
    const std::string a = value(row_, line_.begins[0]), b = value(row_, line_.begins[1]);
    const std::string a_count = value(row_, line_.counts[0]), b_count = value(row_, line_.counts[1]);
    row_.line(fmt::format("SortedRuns<{}, {}, idx> run = {{{}, {}, {}, {} + {}, {}, {} + {}}};", descending(), type(),
                          parameter(line_.values, false), parameter(line_.positions, false), a, a, a_count, b, b,
                          b_count));
    row_.line("run.skip(first);");
  }

  const Line& line_;
  const Reduction& reduction_;
  const Loop& column_;
  Scope row_;
  std::string value_, position_;
};

}  // namespace

KernelSource write_sorted(LoweredGraph& graph, const LoopKernel& kernel) { return SortedWriter(graph, kernel).sort(); }
KernelSource write_merged(LoweredGraph& graph, const LoopKernel& kernel) { return SortedWriter(graph, kernel).merge(); }

}  // namespace wick::cuda
