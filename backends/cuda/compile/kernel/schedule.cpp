// Chooses how threads share a kernel's loops, and merges loops.
#include <algorithm>
#include <set>

#include "backends/cuda/compile/kernel/attention/attention.h"
#include "backends/cuda/compile/kernel/contraction.h"
#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/kernel/lines/lines.h"
#include "backends/cuda/compile/kernel/matvec.h"
#include "backends/cuda/compile/kernel/vector_access.h"
#include "compiler/support/failure.h"

namespace wick::cuda {

using compiler::SymScope;

namespace {

// Threads that fill a device, and rows that fill it with a warp each.
constexpr int64_t kThreadsOfDevice = kMultiprocessors * 128, kRowsForWarps = kMultiprocessors * 16;

bool mentions(const Sym& sym, const Sym& variable) {
  std::set<std::string, std::less<>> symbols;
  collect_symbols(sym, symbols);
  return symbols.count(variable.symbol_name()) > 0;
}

// Whether an expression depends on any of the loop variables.
bool mentions_any(ExpressionPtr expression, const std::vector<Loop>& loops) {
  bool found = false;
  for_each({expression}, [&](ExpressionPtr e) {
    if (e->kind != ExpressionKind::index) return;
    for (const Loop& loop : loops) found = found || mentions(e->index, loop.variable);
  });
  return found;
}

// The expression with outer * extent + inner replaced by `merged`; nothing if it cannot be.
std::optional<Sym> merged_in(const Sym& sym, const Loop& outer, const Loop& inner, const Sym& merged) {
  if (!mentions(sym, outer.variable) && !mentions(sym, inner.variable)) return sym;
  std::optional<Sym> out;
  const compiler::Status status = compiler::catch_failure([&] {
    const Sym far = step_of(sym, outer.variable), near = step_of(sym, inner.variable);
    if (!(far == near * inner.extent) || mentions(near, outer.variable) || mentions(near, inner.variable)) return;
    const Sym rest = sym - far * outer.variable - near * inner.variable;
    if (!mentions(rest, outer.variable) && !mentions(rest, inner.variable)) out = rest + near * merged;
  });
  // An expression that becomes too large stays as it is.
  return status.ok() ? out : std::nullopt;
}

// The same as steps_by_one() if two elements share a byte: the offset grows by one in two iterations.
bool steps_by_half(ExpressionPtr offset, const Loop& loop) {
  if (offset->kind != ExpressionKind::index) return false;
  bool half = false;
  const compiler::Status status = compiler::catch_failure([&] {
    const std::string variable(loop.variable.symbol_name());
    half = (substitute(offset->index, {{variable, loop.variable + 2}}) - offset->index).is(1);
  });
  return status.ok() && half;
}

bool merge_pair(LoweredGraph& graph, LoopKernel& kernel, std::vector<Loop>& loops, size_t outer) {
  const Loop a = loops[outer], b = loops[outer + 1];
  const std::string name = "m" + std::string(a.variable.symbol_name());
  const Sym merged = Sym::symbol(name), extent = a.extent * b.extent;
  const compiler::SymRange range = SymScope::range(extent);
  graph.ranges[name] = {0, range.max == compiler::kUnbounded ? range.max : std::max<int64_t>(range.max - 1, 0)};
  bool possible = true;
  for_each(expressions_of(kernel), [&](ExpressionPtr e) {
    if (e->kind == ExpressionKind::index) possible = possible && merged_in(e->index, a, b, merged).has_value();
  });
  if (!possible) return false;
  std::map<ExpressionPtr, ExpressionPtr> known;
  const auto change = [&](const Sym& sym) { return *merged_in(sym, a, b, merged); };
  for (ExpressionPtr* e : expressions_in(kernel)) {
    if (*e) *e = graph.pool.rewrite(*e, change, known);
  }
  loops[outer] = {merged, extent};
  loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(outer) + 1);
  return true;
}

// Calls add(expression) for each expression, null ones too. `line`: the kernel's line; null if it has none.
template <typename Kernel, typename Add>
void visit_expressions(Kernel& kernel, Line* line, Add&& add) {
  const auto add_stores = [&](auto& stores) {
    for (auto& store : stores) add(store.offset), add(store.value), add(store.guard);
  };
  for (auto& reduction : kernel.reductions) add(reduction.element), add(reduction.guard), add(reduction.position);
  if (line) {
    for (ExpressionPtr* part : parts_of(*line)) add(*part);
  }
  if (kernel.attention) {
    auto& a = *kernel.attention;
    add(a.query), add(a.key_element), add(a.value), add(a.score);
  }
  if (kernel.call) {
    for (auto& place : kernel.call->places) add(place.offset);
    for (auto& number : kernel.call->numbers) add(number);
  }
  add_stores(kernel.row_stores);
  add_stores(kernel.column_stores);
  for (auto& part : kernel.row_parts) add_stores(part.stores);
}

}  // namespace

