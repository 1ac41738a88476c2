// How threads share a kernel's loops, and loops that are one.
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

// Threads that keep a device busy, and rows that do so with a warp each.
constexpr int64_t kMultiprocessors = 132;
constexpr int64_t kThreadsOfDevice = kMultiprocessors * 128, kRowsForWarps = kMultiprocessors * 16;

bool mentions(const Sym& sym, const Sym& variable) {
  std::set<std::string, std::less<>> symbols;
  collect_symbols(sym, symbols);
  return symbols.count(variable.symbol_name()) > 0;
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

// .. where two elements share a byte.
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

// Calls add(expression) for each one; `line` is the kernel's, if it has one.
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
  if (offset->kind != ExpressionKind::index) return false;
  bool one = false;
  const compiler::Status status = compiler::catch_failure([&] { one = step_of(offset->index, loop.variable).is(1); });
  return status.ok() && one;
}

bool walks_along(ExpressionPtr element, const Loop& loop) {
  if (element->kind == ExpressionKind::call)
    return std::any_of(element->args.begin(), element->args.end(),
                       [&](ExpressionPtr arg) { return walks_along(arg, loop); });
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
  return write_loops(graph, kernel, choose_schedule(graph, kernel));
}

void merge_loops(LoweredGraph& graph, LoopKernel& kernel) {
  // The number of a column counts for positions, and merging keeps it.
  for (std::vector<Loop>* loops : {&kernel.rows, &kernel.columns}) {
    for (size_t i = loops->size(); i-- > 1;) merge_pair(graph, kernel, *loops, i - 1);
  }
}

Schedule choose_schedule(LoweredGraph& graph, const LoopKernel& kernel) {
  Schedule out;
  const int64_t rows = max_extent(kernel.rows);
  if (kernel.columns.empty()) {
    // A reduction of rows of one element is one for each element.
    if (!kernel.reductions.empty() || !kernel.column_stores.empty()) return out;
    // Fewer threads than that leave multiprocessors without work.
    const int64_t most = std::clamp<int64_t>(rows / kThreadsOfDevice, 1, 16);
    out.vector = vector_of(graph, kernel, kernel.rows, kernel.row_stores, static_cast<uint32_t>(most));
    return out;
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
  if (columns <= 16 || prefers_rows) return out;
  // Sums over many columns of enough rows read more at once, so a warp is enough for longer ones. What a block computes
  // first serves more rows that way, too, if there are more than multiprocessors.
  const int64_t sums = rows * std::max<int64_t>(static_cast<int64_t>(kernel.reductions.size()), 1);
  const bool warps = columns <= 1024 || sums >= kRowsForWarps || (!kernel.prologues.empty() && rows > kMultiprocessors);
  out.kind = warps ? ScheduleKind::warp_per_row : ScheduleKind::block_per_row;
  if (out.kind == ScheduleKind::block_per_row) out.threads = columns <= 8192 ? 256 : 512;
  const int64_t per_row = out.kind == ScheduleKind::warp_per_row ? 32 : out.threads;
  const int64_t most = std::clamp<int64_t>(columns / per_row, 1, 16);
  out.vector = vector_of(graph, kernel, kernel.columns, kernel.column_stores, static_cast<uint32_t>(most));
  return out;
}

}  // namespace wick::cuda
