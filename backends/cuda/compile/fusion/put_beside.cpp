#include "backends/cuda/compile/fusion/fuse_kernels.h"
#include "backends/cuda/compile/kernel/matvec.h"

namespace wick::cuda {
namespace {

// The most kernels of a launch: the text of each is in it.
constexpr size_t kMostKernels = 4;
// The most bytes of lines. The shared memory of a launch holds the lines of all its kernels, though each block runs
// only one kernel. The rest of 48 KiB is for sums.
constexpr int64_t kMostLineBytes = 40 * 1024;

int64_t bytes_of_lines(LoweredGraph& graph, const LoopKernel& kernel) {
  int64_t bytes = shared_bytes(kernel, *find_matvec(graph, kernel));
  for (const auto& line : kernel.prologues) bytes += line_bytes(*line);
  for (const auto& other : kernel.beside) bytes += bytes_of_lines(graph, *other);
  return bytes;
}

// Whether its blocks have the size that matvec kernels have, and their number is known.
bool can_stand_beside(LoweredGraph& graph, const LoopKernel& kernel) {
  if (!takes_rows(graph, kernel) || !find_matvec(graph, kernel)) return false;
  return extent_of(kernel.rows).is_const();
}

// Matvec kernels by matrix instructions have blocks of another size.
bool have_equal_blocks(LoweredGraph& graph, const LoopKernel& a, const LoopKernel& b) {
  return (find_matvec(graph, a)->factors == DType::f32) == (find_matvec(graph, b)->factors == DType::f32);
}

}  // namespace

void put_beside(KernelList& kernels) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!kernels.has(i) || !can_stand_beside(kernels.graph(), kernels[i])) continue;
    for (size_t k = i + 1; k < kernels.size() && !kernels.is_divided(i, k); ++k) {
      if (!kernels.has(k)) continue;
      if (kernels[i].beside.size() + 1 >= kMostKernels || !can_stand_beside(kernels.graph(), kernels[k]) ||
          !have_equal_blocks(kernels.graph(), kernels[i], kernels[k]) || conflict(kernels.uses(i), kernels.uses(k)) ||
          bytes_of_lines(kernels.graph(), kernels[i]) + bytes_of_lines(kernels.graph(), kernels[k]) > kMostLineBytes)
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
