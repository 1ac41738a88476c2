#include "backends/cuda/compile/fusion/fuse_kernels.h"

namespace wick::cuda {

void fuse_kernels(LoweredGraph& graph) {
  for (LoopKernel& kernel : graph.kernels) merge_loops(graph, kernel);
  KernelList kernels(graph);
  join_sums(kernels);
  absorb_readers(kernels);
  add_prologues(kernels);
  join_maps(kernels);
  put_beside(kernels);
  kernels.finish();
}

}  // namespace wick::cuda
