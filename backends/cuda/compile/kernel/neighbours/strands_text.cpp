// Writes reductions whose rows are adjacent in memory: a thread takes neighbouring rows, and threads share their
// columns.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/kernel/vector_access.h"

namespace wick::cuda {
namespace {

// The most registers of a thread for columns that are loaded at once.
constexpr uint64_t kMostWords = 64;
// If rows are enough, a thread takes up to this many columns alone: the taps of most windows.
constexpr int64_t kFewColumns = 9;

class StrandsWriter : public KernelWriter {
 public:
  StrandsWriter(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule)
      : KernelWriter(graph, kernel), vector_(schedule.vector), strands_(schedule.strands) {
    source_.schedule = schedule;
    source_.has_barriers = strands_ > 1;
    block_.indent = "  ";
    block_.has_results_of_elements = true;
  }

  KernelSource write() {
    const Sym rows = extent_of(kernel_.rows);
    source_.grid[0] = ceil_div(rows, Sym(int64_t{lanes() * vector_}));
    block_.line(fmt::format("const u32 lane_of_rows = thread_x() % {0}u, strand = thread_x() / {0}u;", lanes()));
    block_.line(fmt::format("const idx i = (static_cast<idx>(block_x()) * {} + static_cast<idx>(lane_of_rows)) * {};",
                            lanes(), vector_));
    block_.line(fmt::format("const bool inside = i < {};", text(rows)));
    write_split(block_, kernel_.rows, "i");
    size_t begin = 0;
    for (const size_t end : ends_of_walks(kernel_)) {
      write_walk(begin, end);
      begin = end;
    }
    if (!kernel_.row_stores.empty()) {
      Scope first = inner();
      write_group_stores(first, kernel_.rows.back(), vector_, kernel_.row_stores);
      put("if (inside && strand == 0) {", first, "}");
    }
    if (!kernel_.column_stores.empty())
      in_columns(
          [&](Scope& column) { write_group_stores(column, kernel_.rows.back(), vector_, kernel_.column_stores); });
    return finish(block_.text, extent_of(kernel_.columns) + int64_t{source_.schedule.threads});
  }

 private:
  std::string result_text(ExpressionPtr reduced) const override {
    const bool positioned = is_positioned(kernel_.reductions[reduced->buffer].kind);
    return fmt::format("acc{}[e]{}", reduced->buffer, !positioned ? "" : reduced->number != 0 ? ".position" : ".value");
  }
  uint32_t lanes() const { return source_.schedule.threads / strands_; }

  Scope inner() {
    Scope scope;
    scope.outer = &block_;
    scope.indent = "    ";
    scope.has_results_of_elements = true;
    return scope;
  }
  void put(const std::string& head, const Scope& scope, const std::string& foot) {
    block_.line(head);
    block_.text += scope.text;
    block_.line(foot);
  }

  // Registers for the elements of one column that a thread loads.
  uint64_t words_of_column() const {
    std::set<ExpressionPtr> loads;
    std::vector<ExpressionPtr> roots;
    for (const Reduction& reduction : kernel_.reductions)
      roots.insert(roots.end(), {reduction.element, reduction.guard, reduction.position});
    for (const Store& store : kernel_.column_stores) roots.push_back(store.value);
    for_each(std::move(roots), [&](ExpressionPtr e) {
      if (e->kind == ExpressionKind::load) loads.insert(e);
    });
    uint64_t words = 0;
    for (const ExpressionPtr e : loads) words += (vector_ * dtype_size_bytes(e->dtype) + 3) / 4;
    return words;
  }

  template <typename F>
  void in_columns(F&& body) {
    Scope column = inner();
    for (const Loop& loop : kernel_.columns) column.symbols.insert(std::string(loop.variable.symbol_name()));
    write_split(column, kernel_.columns, "c");
    body(column);
    block_.line("if (inside) {");
    const uint64_t held = words_of_column();
    const Sym columns = extent_of(kernel_.columns);
    const bool are_few = strands_ == 1 && columns.is_const() && columns.value() <= kFewColumns;
    block_.line(are_few                  ? "  WICK_UNROLL"
                : held <= kMostWords / 4 ? "  WICK_UNROLL_BY_4"
                : held <= kMostWords / 2 ? "  WICK_UNROLL_BY_2"
                                         : "  WICK_NO_UNROLL");
    const char* const first = strands_ == 1 ? "0" : "static_cast<idx>(strand)";
    put(fmt::format("  for (idx c = {}; c < {}; c += {}) {{", first, text(columns), strands_), column, "  }");
    block_.line("}");
  }

