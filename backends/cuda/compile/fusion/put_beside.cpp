#include "backends/cuda/compile/fusion/fuse_kernels.h"
#include "backends/cuda/compile/kernel/matvec.h"

namespace wick::cuda {
namespace {

// Of one launch: each has its own text.
constexpr size_t kMostKernels = 4;

// Whether its blocks are of one size, and their number is known.
bool fits(LoweredGraph& graph, const LoopKernel& kernel) {
  if (!takes_rows(graph, kernel) || !find_matvec(graph, kernel)) return false;
  return extent_of(kernel.rows).is_const();
}

}  // namespace

void put_beside(KernelList& kernels) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!kernels.has(i) || !fits(kernels.graph(), kernels[i])) continue;
    for (size_t k = i + 1; k < kernels.size() && !kernels.is_divided(i, k); ++k) {
      if (!kernels.has(k)) continue;
      if (kernels[i].beside.size() + 1 >= kMostKernels || !fits(kernels.graph(), kernels[k]) ||
          conflict(kernels.uses(i), kernels.uses(k)))
        break;
      LoopKernel both = kernels[i];
      both.beside.push_back(std::make_shared<const LoopKernel>(kernels[k]));
      both.nodes = kernels[k].nodes;
      both.inlined = kernels[k].inlined;
      add_nodes_of(kernels[i], both);
      both.why = kernels[k].why;
      kernels.replace(i, std::move(both));
      kernels.remove(k);
    }
  }
}

}  // namespace wick::cuda