std::vector<ExpressionPtr*> expressions_in(LoopKernel& kernel) {
  std::vector<ExpressionPtr*> out;
  visit_expressions(kernel, kernel.line ? &*kernel.line : nullptr, [&](ExpressionPtr& e) { out.push_back(&e); });
  return out;
}

std::vector<ExpressionPtr> expressions_of(const LoopKernel& kernel) {
  std::vector<ExpressionPtr> out;
  std::optional<Line> line = kernel.line;
  visit_expressions(kernel, line ? &*line : nullptr, [&](ExpressionPtr e) { out.push_back(e); });
  return out;
}

bool steps_by_one(ExpressionPtr offset, const Loop& loop) {
  if (offset->kind == ExpressionKind::call) {
    const auto grows = [&](size_t i) { return steps_by_one(offset->args[i], loop); };
    const auto stays = [&](size_t i) { return !mentions_any(offset->args[i], {loop}); };
    const IndexArithmetic made = index_arithmetic(offset);
    if (made == IndexArithmetic::sum) return (grows(0) && stays(1)) || (stays(0) && grows(1));
    return made == IndexArithmetic::difference && grows(0) && stays(1);
  }
  if (offset->kind != ExpressionKind::index) return false;
  bool one = false;
  const compiler::Status status = compiler::catch_failure([&] { one = step_of(offset->index, loop.variable).is(1); });
  return status.ok() && one;
}

bool is_contiguous_along(ExpressionPtr element, const Loop& loop) {
  if (element->kind == ExpressionKind::call)
    return std::any_of(element->args.begin(), element->args.end(),
                       [&](ExpressionPtr arg) { return is_contiguous_along(arg, loop); });
  return element->kind == ExpressionKind::load &&
         (steps_by_one(element->args[0], loop) || steps_by_half(element->args[0], loop));
}

Sym step_of(const Sym& sym, const Sym& variable) {
  return substitute(sym, {{std::string(variable.symbol_name()), variable + 1}}) - sym;
}

KernelSource write_kernel(LoweredGraph& graph, const LoopKernel& kernel) {
  if (kernel.attention) return write_attention(graph, kernel);
  if (kernel.line) return write_line(graph, kernel);
  if (kernel.call) return write_block_call(graph, kernel);
  if (!kernel.beside.empty()) return write_beside(graph, kernel);
  if (const auto matvec = find_matvec(graph, kernel)) return write_matvec(graph, kernel, *matvec);
  if (const auto matvec = find_matvec_of_floats(graph, kernel)) return write_matvec(graph, kernel, *matvec);
  if (const auto contraction = find_contraction(kernel)) return write_contraction(graph, kernel, *contraction);
  if (auto turned = write_turned(graph, kernel)) return std::move(*turned);
  const Schedule schedule = choose_schedule(graph, kernel);
  if (schedule.kind == ScheduleKind::unrolled) return write_unrolled(graph, kernel, schedule);
  return schedule.kind == ScheduleKind::strands ? write_strands(graph, kernel, schedule)
                                                : write_loops(graph, kernel, schedule);
}

void merge_loops(LoweredGraph& graph, LoopKernel& kernel) {
  // Positions are linear numbers of columns, and merging keeps these.
  for (std::vector<Loop>* loops : {&kernel.rows, &kernel.columns}) {
    for (size_t i = loops->size(); i-- > 1;) merge_pair(graph, kernel, *loops, i - 1);
  }
}

std::vector<size_t> ends_of_walks(const LoopKernel& kernel) {
  const auto reads_result = [&](size_t index, size_t begin) {
    const Reduction& reduction = kernel.reductions[index];
    bool reads = false;
    for_each({reduction.element, reduction.guard, reduction.position},
             [&](ExpressionPtr e) { reads = reads || (e->kind == ExpressionKind::reduced && e->buffer >= begin); });
    return reads;
  };
  std::vector<size_t> ends;
  for (size_t begin = 0, end = 0; begin < kernel.reductions.size(); begin = end) {
    for (++end; end < kernel.reductions.size() && !reads_result(end, begin);) ++end;
    ends.push_back(end);
  }
  return ends;
}

