// Writes maps and reductions in which a thread takes several neighbouring rows whose loads are not vectors: windows,
// images that are resized or padded, rows that begin anywhere. The text of each row is written out. So an element that
// several rows read is loaded once, and adjacent elements are loaded at once.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/compile/expression/substitution.h"
#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/kernel/neighbours/load_runs.h"
#include "backends/cuda/compile/kernel/vector_access.h"
#include "compiler/support/failure.h"

namespace wick::cuda {
namespace {

using compiler::SymScope;

// The rows n * count .. n * count + count - 1 along a kernel's innermost loop, for a thread with number n.
class UnrolledRows {
 public:
  UnrolledRows(LoweredGraph& graph, const LoopKernel& kernel, uint32_t count)
      : graph_(graph), kernel_(kernel), count_(count), walked_(kernel.columns) {
    const Loop& last = kernel.rows.back();
    const std::string name = fmt::format("group{}_of_{}", count, last.variable.symbol_name());
    const compiler::SymRange range = SymScope::range(last.extent);
    graph.ranges[name] = {0,
                          range.max == compiler::kUnbounded ? range.max : std::max<int64_t>(range.max / count - 1, 0)};
    group_ = Sym::symbol(name);
    if (walked_.empty() || !walked_.back().extent.is_const() || walked_.back().extent.value() > kMostTaps) return;
    tap_ = walked_.back();
    walked_.pop_back();
  }

  const Sym& group() const { return group_; }
  uint32_t count() const { return count_; }
  /// The column loops that remain loops, and how many columns (taps) each iteration writes out.
  const std::vector<Loop>& walked() const { return walked_; }
  int64_t taps() const { return tap_ ? tap_->extent.value() : 1; }

  Reduction reduction(size_t index, uint32_t row, int64_t tap) const {
    Substitution in(graph_.pool, variables(row, tap));
    return in.of(kernel_.reductions[index]);
  }
  Sym column_number(int64_t tap) const {
    Sym number = 0;
    for (const Loop& loop : walked_) number = number * loop.extent + loop.variable;
    return tap_ ? number * tap_->extent + tap : number;
  }
  Store store(size_t index, uint32_t row) const {
    const auto result = [&](ExpressionPtr e) -> ExpressionPtr {
      if (e->kind != ExpressionKind::reduced) return nullptr;
      const bool positioned = is_positioned(kernel_.reductions[e->buffer].kind);
      const char* part = !positioned ? "" : e->number != 0 ? ".position" : ".value";
      return graph_.pool.call(e->type, fmt::format("acc{}[{}]{}", e->buffer, row, part), {});
    };
    Substitution in(graph_.pool, variables(row, 0), result);
    return in.of(kernel_.row_stores[index]);
  }

  std::vector<ExpressionPtr> walk_roots() const {
    std::vector<ExpressionPtr> roots;
    for (int64_t tap = 0; tap < taps(); ++tap) {
      for (uint32_t row = 0; row < count_; ++row) {
        for (size_t i = 0; i < kernel_.reductions.size(); ++i) {
          const Reduction one = reduction(i, row, tap);
          for (const ExpressionPtr root : {one.element, one.guard, one.position}) {
            if (root) roots.push_back(root);
          }
        }
      }
    }
    return roots;
  }
  std::vector<ExpressionPtr> store_roots() const {
    std::vector<ExpressionPtr> roots;
    for (uint32_t row = 0; row < count_; ++row) {
      for (size_t i = 0; i < kernel_.row_stores.size(); ++i) roots.push_back(store(i, row).value);
    }
    return roots;
  }

 private:
  static constexpr int64_t kMostTaps = 8;
  Substitution::Variables variables(uint32_t row, int64_t tap) const {
    Substitution::Variables out;
    out.emplace(kernel_.rows.back().variable.symbol_name(), group_ * Sym(int64_t{count_}) + int64_t{row});
    if (tap_) out.emplace(tap_->variable.symbol_name(), Sym(tap));
    return out;
  }

