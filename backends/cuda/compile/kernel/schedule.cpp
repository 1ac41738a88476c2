// How threads share a kernel's loops, and loops that are one.
#include <algorithm>
#include <set>

#include "backends/cuda/compile/kernel/contraction.h"
#include "backends/cuda/compile/kernel/loop_text.h"
#include "compiler/support/failure.h"

namespace wick::cuda {

using compiler::SymScope;

namespace {

// Calls visit(expression) for each expression that the kernel computes, once.
template <typename Visit>
void for_each_expression(const LoopKernel& kernel, Visit&& visit) {
  std::vector<ExpressionPtr> open;
  std::set<ExpressionPtr> seen;
  for (const Reduction& reduction : kernel.reductions) {
    open.push_back(reduction.element);
    if (reduction.guard) open.push_back(reduction.guard);
  }
  if (kernel.attention) {
    const Attention& a = *kernel.attention;
    open.insert(open.end(), {a.query, a.key_element, a.value, a.score});
  }
  for (const auto* stores : {&kernel.row_stores, &kernel.column_stores}) {
    for (const Store& store : *stores) {
      open.push_back(store.offset);
      open.push_back(store.value);
      if (store.guard) open.push_back(store.guard);
    }
  }
  while (!open.empty()) {
    const ExpressionPtr next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    visit(next);
    open.insert(open.end(), next->args.begin(), next->args.end());
  }
}

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

// Whether neighbours along a loop are neighbours in memory.
bool steps_by_one(const Sym& sym, const Loop& loop) {
  bool one = false;
  const compiler::Status status = compiler::catch_failure([&] { one = step_of(sym, loop.variable).is(1); });
  return status.ok() && one;
}

bool merge_pair(LoweredGraph& graph, LoopKernel& kernel, std::vector<Loop>& loops, size_t outer) {
  const Loop a = loops[outer], b = loops[outer + 1];
  const std::string name = "m" + std::string(a.variable.symbol_name());
  const Sym merged = Sym::symbol(name), extent = a.extent * b.extent;
  const compiler::SymRange range = SymScope::range(extent);
  graph.ranges[name] = {0, range.max == compiler::kUnbounded ? range.max : std::max<int64_t>(range.max - 1, 0)};
  bool possible = true;
  for_each_expression(kernel, [&](ExpressionPtr e) {
    if (e->kind == ExpressionKind::index) possible = possible && merged_in(e->index, a, b, merged).has_value();
  });
  if (!possible) return false;
  std::map<ExpressionPtr, ExpressionPtr> known;
  const auto change = [&](const Sym& sym) { return *merged_in(sym, a, b, merged); };
  const auto rewrite = [&](ExpressionPtr& e) {
    if (e) e = graph.pool.rewrite(e, change, known);
  };
  for (Reduction& reduction : kernel.reductions) {
    rewrite(reduction.element);
    rewrite(reduction.guard);
  }
  if (kernel.attention) {
    Attention& parts = *kernel.attention;
    for (ExpressionPtr* part : {&parts.query, &parts.key_element, &parts.value, &parts.score}) rewrite(*part);
  }
  for (auto* stores : {&kernel.row_stores, &kernel.column_stores}) {
    for (Store& store : *stores) {
      rewrite(store.offset);
      rewrite(store.value);
      rewrite(store.guard);
    }
  }
  loops[outer] = {merged, extent};
  loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(outer) + 1);
  return true;
}

}  // namespace

bool walks_along(ExpressionPtr element, const Loop& loop) {
  if (element->kind == ExpressionKind::call && element->args.size() == 1) return walks_along(element->args[0], loop);
  if (element->kind != ExpressionKind::load || element->args[0]->kind != ExpressionKind::index) return false;
  return steps_by_one(element->args[0]->index, loop);
}

Sym step_of(const Sym& sym, const Sym& variable) {
  return substitute(sym, {{std::string(variable.symbol_name()), variable + 1}}) - sym;
}

KernelSource write_kernel(LoweredGraph& graph, const LoopKernel& kernel) {
  if (kernel.attention) return write_attention(graph, kernel);
  if (const auto contraction = find_contraction(kernel)) return write_contraction(graph, kernel, *contraction);
  return write_loops(graph, kernel, choose_schedule(kernel));
}

void merge_loops(LoweredGraph& graph, LoopKernel& kernel) {
  // The number of a column counts for positions, and merging keeps it.
  for (std::vector<Loop>* loops : {&kernel.rows, &kernel.columns}) {
    for (size_t i = loops->size(); i-- > 1;) merge_pair(graph, kernel, *loops, i - 1);
  }
}

Schedule choose_schedule(const LoopKernel& kernel) {
  if (kernel.columns.empty()) return {ScheduleKind::map, 256};
  if (kernel.in_order) return {ScheduleKind::thread_per_row, 128};
  Sym columns = 1, rows = 1;
  for (const Loop& loop : kernel.columns) columns = columns * loop.extent;
  for (const Loop& loop : kernel.rows) rows = rows * loop.extent;
  const int64_t most = SymScope::range(columns).max, most_rows = SymScope::range(rows).max;
  bool along_columns = false, along_rows = false;
  for_each_expression(kernel, [&](ExpressionPtr e) {
    if (e->kind != ExpressionKind::load || e->args[0]->kind != ExpressionKind::index) return;
    along_columns = along_columns || steps_by_one(e->args[0]->index, kernel.columns.back());
    along_rows = along_rows || (!kernel.rows.empty() && steps_by_one(e->args[0]->index, kernel.rows.back()));
  });
  const bool prefers_rows = along_rows && !along_columns && most_rows >= 1024;
  if (most <= 16 || prefers_rows) return {ScheduleKind::thread_per_row, 128};
  if (most <= 1024) return {ScheduleKind::warp_per_row, 128};
  return {ScheduleKind::block_per_row, most <= 8192 ? 256u : 512u};
}

}  // namespace wick::cuda