std::vector<ExpressionPtr> loads_of_walks(LoweredGraph& graph, const LoopKernel& kernel, uint32_t vector) {
  std::vector<std::vector<ExpressionPtr>> walks;
  size_t begin = 0;
  for (const size_t end : ends_of_walks(kernel)) {
    walks.emplace_back();
    for (; begin < end; ++begin) {
      const Reduction& reduction = kernel.reductions[begin];
      walks.back().insert(walks.back().end(), {reduction.element, reduction.guard, reduction.position});
    }
  }
  walks.emplace_back();
  for (const Store& store : kernel.column_stores)
    walks.back().insert(walks.back().end(), {store.offset, store.value, store.guard});

  std::vector<ExpressionPtr> once, out;
  for (const std::vector<ExpressionPtr>& walk : walks) {
    std::vector<ExpressionPtr> here;
    for_each(walk, [&](ExpressionPtr e) {
      if (e->kind != ExpressionKind::load || !mentions_any(e, kernel.columns)) return;
      if (vector == 1 || access_of(graph, e, kernel.columns.back(), vector) == Access::vector) here.push_back(e);
    });
    for (const ExpressionPtr e : here) {
      const bool known = std::find(once.begin(), once.end(), e) != once.end();
      if (!known) once.push_back(e);
      if (known && std::find(out.begin(), out.end(), e) == out.end()) out.push_back(e);
    }
  }
  return out;
}

namespace {

int64_t parts_of(int64_t all, int64_t size) { return (all + size - 1) / size; }

// Lets a few lanes take a short row, so that each loads 16 bytes at once, if rows are enough to fill the device.
void share_warps(LoweredGraph& graph, const LoopKernel& kernel, Schedule& out) {
  constexpr int64_t kVectors = 4;
  const Sym rows = extent_of(kernel.rows), columns = extent_of(kernel.columns);
  if (!rows.is_const() || !columns.is_const() || !kernel.prologues.empty() || !kernel.row_parts.empty()) return;
  const uint32_t vector = vector_of(graph, kernel, kernel.columns, kernel.column_stores, 16);
  for (uint32_t lanes = 2; lanes < 32; lanes *= 2) {
    const bool fills = rows.value() * lanes >= kMultiprocessors * 1024 && rows.value() % (32 / lanes) == 0;
    if (!fills || columns.value() > int64_t{lanes} * vector * kVectors) continue;
    out.lanes = lanes;
    out.vector = vector;
    return;
  }
}

// Lets each thread keep its part of a row in registers, if that is small enough: all 16-byte loads of a row are issued
// at once, and the row is read once. Each row gets fewer threads if there are enough rows.
void hold_rows(LoweredGraph& graph, const LoopKernel& kernel, int64_t rows, Schedule& out) {
  constexpr int64_t kMostBytes = 128, kMostElements = 64, kVectors = 4, kMostWarps = 32, kThreadsOfFullDevice = 1024;
  const Sym extent = extent_of(kernel.columns);
  if (!extent.is_const() || extent.value() == 0) return;
  const int64_t columns = extent.value();
  Schedule tried = out;
  if (kernel.prologues.empty() && columns > 1024) {
    tried.vector = vector_of(graph, kernel, kernel.columns, kernel.column_stores, 16);
    const int64_t vectors = parts_of(columns, tried.vector);
    int64_t warps = parts_of(vectors, 32 * kVectors);
    if (rows * warps * 32 < kMultiprocessors * kThreadsOfFullDevice)
      warps = std::max(warps, std::min<int64_t>(parts_of(vectors, 32), columns <= 8192 ? 8 : 16));
    if (warps > 16) warps = std::max<int64_t>(parts_of(vectors, 2 * 32 * kVectors), 16);
    if (warps > kMostWarps) return;
    tried.lanes = 32;
    tried.kind = warps == 1 ? ScheduleKind::warp_per_row : ScheduleKind::block_per_row;
    tried.threads = warps == 1 ? 128 : static_cast<uint32_t>(32 * warps);
  }
  const std::vector<ExpressionPtr> loads = loads_of_walks(graph, kernel, tried.vector);
  if (loads.empty() && tried.lanes == 32) return;
  int64_t bytes = 0;
  for (const ExpressionPtr load : loads)
    bytes += std::max<int64_t>(static_cast<int64_t>(dtype_size_bytes(load->dtype)) * tried.vector, 4);
  const int64_t per_row = tried.kind == ScheduleKind::warp_per_row ? tried.lanes : tried.threads;
  const int64_t held = parts_of(columns, per_row * tried.vector);
  if (held * bytes > kMostBytes || held * tried.vector > kMostElements) return;
  tried.held = static_cast<uint32_t>(held);
  out = tried;
}

}  // namespace