  void write_walk(size_t begin, size_t end) {
    std::vector<ExpressionPtr> roots;
    for (size_t i = begin; i < end; ++i) {
      const Reduction& reduction = kernel_.reductions[i];
      block_.line(fmt::format("{} acc{}[{}];", type_of(reduction), i, vector_));
      block_.line("WICK_UNROLL");
      block_.line(fmt::format("for (u32 e = 0; e < {}; ++e) acc{}[e] = {};", vector_, i, first_value(reduction)));
      roots.insert(roots.end(), {reduction.element, reduction.guard, reduction.position});
    }
    roots.erase(std::remove(roots.begin(), roots.end(), nullptr), roots.end());
    in_columns([&](Scope& column) {
      write_group(column, kernel_.rows.back(), vector_, roots, [&](Scope& each) {
        for (size_t i = begin; i < end; ++i)
          write_accumulation(each, kernel_.reductions[i], fmt::format("acc{}[e]", i), "c");
      });
    });
    for (size_t i = begin; strands_ > 1 && i < end; ++i) {
      const Reduction& reduction = kernel_.reductions[i];
      const std::string type = type_of(reduction);
      block_.line(fmt::format("WICK_SHARED({}, shared{}, {});", type, i, source_.schedule.threads * vector_));
      block_.line(fmt::format("combine_strands<{}, {}, {}>(acc{}, shared{});", combiner(reduction.kind), lanes(),
                              strands_, i, i));
    }
  }

  const uint32_t vector_, strands_;
  Scope block_;
};

}  // namespace

std::optional<Schedule> choose_strands(LoweredGraph& graph, const LoopKernel& kernel) {
  constexpr int64_t kLeastRows = 1024, kMostLineBytes = 40 * 1024;
  constexpr int64_t kRowsOfFullDevice = kMultiprocessors * 1024 * 8;
  constexpr size_t kMostReductions = 4;
  const int64_t rows = max_extent(kernel.rows), columns = max_extent(kernel.columns);
  if (rows < kLeastRows || columns < 4 || !kernel.prologues.empty() || !kernel.row_parts.empty()) return std::nullopt;
  if (kernel.in_order || kernel.reductions.empty() || kernel.reductions.size() > kMostReductions) return std::nullopt;
  Schedule out;
  out.kind = ScheduleKind::strands;
  std::vector<Store> stores = kernel.row_stores;
  stores.insert(stores.end(), kernel.column_stores.begin(), kernel.column_stores.end());
  out.strands = 1;
  const bool are_few = columns <= kFewColumns && rows >= kRowsOfFullDevice;
  while (!are_few && out.strands < 32 && out.strands * 8 <= columns) out.strands *= 2;
  // Leaves blocks for all multiprocessors, but takes at least 4 rows, so that a warp still reads 32 adjacent bytes.
  const int64_t lanes = out.threads / out.strands;
  const int64_t most = std::clamp<int64_t>(rows / (lanes * kMultiprocessors), 4, 16);
  out.vector = vector_of(graph, kernel, kernel.rows, stores, static_cast<uint32_t>(most));
  if (out.vector == 1) return std::nullopt;
  int64_t shared = 0;
  for (const Reduction& reduction : kernel.reductions)
    shared += int64_t{out.threads} * out.vector *
              (is_positioned(reduction.kind)                                            ? 16
               : reduction.type == ScalarType::f64 || reduction.type == ScalarType::i64 ? 8
                                                                                        : 4);
  if (shared > kMostLineBytes) return std::nullopt;
  return out;
}

KernelSource write_strands(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule) {
  return StrandsWriter(graph, kernel, schedule).write();
}

}  // namespace wick::cuda
