#include <algorithm>

#include "backends/cuda/compile/expression/substitution.h"
#include "backends/cuda/compile/fusion/fuse_kernels.h"

namespace wick::cuda {
namespace {

// Larger maps keep a device busy for longer than it takes to start them.
constexpr int64_t kMostJoinedRows = 1 << 20;
constexpr size_t kMostStoresOfMap = 4;
// Two maps are fused if they are at most this far apart.
constexpr size_t kMostKernelsBetween = 32;

bool fit_one_kernel(const LoopKernel& a, const LoopKernel& b) {
  return is_map(a) && is_map(b) && a.row_stores.size() + b.row_stores.size() <= kMostStoresOfMap &&
         max_extent(a.rows) <= kMostJoinedRows &&
         std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(),
                    [](const Loop& x, const Loop& y) { return x.extent == y.extent; });
}

LoopKernel joined_map(LoweredGraph& graph, const LoopKernel& first, const LoopKernel& second) {
  Substitution::Variables variables;
  for (size_t i = 0; i < first.rows.size(); ++i)
    variables[std::string(second.rows[i].variable.symbol_name())] = first.rows[i].variable;
  Substitution as_first(graph.pool, variables);
  LoopKernel out = first;
  for (const Store& store : second.row_stores) out.row_stores.push_back(as_first.of(store));
  out.nodes = second.nodes;
  out.inlined = second.inlined;
  add_nodes_of(first, out);
  if (second.why != first.why) out.why += "; " + second.why;
  return out;
}

bool join_with_earlier(KernelList& kernels, size_t index) {
  const size_t end = index - std::min(index, kMostKernelsBetween);
  for (size_t i = index; i-- > end;) {
    if (kernels.is_divided(i, index)) return false;
    if (!kernels.has(i) || !fit_one_kernel(kernels[i], kernels[index]) ||
        conflict(kernels.uses(i), kernels.uses(index)))
      continue;
    const bool back = kernels.may_move_back(index, i);
    if (!back && !kernels.may_move(i, index)) continue;
    kernels.replace(back ? i : index, joined_map(kernels.graph(), kernels[i], kernels[index]));
    kernels.remove(back ? index : i);
    return true;
  }
  return false;
}

}  // namespace

void join_maps(KernelList& kernels) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels.has(i) && is_map(kernels[i])) join_with_earlier(kernels, i);
  }
}

}  // namespace wick::cuda