  LoweredGraph& graph_;
  const LoopKernel& kernel_;
  const uint32_t count_;
  std::vector<Loop> walked_;
  std::optional<Loop> tap_;
  Sym group_;
};

// Estimates the clock cycles that a warp takes, if a multiprocessor issues four instructions or moves 128 bytes in
// each.
class UnrolledCost {
 public:
  UnrolledCost(const UnrolledRows& rows, const std::vector<ExpressionPtr>& roots) {
    for_each(roots, [&](ExpressionPtr e) { operations_ += e->kind == ExpressionKind::call; });
    for (const LoadRun& run : load_runs(roots)) {
      operations_ += static_cast<uint32_t>(run.size());
      const auto bytes = static_cast<int64_t>(dtype_size_bytes(run[0]->dtype));
      moves_ += std::clamp<int64_t>(distance(rows, run[0]) * bytes / 4, 1, 32);
    }
  }
  uint32_t operations() const { return operations_; }
  double cycles() const { return static_cast<double>(operations_) / 4 + static_cast<double>(moves_); }

 private:
  // Elements between the loads of two neighbouring threads.
  static int64_t distance(const UnrolledRows& rows, ExpressionPtr load) {
    if (symbols_of(load).count(rows.group().symbol_name()) == 0) return 0;
    if (load->args[0]->kind != ExpressionKind::index) return rows.count();
    const Sym step = step_of(load->args[0]->index, rows.group());
    return step.is_const() ? std::abs(step.value()) : rows.count();
  }

  uint32_t operations_ = 0;
  int64_t moves_ = 0;
};

// The estimate per row if a thread takes `count` rows. Nothing if their text is too long.
std::optional<double> cost_of_rows(LoweredGraph& graph, const LoopKernel& kernel, uint32_t count) {
  constexpr uint32_t kMostOperations = 640;
  constexpr double kCyclesOfThreads = 10;  // to find the rows of a thread
  std::optional<double> out;
  const compiler::Status status = compiler::catch_failure([&] {
    const UnrolledRows rows(graph, kernel, count);
    const UnrolledCost walk(rows, rows.walk_roots()), stores(rows, rows.store_roots());
    if (walk.operations() + stores.operations() > kMostOperations && count > 1) return;
    const auto rounds = static_cast<double>(max_extent(rows.walked()));
    out = (kCyclesOfThreads + rounds * walk.cycles() + stores.cycles()) / count;
  });
  // No estimate for an expression that becomes too large.
  return status.ok() ? out : std::nullopt;
}

class UnrolledWriter : public KernelWriter {
 public:
  UnrolledWriter(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule)
      : KernelWriter(graph, kernel), rows_(graph, kernel, schedule.vector) {
    source_.schedule = schedule;
    block_.indent = "  ";
  }

  KernelSource write() {
    const uint32_t threads = source_.schedule.threads, per_block = threads * rows_.count();
    const Sym rows = extent_of(kernel_.rows);
    source_.grid[0] = ceil_div(rows, Sym(int64_t{per_block}));
    block_.line(fmt::format("const idx i = static_cast<idx>(block_x()) * {} + static_cast<idx>(thread_x() * {});",
                            per_block, rows_.count()));
    block_.line(fmt::format("if (i >= {}) return;", text(rows)));
    write_split(block_, kernel_.rows, "i");
    block_.line(fmt::format("const idx group = {} / {};", name_of(kernel_.rows.back()), rows_.count()));
    name_variable(rows_.group(), "group");
    write_walk();
    write_stores();
    return finish(block_.text, 1);
  }

 private:
  std::string result_text(ExpressionPtr) const override { return ""; }

