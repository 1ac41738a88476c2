#include <algorithm>

#include "backends/cuda/compile/expression/substitution.h"
#include "backends/cuda/compile/fusion/fuse_kernels.h"

namespace wick::cuda {
namespace {

// Larger kernels need too many registers.
constexpr size_t kMostStoresOfChain = 4, kMostCallsOfChain = 160, kMostLoadsOfChain = 24;

bool is_small(const LoopKernel& kernel) {
  size_t calls = 0, loads = 0;
  for_each(expressions_of(kernel), [&](ExpressionPtr e) {
    calls += e->kind == ExpressionKind::call && e->type != ScalarType::index;
    loads += e->kind == ExpressionKind::load;
  });
  return kernel.row_stores.size() <= kMostStoresOfChain && calls <= kMostCallsOfChain && loads <= kMostLoadsOfChain;
}

bool fit(const LoopKernel& first, const LoopKernel& second) {
  return is_map(first) && is_map(second) &&
         std::equal(first.rows.begin(), first.rows.end(), second.rows.begin(), second.rows.end(),
                    [](const Loop& a, const Loop& b) { return a.extent == b.extent; });
}

// Runs the second map after the first one in each thread. Nothing if it reads elements of the first one's results that
// another thread stores.
std::optional<LoopKernel> chained(LoweredGraph& graph, const LoopKernel& first, const LoopKernel& second) {
  ExpressionPool& pool = graph.pool;
  Substitution::Variables variables;
  for (size_t i = 0; i < first.rows.size(); ++i)
    variables[std::string(second.rows[i].variable.symbol_name())] = first.rows[i].variable;
  bool own = true;
  Substitution as_first(pool, variables, [&](ExpressionPtr e) -> ExpressionPtr {
    if (e->kind != ExpressionKind::load) return nullptr;
    for (const Store& store : first.row_stores) {
      if (store.buffer != e->buffer) continue;
      if (!store.guard && e->args.size() == 1 && e->args[0] == store.offset) return as_loaded(pool, store);
      own = false;
    }
    return nullptr;
  });
  LoopKernel out = first;
  for (const Store& store : second.row_stores) out.row_stores.push_back(as_first.of(store));
  out.nodes = second.nodes;
  out.inlined = second.inlined;
  add_nodes_of(first, out);
  out.why = second.why;
  return own && is_small(out) ? std::optional(std::move(out)) : std::nullopt;
}

// Fuses two maps: what `reader` reads of a buffer that `writer` stores becomes a value of the writer's thread.
bool chain(KernelList& kernels, size_t writer, size_t reader) {
  if (!fit(kernels[writer], kernels[reader]) || kernels.is_divided(writer, reader)) return false;
  const KernelUses first = kernels.uses(writer), second = kernels.uses(reader);
  if (share(first.reads, second.writes) || share(first.writes, second.writes)) return false;
  const bool forward = kernels.may_move(writer, reader);
  if (!forward && !kernels.may_move_back(reader, writer)) return false;
  std::optional<LoopKernel> both = chained(kernels.graph(), kernels[writer], kernels[reader]);
  if (!both) return false;
  std::vector<uint32_t> unread;
  for (const uint32_t buffer : first.writes) {
    if (kernels.only_writer(buffer) == writer && kernels.readers(buffer) == std::set<size_t>{reader})
      unread.push_back(buffer);
  }
  auto& stores = both->row_stores;
  stores.erase(std::remove_if(stores.begin(), stores.end(),
                              [&](const Store& store) {
                                return std::find(unread.begin(), unread.end(), store.buffer) != unread.end();
                              }),
               stores.end());
  kernels.replace(forward ? reader : writer, std::move(*both));
  kernels.remove(forward ? writer : reader);
  for (const uint32_t buffer : unread) kernels.drop(buffer);
  return true;
}

// Fuses a map with the kernels that write what it reads, the last of them first.
void chain_with_writers(KernelList& kernels, size_t reader) {
  bool changed = true;
  while (changed && kernels.has(reader)) {
    changed = false;
    std::set<size_t, std::greater<>> writers;
    for (const uint32_t buffer : kernels.uses(reader).reads) {
      const size_t writer = kernels.only_kernel_that_writes(buffer);
      if (writer < reader) writers.insert(writer);
    }
    changed =
        std::any_of(writers.begin(), writers.end(), [&](size_t writer) { return chain(kernels, writer, reader); });
  }
}

}  // namespace

void chain_maps(KernelList& kernels) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels.has(i) && is_map(kernels[i])) chain_with_writers(kernels, i);
  }
}

}  // namespace wick::cuda
