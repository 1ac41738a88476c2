#include "backends/cuda/compile/fusion/fuse_kernels.h"

namespace wick::cuda {

void fuse_kernels(LoweredGraph& graph) {
  {
    KernelList kernels(graph);
    place_parts(kernels);  // stores are still as lowering has made them
    chain_maps(kernels);   // loops of one shape are merged differently where one map broadcasts
    kernels.finish();
  }
  for (LoopKernel& kernel : graph.kernels) merge_loops(graph, kernel);
  KernelList kernels(graph);
  join_sums(kernels);
  chain_maps(kernels);
  absorb_readers(kernels);
  add_prologues(kernels);
  join_maps(kernels);
  put_beside(kernels);
  kernels.finish();
}

}  // namespace wick::cuda