  void write_walk() {
    if (kernel_.reductions.empty()) return;
    for (size_t i = 0; i < kernel_.reductions.size(); ++i) {
      const Reduction& reduction = kernel_.reductions[i];
      block_.line(fmt::format("{} acc{}[{}];", type_of(reduction), i, rows_.count()));
      block_.line("WICK_UNROLL");
      block_.line(fmt::format("for (u32 e = 0; e < {}; ++e) acc{}[e] = {};", rows_.count(), i, first_value(reduction)));
    }
    Scope column;
    column.outer = &block_;
    column.indent = block_.indent;
    std::string head, foot;
    for (const Loop& loop : rows_.walked()) {
      column.symbols.insert(std::string(loop.variable.symbol_name()));
      head +=
          fmt::format("{0}for (idx {1} = 0; {1} < {2}; ++{1}) {{\n", block_.indent, name_of(loop), text(loop.extent));
      foot += block_.indent + "}\n";
    }
    hold_runs(column, rows_.walk_roots());
    for (int64_t tap = 0; tap < rows_.taps(); ++tap) {
      const std::string number = text(rows_.column_number(tap));
      for (uint32_t row = 0; row < rows_.count(); ++row) {
        for (size_t i = 0; i < kernel_.reductions.size(); ++i)
          write_accumulation(column, rows_.reduction(i, row, tap), fmt::format("acc{}[{}]", i, row), number);
      }
    }
    block_.text += head + column.text + foot;
  }

  void write_stores() {
    hold_runs(block_, rows_.store_roots());
    for (size_t i = 0; i < kernel_.row_stores.size(); ++i) {
      const Store first = rows_.store(i, 0);
      const std::string packed = fmt::format("packed{}", i);
      block_.line(fmt::format("Vector<{}, {}> {};", storage_name(first.dtype), rows_.count(), packed));
      for (uint32_t row = 0; row < rows_.count(); ++row)
        block_.line(fmt::format("{}[{}] = {};", packed, row, stored_text(block_, rows_.store(i, row))));
      const std::string guard = first.guard ? "if (" + value(block_, first.guard) + ") " : "";
      const std::string offset = value(block_, first.offset);
      block_.line(fmt::format("{}store_vector({} + {}, {});", guard, parameter(first.buffer, true), offset, packed));
    }
  }

  const UnrolledRows rows_;
  Scope block_;
};

bool can_unroll(const LoopKernel& kernel) {
  const bool plain = !kernel.in_order && kernel.prologues.empty() && kernel.row_parts.empty();
  return plain && kernel.column_stores.empty() && !kernel.rows.empty() && !kernel.row_stores.empty() &&
         ends_of_walks(kernel).size() <= 1 && kernel.reductions.empty() == kernel.columns.empty() &&
         !reads_what_it_writes(kernel);
}

bool stores_vectors(LoweredGraph& graph, const LoopKernel& kernel, uint32_t count) {
  return groups_fit(kernel.rows, count) &&
         std::all_of(kernel.row_stores.begin(), kernel.row_stores.end(), [&](const Store& store) {
           return dtype_size_bytes(store.dtype) * count <= 16 && stores_vector(graph, store, kernel.rows.back(), count);
         });
}

}  // namespace

std::optional<Schedule> choose_unrolled(LoweredGraph& graph, const LoopKernel& kernel, uint32_t vector) {
  // Fewer threads than this leave multiprocessors idle.
  constexpr int64_t kThreadsOfDevice = kMultiprocessors * 128;
  const int64_t most = std::min<int64_t>(max_extent(kernel.rows) / kThreadsOfDevice, 16);
  if (most <= vector || !can_unroll(kernel)) return std::nullopt;
  std::optional<double> least = cost_of_rows(graph, kernel, vector);
  Schedule out;
  out.kind = ScheduleKind::unrolled;
  out.threads = kernel.columns.empty() ? 256 : 128;
  for (uint32_t count = 2 * vector; least && count <= most; count *= 2) {
    if (!stores_vectors(graph, kernel, count)) break;
    const std::optional<double> cost = cost_of_rows(graph, kernel, count);
    if (!cost || *cost >= *least) continue;
    least = cost;
    out.vector = count;
  }
  return out.vector > 1 ? std::optional(out) : std::nullopt;
}

KernelSource write_unrolled(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule) {
  return UnrolledWriter(graph, kernel, schedule).write();
}

}  // namespace wick::cuda
