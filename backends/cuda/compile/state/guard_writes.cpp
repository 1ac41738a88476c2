#include "backends/cuda/compile/state/guard_writes.h"

namespace wick::cuda {
namespace {

// Whether the index that a call of Lowering::checked_index() checks is within its bounds; null for other expressions.
ExpressionPtr condition_of(ExpressionPool& pool, ExpressionPtr e) {
  if (e->kind != ExpressionKind::call) return nullptr;
  for (const bool wraps : {false, true}) {
    const std::string arguments = wraps ? "({0}, {1}, true" : "({0}, {1}, false";
    if (e->text.rfind("checked_index" + arguments, 0) == 0)
      return pool.call(ScalarType::boolean, "is_index" + arguments + ")", e->args);
  }
  return nullptr;
}

void guard_stores(LoweredGraph& graph, std::vector<Store>& stores) {
  for (Store& store : stores) {
    if (graph.buffers[store.buffer].kind != KernelBuffer::Kind::state) continue;
    ExpressionPtr guard = store.guard;
    for_each({store.offset, store.value}, [&](ExpressionPtr e) {
      const ExpressionPtr condition = condition_of(graph.pool, e);
      if (condition) guard = guard ? graph.pool.both(guard, condition) : condition;
    });
    store.guard = guard;
  }
}

void guard_kernel(LoweredGraph& graph, LoopKernel& kernel) {
  guard_stores(graph, kernel.row_stores);
  guard_stores(graph, kernel.column_stores);
  for (RowPart& part : kernel.row_parts) guard_stores(graph, part.stores);
  for (auto& other : kernel.beside) {
    LoopKernel guarded = *other;
    guard_kernel(graph, guarded);
    other = std::make_shared<const LoopKernel>(std::move(guarded));
  }
}

}  // namespace

void guard_writes(LoweredGraph& graph) {
  for (LoopKernel& kernel : graph.kernels) guard_kernel(graph, kernel);
}

}  // namespace wick::cuda