// The constant by which an offset grows in each iteration of a loop; 0 if there is none.
int64_t constant_step(ExpressionPtr offset, const Loop& loop) {
  int64_t out = 0;
  if (offset->kind != ExpressionKind::index) return out;
  const compiler::Status status = compiler::catch_failure([&] {
    if (const Sym step = step_of(offset->index, loop.variable); step.is_const()) out = step.value();
  });
  return status.ok() ? out : 0;
}

// Whether neighbouring rows read some of the same elements, as overlapping windows do.
bool is_window(const LoopKernel& kernel) {
  constexpr int64_t kMostColumns = 256;
  if (kernel.rows.empty() || max_extent(kernel.columns) > kMostColumns) return false;
  const Loop &row = kernel.rows.back(), &column = kernel.columns.back();
  bool overlaps = false;
  for_each(expressions_of(kernel), [&](ExpressionPtr e) {
    if (e->kind != ExpressionKind::load) return;
    const int64_t of_row = constant_step(e->args[0], row), of_column = constant_step(e->args[0], column);
    overlaps = overlaps || (of_row > 0 && of_column > 0 && of_row < of_column * max_extent({column}) &&
                            of_column < of_row * max_extent({row}));
  });
  return overlaps;
}

Schedule choose_schedule(LoweredGraph& graph, const LoopKernel& kernel) {
  Schedule out;
  const int64_t rows = max_extent(kernel.rows);
  if (kernel.columns.empty()) {
    // Without columns, each reduction is over one element.
    if (!kernel.reductions.empty() || !kernel.column_stores.empty()) return out;
    // Fewer threads than kThreadsOfDevice leave multiprocessors idle.
    const int64_t most = std::clamp<int64_t>(rows / kThreadsOfDevice, 1, 16);
    out.vector = vector_of(graph, kernel, kernel.rows, kernel.row_stores, static_cast<uint32_t>(most));
    return choose_unrolled(graph, kernel, out.vector).value_or(out);
  }
  out.threads = 128;
  out.kind = ScheduleKind::thread_per_row;
  if (kernel.in_order) return out;
  const int64_t columns = max_extent(kernel.columns);
  bool along_columns = false, along_rows = false;
  for_each(expressions_of(kernel), [&](ExpressionPtr e) {
    if (e->kind != ExpressionKind::load) return;
    along_columns = along_columns || steps_by_one(e->args[0], kernel.columns.back());
    along_rows = along_rows || (!kernel.rows.empty() && steps_by_one(e->args[0], kernel.rows.back()));
  });
  const bool prefers_rows = along_rows && !along_columns && rows >= 1024;
  if (along_rows && !along_columns) {
    if (const std::optional<Schedule> strands = choose_strands(graph, kernel)) return *strands;
  }
  if (columns <= 16 || prefers_rows || is_window(kernel)) return choose_unrolled(graph, kernel, 1).value_or(out);
  // With many sums, a warp per row is enough for longer rows too. If there are more rows than multiprocessors, it also
  // lets the prologues of a block serve more rows.
  const int64_t sums = rows * std::max<int64_t>(static_cast<int64_t>(kernel.reductions.size()), 1);
  const bool warps = columns <= 1024 || sums >= kRowsForWarps || (!kernel.prologues.empty() && rows > kMultiprocessors);
  out.kind = warps ? ScheduleKind::warp_per_row : ScheduleKind::block_per_row;
  if (out.kind == ScheduleKind::block_per_row) out.threads = columns <= 8192 ? 256 : 512;
  const int64_t per_row = out.kind == ScheduleKind::warp_per_row ? 32 : out.threads;
  const int64_t most = std::clamp<int64_t>(columns / per_row, 1, 16);
  out.vector = vector_of(graph, kernel, kernel.columns, kernel.column_stores, static_cast<uint32_t>(most));
  if (out.kind == ScheduleKind::warp_per_row) share_warps(graph, kernel, out);
  hold_rows(graph, kernel, rows, out);
  return out;
}

}  // namespace wick::cuda
