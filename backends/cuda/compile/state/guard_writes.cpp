#include "backends/cuda/compile/state/guard_writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cuda/compile/fusion/kernel_list.h"

namespace wick::cuda {
namespace {

// The condition that the index which a call of Lowering::checked_index() checks is in bounds; null for other
// expressions.
ExpressionPtr condition_of(ExpressionPool& pool, ExpressionPtr e) {
  if (e->kind != ExpressionKind::call) return nullptr;
  for (const bool wraps : {false, true}) {
    const std::string arguments = wraps ? "({0}, {1}, true" : "({0}, {1}, false";
    if (e->text.rfind("checked_index" + arguments, 0) == 0)
      return pool.call(ScalarType::boolean, "is_index" + arguments + ")", e->args);
  }
  return nullptr;
}

using Buffers = std::set<uint32_t>;

bool is_state(const LoweredGraph& graph, uint32_t buffer) {
  return graph.buffers[buffer].kind == KernelBuffer::Kind::state;
}

template <typename F>
void for_each_kernel(const LoopKernel& kernel, const F& visit) {
  visit(kernel);
  for (const auto& other : kernel.beside) for_each_kernel(*other, visit);
}

bool reads(const LoopKernel& kernel, const Buffers& buffers) {
  LoopKernel alone = kernel;
  alone.beside.clear();
  return share(uses_of(alone).reads, buffers);
}

bool has_checked_place(ExpressionPool& pool, const Store& store) {
  bool checked = false;
  for_each({store.offset}, [&](ExpressionPtr e) { checked = checked || condition_of(pool, e); });
  return checked;
}

// Buffers other than states that may have elements at wrong places: an element with a bad index is stored at index 0.
Buffers misplaced_buffers(LoweredGraph& graph) {
  Buffers out;
  size_t known = 0;
  const auto add = [&](const LoopKernel& kernel) {
    const bool all = reads(kernel, out);
    const auto add_stores = [&](const std::vector<Store>& stores) {
      for (const Store& store : stores) {
        if (!is_state(graph, store.buffer) && (all || has_checked_place(graph.pool, store))) out.insert(store.buffer);
      }
    };
    add_stores(kernel.row_stores);
    add_stores(kernel.column_stores);
    for (const RowPart& part : kernel.row_parts) add_stores(part.stores);
    if (!all || !kernel.call) return;
    for (const BlockCall::Place& place : kernel.call->places) {
      if (place.writes) out.insert(place.buffer);
    }
  };
  do {  // repeated: a loop may read what a later kernel of the previous round has written
    known = out.size();
    for (const LoopKernel& kernel : graph.kernels) for_each_kernel(kernel, add);
  } while (out.size() != known);
  return out;
}

class Guard {
 public:
  explicit Guard(LoweredGraph& graph) : graph_(graph), misplaced_(misplaced_buffers(graph)) {}

  void run(LoopKernel& kernel) const {
    const bool after_checks = reads(kernel, misplaced_);
    guard_stores(kernel.row_stores, after_checks);
    guard_stores(kernel.column_stores, after_checks);
    for (RowPart& part : kernel.row_parts) guard_stores(part.stores, after_checks);
    for (auto& other : kernel.beside) {
      LoopKernel guarded = *other;
      run(guarded);
      other = std::make_shared<const LoopKernel>(std::move(guarded));
    }
  }

 private:
  // `after_checks`: the stored values depend on earlier kernels, whose checks must have held.
  void guard_stores(std::vector<Store>& stores, bool after_checks) const {
    ExpressionPool& pool = graph_.pool;
    for (Store& store : stores) {
      if (!is_state(graph_, store.buffer)) continue;
      const auto require = [&](ExpressionPtr condition) {
        store.guard = store.guard ? pool.both(store.guard, condition) : condition;
      };
      for_each({store.offset, store.value}, [&](ExpressionPtr e) {
        if (const ExpressionPtr condition = condition_of(pool, e)) require(condition);
      });
      if (after_checks)
        require(pool.call(ScalarType::boolean, fmt::format("all_checks_hold({{check}}, {})", graph_.checks.size() - 1),
                          {}));
    }
  }

  LoweredGraph& graph_;
  const Buffers misplaced_;
};

}  // namespace

void guard_writes(LoweredGraph& graph) {
  const auto& buffers = graph.buffers;
  const bool has_states = std::any_of(buffers.begin(), buffers.end(), [](const KernelBuffer& buffer) {
    return buffer.kind == KernelBuffer::Kind::state;
  });
  if (!has_states || graph.checks.empty()) return;
  const Guard guard(graph);
  for (LoopKernel& kernel : graph.kernels) guard.run(kernel);
}

}  // namespace wick::cuda
